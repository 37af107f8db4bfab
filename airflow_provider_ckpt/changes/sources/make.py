"""Making the plans of changes of sources: observe, refuse, read what is moved, and find what was begun before."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote

from airflow_provider_ckpt.change.actions import Replace
from airflow_provider_ckpt.change.fenced import with_fence
from airflow_provider_ckpt.change.fit_sink import require_fit
from airflow_provider_ckpt.change.judge_start import judge_start
from airflow_provider_ckpt.change.lock import lock_warnings
from airflow_provider_ckpt.change.open_sinks import sink_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.record.find_done import find_applied
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.record.resume import Said, find_interrupted
from airflow_provider_ckpt.changes.fence.make import required_fence
from airflow_provider_ckpt.changes.sources.directories import Sum, in_the_way, to_sum
from airflow_provider_ckpt.changes.sources.entries import ids_of, require_complete, require_known
from airflow_provider_ckpt.changes.sources.find_operators import find_operators
from airflow_provider_ckpt.changes.sources.find_paths import require_movable
from airflow_provider_ckpt.changes.sources.plan import batches_read, entries_read, plan_change
from airflow_provider_ckpt.changes.sources.request import SourceChange, change_of_key
from airflow_provider_ckpt.changes.sources.sink_effect import effect_of
from airflow_provider_ckpt.changes.sources.state import require_kept_state
from airflow_provider_ckpt.checkpoint.find_flows import refuse_replaced
from airflow_provider_ckpt.checkpoint.observe import observe, refuse_closed, refuse_links
from airflow_provider_ckpt.checkpoint.read_unmoved import read_unmoved
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
from airflow_provider_ckpt.sinks.effects import SinkEffect
from airflow_provider_ckpt.sinks.read_marker import read_marker
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
        stores: Where.
        change: What each source of the next query continues.
        sink: The sink of the query; a file sink when ``stores.sink`` is given and nothing else is said.
        trigger: The trigger of the query as a deploy file says it.
        fenced: Require the fence that is there (``ckpt fence``) in place of the word that the query is stopped.

    Raises:
        PlanError: It is refused; the error says why.
        CheckpointFormatError: An entry that a restart reads is damaged.
        CheckpointMovedError: The query is running, and removes what was just listed.
    """
    require_flag("fenced", fenced)
    said = Said(sink, trigger)
    if (begun := find_interrupted(stores, "sources", lambda plan: plan.asked == change.key, said)) is not None:
        return begun
    plan = read_unmoved(lambda: _fresh(stores, change, sink, trigger or ""), stores.checkpoint, stores.sink)
    return with_fence(plan, required_fence(stores)) if fenced and find_applied(plan, stores) is None else plan


def make_source_change_again(plan: Plan, stores: Stores) -> Plan:
    """The same change as it would be planned now in the place of one that was not begun yet. Raises PlanError."""
    try:
        change = change_of_key(plan.asked)
    except ValueError as error:
        raise PlanError(f"not a plan: {error}.", location=plan.location) from None
    again = _fresh(stores, change, sink_of(plan), plan.trigger)
    return again if plan.fence is None else with_fence(again, required_fence(stores))


def _fresh(stores: Stores, change: SourceChange, sink: Sink | None, trigger: str) -> Plan:
    view = observed(stores)
    entries = entries_read(view)
    if (done := _done_before(stores, view, change)) is not None:
        return done
    ids = ids_of(entry for _, entry in entries)
    require_known(entries, view.location)
    require_complete(change, ids, view.location)
    operators = find_operators(stores.checkpoint, view)
    require_kept_state(change, ids, operators, view.location)
    trigger = trigger_of(trigger or None, operators.names or ())
    require_movable(stores.checkpoint, view, change)
    if (name := in_the_way(view.objects, view.folders, change)) is not None:
        raise PlanError(
            "this is in the way of what a source keeps.",
            location=view.location,
            name=name,
            hint="Nothing was done. Move it out of the checkpoint.",
        )
    sums: dict[str, Sum] = {name: stores.checkpoint.sha256(name) for name in to_sum(view.objects, change)}
    effect = _judge_sink(stores, view, change, sink, real_time=trigger == REAL_TIME)
    plan = plan_change(view, change, sums, now_ms(), (effect,), operators)
    plan = _judged(stores, replace(plan, trigger=trigger), view, change)
    return replace(plan, warnings=(*plan.warnings, *lock_warnings(stores.checkpoint)))


def _done_before(stores: Stores, view: CheckpointView, change: SourceChange) -> Plan | None:
    """The same change, carried out: who runs the command again does not want sources to change places once more.

    None once the query has run since.
    """
    done = [record for record in history(stores.checkpoint, stores.undo) if record.state in ("applied", "undone")]
    if not done or done[-1].state != "applied" or done[-1].plan.asked != change.key:
        return None
    plan = done[-1].plan
    entries = {action.name: action.data for action in plan.actions if isinstance(action, Replace)}
    newest = view.offset_seq(view.latest_planned or 0).encode().decode()
    is_last = plan.last_kept == view.latest_planned
    return plan if is_last and entries.get(layout.offset_entry(view.latest_planned or 0), newest) == newest else None


def observed(stores: Stores) -> CheckpointView:
    """The whole checkpoint with the entries that a restart reads. Raises PlanError when they cannot be changed."""
    view = observe(stores.checkpoint, deep=True)
    if view.latest_committed is not None and view.latest_committed != view.latest_planned:
        view = observe(stores.checkpoint, deep=True, batch_id=view.latest_committed)
    refuse_replaced(stores.checkpoint)
    refuse_links(view)
    refuse_closed(view)
    if not batches_read(view):
        raise PlanError(
            "no batch is planned, so there is no source to continue.",
            location=view.location,
            hint="Nothing was done. Start the query as it is to be: it begins with its first batch.",
        )
    if view.unfinished_repartition is not None or _is_control(view):
        raise PlanError(
            f"batch {view.in_flight} is a repartition that was not finished.",
            location=view.location,
            batch_id=view.in_flight,
            hint="Nothing was done. Finish it (ckpt repartition), or take it back (ckpt undo).",
        )
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
    return view


def _is_control(view: CheckpointView) -> bool:
    """Whether the batch in flight is one of an operation, not of the query."""
    entry = view.readable_offset_seq(view.in_flight)
    return entry is not None and entry.metadata is not None and entry.metadata.control is not None


def _judged(stores: Stores, plan: Plan, view: CheckpointView, change: SourceChange) -> Plan:
    """The plan, judged by what its query finds; what a query with async progress tracking alone does is a warning."""
    names = tuple(Source(new) for new, _ in change.continued)
    deploy = DeploySpec(confs={SOURCE_EVOLUTION: "true"} if change.named else {}, sources=names)
    checkpoint = stores.checkpoint
    plan = judge_start(plan, view, checkpoint, lambda copy: (checkpoint, copy.source), deploy=deploy)
    gaps = [found for found in start(view, DeploySpec(async_progress=False)) if found.spark_error]
    told = tuple(
        f"Entries are missing ({found.name}), so Spark starts from this checkpoint, before the change and after it, "
        "only a query with async progress tracking."
        for found in gaps[:1]
        if not any(found.spark_error for found in start(view, DeploySpec()))
    )
    return replace(plan, warnings=(*plan.warnings, *told))


def _judge_sink(
    stores: Stores, view: CheckpointView, change: SourceChange, sink: Sink | None, *, real_time: bool
) -> SinkEffect:
    """What becomes of the sink."""
    declared = sink or (Sink("file", stores.sink.location) if stores.sink else Sink(""))
    store = stores.sink if declared.directory else None
    marker = read_marker(declared, store, view.query_id, view.latest_committed or 0)
    require_fit(stores.checkpoint, stores.undo, view, declared, store, marker)
    effect = effect_of(view, change, marker, real_time=real_time)
    return replace(effect, sink=declared.at(store).name)
