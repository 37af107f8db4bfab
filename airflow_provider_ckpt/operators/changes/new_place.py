"""Common base of the operators that write a new checkpoint."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import require_flags
from airflow_provider_ckpt.operators.base import (
    CheckpointOperator,
    digest_of,
    plan_of,
    push_plan,
    result_of,
    task_of,
    text_of,
    texts_of,
    words,
)
from airflow_provider_ckpt.operators.changes.asked import require_beside
from airflow_provider_ckpt.query.declared import BESIDE_PLAN, DECLARED
from airflow_provider_ckpt.query.sink import parse_sink

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.open_sinks import Sinks
    from airflow_provider_ckpt.change.plan.kinds import Kind
    from airflow_provider_ckpt.change.plan.plan import Plan
    from airflow_provider_ckpt.change.record.journal import Record
    from airflow_provider_ckpt.change.record.receipt import Receipt
    from airflow_provider_ckpt.documents.tasks import ChangeResultDocument
    from airflow_provider_ckpt.lineage.datasets import Named
    from airflow_provider_ckpt.storage.store import Store


class CheckpointNewPlaceOperator(CheckpointOperator):
    """Plans to write a new checkpoint and does it, or carries out a plan that was approved.

    A task that is tried again, or is cleared, after it has ended answers that it was done (``receipt.status`` is
    ``already_applied``), whatever the query has written since. When the location was cleared it writes again. One that
    was killed completes what it has begun.

    :param sinks: Sinks of the query, such as ``file:s3://lake/orders``, for the sink effects; one text is one sink.
    :param plan: The plan that another task made with ``plan_only`` and a person has approved (its XCom ``plan``).
        An argument beside it that says otherwise than the plan is refused.
    :param accept_sink: Sink effects that are accepted, by name: ``duplicated``, ``skipped``, ``unknown``, ``stops``,
        one or several.
    :param approved_by: Who has approved the plan, for `ckpt history`; empty when nobody was asked.
    :param approved_at: When that was; an approval that is older than the plan is refused, and so is none where a
        template of it gives None.
    :param plan_only: Only log the plan, and push it to the XCom ``plan``. A plan that is too large for Airflow's
        database is refused: leave plan_only out, or use ``ckpt`` with ``--plan-out``.
    """

    #: What its plans are for.
    kind: ClassVar[Kind]
    #: Who makes the change, once the task runs.
    by: str = ""
    template_fields: Sequence[str] = (
        *CheckpointOperator.template_fields,
        "plan",
        "accept_sink",
        "approved_by",
        "approved_at",
    )

    def __init__(
        self,
        *,
        sinks: str | Sequence[str] = (),
        plan: Any = None,
        accept_sink: str | Sequence[str] | None = None,
        approved_by: str | None = None,
        approved_at: str | datetime | None = None,
        plan_only: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.sinks = sinks
        self.plan = plan
        self.accept_sink = accept_sink
        self.approved_by = approved_by
        self.approved_at = approved_at
        self._wants_approval = approved_at is not None  # as in the operators of changes in place
        self.plan_only = plan_only

    def execute(self, context: Any) -> ChangeResultDocument:
        """Plan, log the plan, and write."""
        with self.running(context):
            require_flags(self, "plan_only")
            self.require_arguments()
            target = self.store()
            if self.plan_only:
                plan = self.with_declarations(self._shown(target, None)[0])
                push_plan(context, plan)
                return self.tell(context, result_of(plan, None))
            self.by = task_of(context)
            if (done := self._done(target)) is not None:
                return self._already_done(context, done)
            try:
                return self._write(context, target)
            except CheckpointError as error:
                if (done := self._done(target)) is None:
                    raise
                self.log.info("Another run of this task was at it as well, and has done it. This one: %s", error)
                return self._already_done(context, done)

    def _write(self, context: Any, target: Store) -> ChangeResultDocument:
        from airflow_provider_ckpt.change.new_place.find_written import find_own_begun
        from airflow_provider_ckpt.change.plan.acceptance import require_newer

        plan, sinks = self._shown(target, find_own_begun(target, self.kind, self.by, self.asked))
        self.remember(result_of(plan, None))
        require_newer(self.approved_at, plan, is_wanted=self._wants_approval)
        return self.tell(context, result_of(plan, self.written(plan, target, sinks)))

    def _shown(self, target: Store, begun: Record | None) -> tuple[Plan, Sinks]:
        """The plan as the log knows it, and its sinks; ``begun`` is what this task has begun to write."""
        from airflow_provider_ckpt.change.open_sinks import open_sinks
        from airflow_provider_ckpt.report.tables import plan_tables

        given = plan_of(self.plan, self.kind, target) if self.plan else None
        if given is not None:
            self.require_declarations(given)
            require_beside(self, self.request(), given, ("backup_root",))
        sinks = open_sinks(
            given.declared_sinks if given else tuple(map(parse_sink, texts_of("sinks", self.sinks))), self.store
        )
        plan = given or self.planned(target, sinks, begun.plan if begun is not None else None)
        self.report(*plan_tables(plan))
        return plan, sinks

    def _done(self, target: Store) -> Record | None:
        from airflow_provider_ckpt.change.new_place.find_written import find_own_done

        return find_own_done(target, self.kind, self.by, self.asked)

    def _already_done(self, context: Any, done: Record) -> ChangeResultDocument:
        from airflow_provider_ckpt.change.record.find_done import receipt_of

        self.log.info("The %s %s was carried out already. Nothing was done.", done.plan.called, done.plan.plan_id)
        return self.tell(context, result_of(done.plan, receipt_of(done)))

    @property
    def asked(self) -> str:
        """A digest of what the task asks for, once its templates are rendered: all but how it is to be done."""
        return digest_of(self, set(CheckpointNewPlaceOperator.template_fields) - {"plan"})

    @property
    def how(self) -> dict[str, Any]:
        """Arguments for every executor of a plan."""
        return {
            "by": self.by,
            "asked": self.asked,
            "accept_sink": words(self.accept_sink),
            "approved_by": text_of(self.approved_by),
        }

    def lineage_outputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The new checkpoint; none of a plan alone."""
        if not self.plan_only:
            yield from self.lineage_checkpoints(told, change="CREATE" if told.get("receipt") else "")

    def lineage_sinks(self) -> Iterator[Named]:
        """The sinks that were declared; none where the task itself says what is wrong with them."""
        from airflow_provider_ckpt.lineage.datasets import declared_sinks

        with suppress(CheckpointError):
            yield from declared_sinks(texts_of("sinks", self.sinks), self.hook.known_url)

    # --- what differs ----------------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def request(cls) -> type:
        """What it asks for: its arguments are called as the fields."""

    def not_declared(self) -> Collection[str]:
        """What a plan says that was made before, in the place of the query file."""
        return {*DECLARED} - {*BESIDE_PLAN, "backup_root"} if self.plan else ()

    @abstractmethod
    def planned(self, target: Store, sinks: Sinks, begun: Plan | None) -> Plan:
        """A plan made now, or the one that this task has begun to carry out."""

    @abstractmethod
    def written(self, plan: Plan, target: Store, sinks: Sinks) -> Receipt:
        """Carry the plan out and return the receipt."""

    def require_arguments(self) -> None:
        """Raise CheckpointError for arguments that make no sense, also where a plan is given."""
