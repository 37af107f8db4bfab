"""Common base of the operators that change a checkpoint in place."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ckpt.change.option import WAIT_S
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.hooks.checkpoint import duration_ms_of, require_flags
from airflow_provider_ckpt.operators.base import (
    CheckpointOperator,
    digest_of,
    plain,
    plan_of,
    push_plan,
    result_of,
    task_of,
    text_of,
    word_of,
    words,
)
from airflow_provider_ckpt.operators.changes.asked import (
    asked_of,
    read_flag,
    rendered_fields,
    require_beside,
    require_request_flags,
)
from airflow_provider_ckpt.query.declared import BESIDE_PLAN, DECLARED

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.make_plan import Planner
    from airflow_provider_ckpt.change.places import Stores
    from airflow_provider_ckpt.change.plan.kinds import Kind
    from airflow_provider_ckpt.change.plan.plan import Plan
    from airflow_provider_ckpt.change.record.journal import Record
    from airflow_provider_ckpt.documents.tasks import ChangeResultDocument
    from airflow_provider_ckpt.lineage.datasets import Named


class CheckpointChangeOperator(CheckpointOperator):
    """Plans a change in place and carries it out, or carries out a plan that was approved.

    A task that is tried again, or is cleared, after it has made its change answers that it was done (``receipt.status``
    is ``already_applied``), whatever has happened since, and changes nothing; a change that was undone since is made
    again. Another run of the DAG is another one who asks.

    What it refuses is in the XCom ``error`` as well, as ``ckpt --json`` prints it.

    :param plan: The plan that another task made with ``plan_only`` and a person has approved (its XCom ``plan``).
        Exactly this plan is applied; it is refused when the checkpoint has changed since, and so is an argument beside
        it that says what to do otherwise than the plan.
    :param query_is_stopped: True states that no query writes to the checkpoint; or a callable that returns whether it
        is so. It gets Airflow's context where it has a parameter ``context``, or one without a default. By default
        the receipt of a stop says so, where the query file declares an engine.
    :param sink: The sink of the query: ``file:``, ``delta:``, ``iceberg:``, ``hudi:`` or ``history:`` with its URI,
        ``kafka``, ``foreachBatch``; without it the sink effect is unknown.
    :param accept_sink: Sink effects that are accepted, by name: ``duplicated``, ``skipped``, ``unknown``, ``stops``,
        one or several. A plan whose effect is not exact is refused without it.
    :param approved_by: Who has approved the plan, for `ckpt history`; empty when nobody was asked.
    :param approved_at: When that was. An approval that is older than the plan is refused: it was given for another
        plan, for example before the planning task was cleared. Where a template of it gives None, nobody has approved:
        the task that asks was marked as a success, for example. Then a plan with steps is refused.
    :param undo_root: Directory for the removed files; by default ``_ckpt_undo`` beside the checkpoint.
    :param quiet_period: How long to check for writes of a query before anything changes, such as ``5m``, a timedelta or
        seconds; by default it depends on the interval between commits.
    :param break_lock: Remove the lock of another change of the checkpoint, which you know has ended.
    :param plan_only: Only log the plan, and push it to the XCom ``plan``. A plan that is too large for Airflow's
        database is refused: leave plan_only out, or use ``ckpt`` with ``--plan-out``.
    :param expected_plan: Features of the plan as seen in the preview of the page of the checkpoint. A plan
        that is made now and does or requires anything else is refused, with what differs.
    """

    template_fields: Sequence[str] = (
        *CheckpointOperator.template_fields,
        "plan",
        "sink",
        "accept_sink",
        "approved_by",
        "approved_at",
        "undo_root",
        "expected_plan",
    )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "request" in vars(cls):
            cls.template_fields = rendered_fields(cls, CheckpointChangeOperator)

    def __init__(
        self,
        *,
        plan: Any = None,
        query_is_stopped: bool | Callable[..., bool] = False,
        sink: str | None = None,
        accept_sink: str | Sequence[str] | None = None,
        approved_by: str | None = None,
        approved_at: str | datetime | None = None,
        undo_root: str | None = None,
        quiet_period: float | str | timedelta | None = None,
        break_lock: bool = False,
        plan_only: bool = False,
        expected_plan: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.query_is_stopped = query_is_stopped
        self.sink = sink
        self.accept_sink = accept_sink
        self.approved_by = approved_by
        self.approved_at = approved_at
        #: A template gives the time of an approval, or None when there was none.
        self._wants_approval = approved_at is not None
        self.undo_root = undo_root
        self.quiet_period = quiet_period
        self.break_lock = break_lock
        self.plan_only = plan_only
        self.expected_plan = expected_plan
        #: Who asks, once the task runs, as records say it.
        self.by = ""

    @classmethod
    @abstractmethod
    def request(cls) -> type[Planner]:
        """What it asks for: its arguments are called as the fields."""

    def execute(self, context: Any) -> ChangeResultDocument:
        """Plan, log the plan, and carry it out."""
        from airflow_provider_ckpt.change.ask_word import ask_word

        with self.running(context):
            require_flags(self, "break_lock", "plan_only")
            if not callable(self.query_is_stopped):  # which is called once the plan is made
                ask_word(self.query_is_stopped, "")
            self.require_arguments()
            self.by = by = task_of(context)
            if self.plan_only:
                return self._plan(context)
            stores = self.stores()
            if (done := self.done(stores, by)) is not None:
                return self._already_done(context, done)
            try:
                return self._change(context, by)
            except CheckpointError as error:
                if (done := self.done(stores, by)) is None:
                    raise
                self.log.info("Another run of this task was at it as well, and has done it. This one: %s", error)
                return self._already_done(context, done)

    def _plan(self, context: Any) -> ChangeResultDocument:
        plan, _ = self._shown()
        push_plan(context, plan)
        return self.tell(context, result_of(plan, None))

    def _change(self, context: Any, by: str) -> ChangeResultDocument:
        from airflow_provider_ckpt.change.apply import apply
        from airflow_provider_ckpt.change.plan.acceptance import require_newer

        plan, stores = self._shown()
        self.remember(result_of(plan, None))
        require_newer(self.approved_at, plan, is_wanted=self._wants_approval)
        with own_errors():
            receipt = apply(
                plan,
                stores,
                by=by,
                asked=self.asked,
                query_is_stopped=self._word(plan, context),
                quiet_s=self._quiet_s(),
                break_lock=self.break_lock,
                tell=self.log.info,
                accept_sink=words(self.accept_sink),
                approved_by=text_of(self.approved_by),
            )
        if receipt.plan_id != plan.plan_id and (done := self.done(stores, by)) is not None:
            return self._already_done(context, done)
        return self.tell(context, result_of(plan, receipt))

    def _shown(self) -> tuple[Plan, Stores]:
        """The plan, as the log and whoever has previewed it know it, and where."""
        from airflow_provider_ckpt.change.plan.expectation import require_expected
        from airflow_provider_ckpt.report.tables import plan_tables

        plan, stores = self._approved() if self.plan else self.planned()
        self.report(*plan_tables(plan))
        if expected := plain("expected_plan", self.expected_plan):
            require_expected(plan, expected)
        return plan, stores

    @property
    def asked(self) -> str:
        """A digest of what the task asks for, once its templates are rendered: all but how it is to be done."""
        return digest_of(self, set(CheckpointChangeOperator.template_fields) - {"plan"})

    def _already_done(self, context: Any, done: Record) -> ChangeResultDocument:
        """The answer of a task that is tried again, or was cleared, after it has made its change."""
        from airflow_provider_ckpt.change.record.find_done import receipt_of

        told = "The %s %s was carried out already. Nothing was done."
        self.log.info(told, done.plan.called, done.plan.plan_id)
        return self.tell(context, result_of(done.plan, receipt_of(done)))

    # --- what differs ----------------------------------------------------------------------------------------------

    def done(self, stores: Stores, by: str) -> Record | None:
        """The change that this very task has carried out before."""
        from airflow_provider_ckpt.change.record.find_done import find_done

        return find_done(stores, self.kind, by, self.asked)

    def planned(self) -> tuple[Plan, Stores]:
        """A plan made now, or one that was begun and interrupted; and where."""
        from airflow_provider_ckpt.change.places import Stores
        from airflow_provider_ckpt.change.record.find_done import find_applied
        from airflow_provider_ckpt.fleet.find_readers import plan_with_readers

        asked = self.wanted()
        stores = Stores.of(self.checkpoint, self.store, undo=self.undo_root, **asked.places)

        def made(fenced: bool) -> Plan:
            return plan_with_readers(asked, stores, self.store, fenced=fenced)

        plan = self.planned_behind(made, stores, asked.trigger)
        if find_applied(plan, stores) is None:
            plan = self.with_declarations(plan)
        return plan, stores.for_plan(plan, self.store)

    def wanted(self) -> Any:
        """The request of this task. Raises CheckpointError for arguments that make no sense."""
        asked: Any = asked_of(self, self.request())
        try:
            asked.require_sense()
        except ValueError as error:
            raise CheckpointError(str(error)) from error
        return asked

    def planned_behind(self, make: Callable[[bool], Plan], stores: Stores, trigger: str | None) -> Plan:
        """The plan that ``make`` makes, where no fence can be asked for."""
        return make(False)

    def not_declared(self) -> Collection[str]:
        """What a plan says that was made before, in the place of the query file."""
        return {*DECLARED} - {*BESIDE_PLAN} if self.plan else ()

    @property
    def kind(self) -> Kind:
        """What its plans are for."""
        return self.request().kind

    def require_arguments(self) -> None:
        """Raise CheckpointError for arguments that make no sense, also where a plan is given."""
        require_request_flags(self, self.request())

    def stores(self) -> Stores:
        """Where, for a plan that is given."""
        from airflow_provider_ckpt.change.places import Stores

        return Stores.of(self.checkpoint, self.store, undo=self.undo_root)

    def lineage_inputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The declared sources and sinks of the query; for a plan alone the checkpoint as well."""
        if self.plan_only:
            yield from self.lineage_checkpoints({})  # the plan's batch is not that of the checkpoint
        from airflow_provider_ckpt.lineage.datasets import declared_sinks, declared_sources

        yield from declared_sources(self.lineage_sources(), self.hook.known_url)
        if not self.lineage_trims():
            yield from declared_sinks(self.sink, self.hook.known_url)

    def lineage_outputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The checkpoint, and the sink when its log is trimmed; nothing of a plan alone."""
        if not self.plan_only:
            change = "ALTER" if told.get("receipt") else ""
            yield from self.lineage_checkpoints(told if change else {}, change=change)
            if self.lineage_trims():
                from airflow_provider_ckpt.lineage.datasets import declared_sinks

                yield from declared_sinks(self.sink, self.hook.known_url, change=change)

    def lineage_trims(self) -> bool:
        """True if the change writes to the sink."""
        return False

    def asks_anew(self, by: str) -> bool:
        """True if another task made the change, so that this task wants a relative move once more.

        A plan is carried out by another task of the DAG run, so a task that only plans is one with its whole run.
        """
        if self.plan_only:
            return by.rpartition("/")[0] != self.by.rpartition("/")[0]
        return by != self.by

    # --- what is shared --------------------------------------------------------------------------------------------

    def _word(self, plan: Plan, context: Any) -> Any:
        """What says that the query is stopped: what was given, or the receipt of a stop by the engine."""
        if self.query_is_stopped is False and plan.fence is None:
            from airflow_provider_ckpt.hooks.engines import stopped_word

            return stopped_word(self) or False
        return word_of(self.query_is_stopped, context)

    def _quiet_s(self) -> float | None:
        if self.quiet_period is None:
            return None
        return duration_ms_of("quiet_period", self.quiet_period) / 1000

    def _approved(self) -> tuple[Plan, Stores]:
        """The plan that was given, which must be one of this checkpoint."""
        stores = self.stores()
        plan = plan_of(self.plan, self.kind, stores.checkpoint)
        self.require_declarations(plan)
        require_beside(self, self.request(), plan)
        return plan, stores.for_plan(plan, self.store)


class CheckpointTrimmingOperator(CheckpointChangeOperator):
    """Common base of the operators that may remove batches from a file sink's log.

    :param trim_sink_log: Remove the dropped batches from the file sink's log as well.
    """

    def __init__(self, *, trim_sink_log: bool | str = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.trim_sink_log = trim_sink_log

    def lineage_trims(self) -> bool:
        """True if the change trims the sink's log."""
        return not self.plan_only and read_flag("trim_sink_log", self.trim_sink_log)


class CheckpointFencingOperator(CheckpointChangeOperator):
    """Common base of the operators that may make their change beside a query that cannot be reached.

    :param fence: Fence the checkpoint first, as ``ckpt fence`` does, in place of ``query_is_stopped``. When the change
        is refused after that, the fence stays. With ``plan_only`` the fence must be there.
    :param wait_for_batch: How long a fence waits for the commit of a batch in flight: ``10m``, a timedelta, or seconds.
    """

    def __init__(self, *, fence: bool = False, wait_for_batch: float | str | timedelta = WAIT_S, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.fence = fence
        self.wait_for_batch = wait_for_batch

    def require_arguments(self) -> None:
        """Raise CheckpointError for arguments that do not go together."""
        super().require_arguments()
        require_flags(self, "fence")
        if self.fence and self.plan:
            raise CheckpointError("fence goes with a change that is planned now; a plan says itself what it requires")
        if self.fence and self.query_is_stopped is not False:
            raise CheckpointError("fence is in place of query_is_stopped; give one of them")

    def planned_behind(self, make: Callable[[bool], Plan], stores: Stores, trigger: str | None) -> Plan:
        """The plan that ``make`` makes behind a fence, or without one, as its argument says."""
        if not self.fence:
            return make(False)
        from airflow_provider_ckpt.changes.fence.put_first import plan_behind

        def unfenced() -> None:
            raise PlanError(
                "a plan is made behind a fence that is there, and this checkpoint is not fenced.",
                location=stores.checkpoint.location,
                hint="Nothing was done. Put the fence first, with CheckpointFenceOperator or ckpt fence.",
            )

        def not_done() -> None:
            if self.done(stores, self.by) is not None:
                raise PlanError("another run of this task has made the change.", location=stores.checkpoint.location)

        return plan_behind(
            make,
            stores,
            acts=not self.plan_only,
            unfenced=unfenced,
            by=self.by,
            trigger=trigger,
            wait_s=duration_ms_of("wait_for_batch", self.wait_for_batch) / 1000,
            break_lock=self.break_lock,
            require=not_done,
            tell=self.log.info,
        )[0]


@contextmanager
def own_errors() -> Iterator[None]:
    """Airflow's own errors, as the callable of a task has raised them: they say what becomes of the task."""
    try:
        yield
    except PlanError as error:
        if isinstance(error.__cause__, AirflowException):
            raise error.__cause__ from None
        raise
