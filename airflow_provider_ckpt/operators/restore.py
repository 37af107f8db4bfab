"""The operator that restores a backup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.backup.make_restore import fork_id, make_restore
from airflow_provider_ckpt.backup.relocation import PathRule
from airflow_provider_ckpt.backup.restore import restore
from airflow_provider_ckpt.change.acceptance import require_newer
from airflow_provider_ckpt.change.find_done import find_done, receipt_of
from airflow_provider_ckpt.change.find_written import find_own_begun, is_in_place
from airflow_provider_ckpt.change.journal import Record
from airflow_provider_ckpt.change.open_sinks import open_sinks, sinks_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors, require_flags
from airflow_provider_ckpt.lineage.datasets import Named, backup, declared_sinks
from airflow_provider_ckpt.operators.base import (
    CheckpointOperator,
    digest_of,
    plan_of,
    push_plan,
    result_of,
    task_of,
    text_of,
    texts_by_text,
    texts_of,
    words,
)
from airflow_provider_ckpt.report.tables import plan_tables
from airflow_provider_ckpt.sinks.declared import DeclaredSink, parse_sink
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import ChangeResultDocument

#: What of the arguments is no part of what is asked for.
_HOW = frozenset({"checkpoint", "checkpoint_conn_id", "accept_sink", "approved_by", "approved_at"})


class CheckpointRestoreOperator(CheckpointOperator):
    """Writes a backup to ``checkpoint``, which must be new or empty; a second run completes it.

    A task that is tried again, or is cleared, after it has ended answers that it was done (``receipt.status`` is
    ``already_applied``), whatever the restored query has written since, and also when ``latest`` is another backup by
    then. When the location was cleared it restores again. One that was killed completes the backup that it has begun.

    :param backup_root: Location of the backup root.
    :param backup_id: Id of the backup, or ``latest``.
    :param query_id: Use the latest backup of this query, if the root has backups of several.
    :param new_query_id: Give the restored query a new query id (a fork); to sinks it is then another query.
    :param rewrite_paths: Prefixes of input file paths to replace in the logs of file sources, old to new.
    :param sinks: Sinks of the query, such as ``file:s3://lake/orders``, for the sink effects; one text is one sink.
    :param trigger: The trigger of the query, as in a deploy file; with ``realTime`` the sink effect is exact only for a
        sink that keeps no rows.
    :param plan: The plan that another task made with ``plan_only`` and a person has approved (its XCom ``plan``).
        Exactly this plan is applied.
    :param accept_sink: Sink effects that are accepted, by name: ``duplicated``, ``skipped``, ``unknown``, ``stops``,
        one or several. Without ``sinks`` the effect is unknown. A plan whose effect is not exact is refused without it.
    :param approved_by: Who has approved the plan, for `ckpt history`; empty when nobody was asked.
    :param approved_at: When that was; an approval that is older than the plan is refused, and so is none where a
        template of it gives None.
    :param plan_only: Only log the plan, and push it to the XCom ``plan``. A plan that is too large for Airflow's
        database is refused: leave plan_only out, or use ``ckpt`` with ``--plan-out``.
    """

    does = "restore"
    has_done = "A backup was restored to"
    template_fields: Sequence[str] = (
        *CheckpointOperator.template_fields,
        "backup_root",
        "backup_id",
        "query_id",
        "rewrite_paths",
        "sinks",
        "trigger",
        "plan",
        "accept_sink",
        "approved_by",
        "approved_at",
    )

    def __init__(
        self,
        *,
        backup_root: str,
        backup_id: str = "latest",
        query_id: str | None = None,
        new_query_id: bool = False,
        rewrite_paths: Mapping[str, str] | None = None,
        sinks: str | Sequence[str] = (),
        trigger: str | None = None,
        plan: Any = None,
        accept_sink: str | Sequence[str] | None = None,
        approved_by: str | None = None,
        approved_at: str | datetime | None = None,
        plan_only: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.backup_root = backup_root
        self.backup_id = backup_id
        self.query_id = query_id
        self.new_query_id = new_query_id
        self.rewrite_paths = rewrite_paths
        self.sinks = sinks
        self.trigger = trigger
        self.plan = plan
        self.accept_sink = accept_sink
        self.approved_by = approved_by
        self.approved_at = approved_at
        self._wants_approval = approved_at is not None  # as in the operators of changes in place
        self.plan_only = plan_only

    def execute(self, context: Any) -> ChangeResultDocument:
        """Plan, log the plan, and restore."""
        with airflow_errors(context):
            require_flags(self, "new_query_id", "plan_only")
            root, target = self.store(self.backup_root), self.store()
            if self.plan_only:
                plan, _ = self._shown(root, target)
                push_plan(context, plan)
                return self.tell(context, result_of(plan, None))
            by, asked = task_of(context), f"{digest_of(self, _HOW)}{' fork' if self.new_query_id else ''}"
            if (done := _done(target, by, asked)) is not None:
                return self._already_done(context, done)
            try:
                return self._restore(context, root, target, by, asked)
            except CheckpointError as error:
                if (done := _done(target, by, asked)) is None:
                    raise
                self.log.info("Another run of this task was at it as well, and has done it. This one: %s", error)
                return self._already_done(context, done)

    def _restore(self, context: Any, root: Store, target: Store, by: str, asked: str) -> ChangeResultDocument:
        begun = find_own_begun(target, by, asked)
        plan, sinks = self._shown(root, target, begun.plan.backup_id if begun is not None else None)
        self.remember(result_of(plan, None))
        require_newer(self.approved_at, plan, is_wanted=self._wants_approval)
        receipt = restore(
            plan,
            root,
            target,
            by=by,
            asked=asked,
            accept_sink=words(self.accept_sink),
            approved_by=text_of(self.approved_by),
            sinks=sinks,
        )
        return self.tell(context, result_of(plan, receipt))

    def _already_done(self, context: Any, done: Record) -> ChangeResultDocument:
        self.log.info("The restore %s was carried out already. Nothing was done.", done.plan.plan_id)
        return self.tell(context, result_of(done.plan, receipt_of(done)))

    def lineage_inputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The backups, and the sinks that were declared. Which backup it is, `latest` does not say."""
        if (root := self.hook.known_url(self.backup_root)) is not None:
            yield backup(root, backup_id="" if self.backup_id == "latest" else str(self.backup_id))
        yield from declared_sinks(self.sinks, self.hook.known_url)

    def lineage_outputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The new checkpoint; none of a plan alone."""
        if not self.plan_only:
            yield from self.lineage_checkpoints(told, change="CREATE" if told.get("receipt") else "")

    def _shown(
        self, root: Store, target: Store, begun: str | None = None
    ) -> tuple[Plan, Sequence[tuple[DeclaredSink, Store | None]]]:
        """The plan as the log knows it, and its sinks; of a backup that this task has begun to restore, if one is."""
        given = plan_of(self.plan, "restore", target) if self.plan else None
        declared = sinks_of(given) if given else tuple(map(parse_sink, texts_of("sinks", self.sinks)))
        sinks = open_sinks(declared, self.store)
        plan = given or self._planned(root, target, sinks, begun)
        self.report(*plan_tables(plan))
        return plan, sinks

    def _planned(
        self, root: Store, target: Store, sinks: Sequence[tuple[DeclaredSink, Store | None]], begun: str | None
    ) -> Plan:
        backup = find_backup(root, begun or self.backup_id, self.query_id or None)
        new_id = fork_id(backup, target) if self.new_query_id else None
        rules = [PathRule(old, new) for old, new in texts_by_text("rewrite_paths", self.rewrite_paths).items()]
        return make_restore(root, backup, target, new_id, path_rules=rules, sinks=sinks, trigger=self.trigger)


def _done(target: Store, by: str, asked: str) -> Record | None:
    """The restore that the same task has carried out, while its checkpoint is there."""
    try:
        done = find_done(Stores(target), "restore", by, asked)
    except PlanError:  # no records can be beside a whole bucket
        return None
    return done if done is not None and is_in_place(done.plan, target) else None
