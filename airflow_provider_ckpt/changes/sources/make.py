"""Making the plans of changes of sources, and carrying them out: what goes is saved, what moves is copied first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from shlex import quote
from typing import Annotated, ClassVar, Self

from airflow_provider_ckpt.change.executor import InPlace
from airflow_provider_ckpt.change.fence.find import required_fence
from airflow_provider_ckpt.change.judge_start import judge_start
from airflow_provider_ckpt.change.make_plan import (
    Planner,
    Seen,
    observe_without_flight,
    refuse_unfinished,
)
from airflow_provider_ckpt.change.option import WAIT_S, FenceFirst, Opt, SinkOf, TriggerOf, WaitForBatch
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Replace
from airflow_provider_ckpt.change.plan.fenced import with_fence
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import Record
from airflow_provider_ckpt.changes.sources.directories import Sum, in_the_way, to_sum
from airflow_provider_ckpt.changes.sources.entries import ids_of, require_complete, require_known
from airflow_provider_ckpt.changes.sources.find_operators import find_operators
from airflow_provider_ckpt.changes.sources.find_paths import require_movable
from airflow_provider_ckpt.changes.sources.plan import batches_read, entries_read, plan_change
from airflow_provider_ckpt.changes.sources.sink_effect import effect_of
from airflow_provider_ckpt.changes.sources.source_change import SourceChange, change_of_key, parse_change
from airflow_provider_ckpt.changes.sources.state import require_kept_state
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.restart.real_time import REAL_TIME, trigger_of
from airflow_provider_ckpt.restart.sources import SOURCE_EVOLUTION
from airflow_provider_ckpt.restart.steps import start
from airflow_provider_ckpt.untrusted.fields import require_flag


def make_source_change(
    stores: Stores,
    change: SourceChange,
    *,
    sink: Sink | None = None,
    trigger: str | None = None,
    fenced: bool = False,
) -> Plan:
    """Plan a change of sources, or find the plan of the same change that was killed.

    Args:
        stores: The checkpoint and the other places of the change.
        change: The source that each source of the next query continues.
        sink: The sink of the query; a file sink when ``stores.sink`` is given and nothing else is said.
        trigger: The trigger of the query as the query file says it.
        fenced: Require the fence that is there (``ckpt fence``) in place of the word that the query is stopped.

    Raises:
        PlanError: It is refused; the error says why.
        CheckpointFormatError: An entry that a restart reads is damaged.
        CheckpointMovedError: The query is running, and removes what was just listed.
    """
    require_flag("fenced", fenced)
    return SourcesRequest(decided=change, sink=sink, trigger=trigger, fenced=fenced).plan(stores)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesRequest(Planner):
    """What each source of the next query continues.

    Args:
        decided: That, where it is not said by the other fields.
    """

    kind: ClassVar[Kind] = "sources"
    continued: Annotated[
        tuple[str, ...],
        Opt(
            "--as NEW=OLD|new",
            "Source NEW of the next query continues source OLD of the checkpoint, or begins at its start (new). A "
            "source is its position, such as 0, or its name. Give every source of the next query.",
            "name",
        ),
    ] = ()
    dropped: Annotated[
        tuple[str, ...],
        Opt("--drop OLD", "No source of the next query continues source OLD. Can be given more than once.", "name"),
    ] = ()
    operators: Annotated[
        tuple[str, ...],
        Opt(
            "--operator NAME",
            "Stateful operator of the next query, such as stateStoreSave. Give all of them, in Spark's order. A query "
            "with several of them, or with a join, needs it.",
            "name",
        ),
    ] = ()
    sink: SinkOf = None
    trigger: TriggerOf = None
    fence: FenceFirst = False
    wait_for_batch: WaitForBatch = WAIT_S
    decided: SourceChange | None = None

    @property
    def change(self) -> SourceChange:
        """What was said of the sources. Raises ValueError."""
        return self.decided or parse_change(self.continued, self.dropped, self.operators or None)

    def require_sense(self) -> None:
        """Raise ValueError for sources that contradict each other."""
        _ = self.change

    @classmethod
    def of(cls, plan: Plan, stores: Stores) -> Self:
        """The same change."""
        try:
            change = change_of_key(plan.asked)
        except ValueError as error:
            raise PlanError(f"not a plan: {error}.", location=plan.location) from None
        return cls(decided=change, sink=plan.declared_sink, trigger=plan.trigger, fenced=plan.fence is not None)

    def is_met_by(self, plan: Plan) -> bool:
        """The plan keeps what was asked for."""
        return plan.asked == self.change.key

    def is_done(self, record: Record, stores: Stores) -> bool:
        """Until the query has run: sources do not change places once more."""
        plan, view = record.plan, self.observe(stores)
        entries = {action.name: action.data for action in plan.actions if isinstance(action, Replace)}
        newest = view.offset_seq(view.latest_planned or 0).encode().decode()
        is_last = plan.last_kept == view.latest_planned
        return is_last and entries.get(layout.offset_entry(view.latest_planned or 0), newest) == newest

    def observe(self, stores: Stores) -> CheckpointView:
        """The whole checkpoint with the entries that a restart reads. Raises PlanError when they cannot be changed."""
        view = observe_without_flight(stores.checkpoint)
        _refuse_unreadable(view)
        return view

    def decide(self, seen: Seen) -> Plan:
        """Entries and directories of sources get other names, and what is left over goes."""
        view, checkpoint, change = seen.view, seen.checkpoint, self.change
        entries = entries_read(view)
        ids = ids_of(entry for _, entry in entries)
        require_known(entries, view.location)
        require_complete(change, ids, view.location)
        operators = find_operators(checkpoint, view)
        require_kept_state(change, ids, operators, view.location)
        trigger = trigger_of(self.trigger, operators.names or ())
        require_movable(checkpoint, view, change)
        if (name := in_the_way(view.objects, view.folders, change)) is not None:
            raise PlanError(
                "this is in the way of what a source keeps.",
                location=view.location,
                name=name,
                hint="Nothing was done. Move it out of the checkpoint.",
            )
        sums: dict[str, Sum] = {name: checkpoint.sha256(name) for name in to_sum(view.objects, change)}
        effect = seen.sink.named(effect_of(view, change, seen.sink.marker, real_time=trigger == REAL_TIME))
        return replace(plan_change(view, change, sums, now_ms(), (effect,), operators), trigger=trigger)

    def judge(self, plan: Plan, seen: Seen) -> Plan:
        """Judged by what its query finds; what a query with async progress tracking alone does is a warning."""
        view, checkpoint, change = seen.view, seen.checkpoint, self.change
        names = tuple(Source(new) for new, _ in change.continued)
        deploy = DeploySpec(confs={SOURCE_EVOLUTION: "true"} if change.named else {}, sources=names)
        plan = judge_start(
            plan, view, checkpoint, lambda copy: (checkpoint, copy.source), deploy=deploy, marker=seen.sink.marker
        )
        gaps = [found for found in start(view, DeploySpec(async_progress=False)) if found.spark_error]
        told = tuple(
            f"Entries are missing ({found.name}), so Spark starts from this checkpoint, before the change and after "
            "it, only a query with async progress tracking."
            for found in gaps[:1]
            if not any(found.spark_error for found in start(view, DeploySpec()))
        )
        plan = replace(plan, warnings=(*plan.warnings, *told))
        return with_fence(plan, required_fence(seen.stores)) if self.fenced else plan


class Executor(InPlace):
    """Closes the checkpoint, gives entries and directories to other sources, and opens it again."""

    planner = SourcesRequest

    def finish(self, by: str, at_ms: int) -> None:
        """No empty directory is kept of a source that is no more."""
        super().finish(by, at_ms)
        kept = {new for new, _ in change_of_key(self.plan.asked).continued}
        emptied = {name.split("/")[1] for name in self.plan.deletes() if name.startswith(f"{layout.SOURCES}/")}
        for source_id in sorted(emptied - kept):
            self.stores.checkpoint.remove_empty(f"{layout.SOURCES}/{source_id}")


def _refuse_unreadable(view: CheckpointView) -> None:
    if not batches_read(view):
        raise PlanError(
            "no batch is planned, so there is no source to continue.",
            location=view.location,
            hint="Nothing was done. Start the query as it is to be: it begins with its first batch.",
        )
    refuse_unfinished(view, is_control=_is_control(view))
    for batch_id in batches_read(view):
        if (error := view.damaged.get(layout.offset_entry(batch_id))) is not None:
            raise PlanError(
                f"this entry, which a restart reads, cannot be read ({error.message.rstrip('.')}), so its sources are "
                "not known.",
                location=view.location,
                name=layout.offset_entry(batch_id),
                batch_id=batch_id,
                hint=f"Nothing was done. See what helps: ckpt check --deep {quote(view.location)}",
            )


def _is_control(view: CheckpointView) -> bool:
    """True if the batch in flight is one of an operation, not of the query."""
    entry = view.readable_offset_seq(view.in_flight)
    return entry is not None and entry.metadata is not None and entry.metadata.control is not None
