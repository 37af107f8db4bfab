"""Making the plans of fences: observe, refuse, decide, and find the fence that is there already."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from shlex import quote

from airflow_provider_ckpt.change.added_errors import is_without_start
from airflow_provider_ckpt.change.judge_start import judge_present, judge_start
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import Fenced
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.changes.fence.plan import (
    fence_of,
    is_closing,
    plan_closing,
    plan_closing_of,
    plan_fence,
    plan_there,
    without_start,
)
from airflow_provider_ckpt.changes.fence.refusals import (
    refuse_flow,
    require_closable,
    require_exclusive,
    require_fenceable,
    require_planned_first,
)
from airflow_provider_ckpt.checkpoint.find_flows import refuse_replaced
from airflow_provider_ckpt.checkpoint.find_restart_set import operator_names
from airflow_provider_ckpt.checkpoint.flows import flow_of
from airflow_provider_ckpt.checkpoint.observe import observe, refuse_closed, refuse_links
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import commit_log, layout, offset_log
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import CheckpointNotFoundError, PlanError
from airflow_provider_ckpt.restart.real_time import trigger_of
from airflow_provider_ckpt.storage.store import Store

#: A query that is faster than so many readings is not to be fenced.
_MOST_READINGS = 10


def make_fence(stores: Stores, *, trigger: str | None = None, state: bool = True) -> Plan:
    """Plan a fence behind the newest batch, or find the one that is there.

    Args:
        stores: Where.
        trigger: The trigger of the query; ``realTime`` and ``continuous`` cannot be fenced.
        state: Judge the files of the state as well, for whether Spark starts; a query that is faster than that is not
            fenced.

    Raises:
        PlanError: The checkpoint cannot be fenced; the error says why.
        CheckpointClosedError: Another change has closed it.
        CheckpointMovedError: The query is running, and removes what was just listed.
    """
    checkpoint = stores.checkpoint
    require_exclusive(checkpoint.location, creates_exclusively=checkpoint.creates_exclusively)
    require_planned_first(checkpoint.location, trigger or "")
    refuse_replaced(checkpoint)
    if (there := find_fence(stores)) is not None:
        return there
    _require_no_other(stores)
    view = _observed(checkpoint)
    if (flow := flow_of(checkpoint.location)) is not None:
        return plan_closing_of(flow, view, require_closable(view), now_ms())
    whole = observe(checkpoint, deep=True) if view.stateful and view.latest_committed is not None else view
    said = trigger_of(trigger, _operators(checkpoint, whole))
    newest, entry = require_fenceable(view, said)
    seen = whole if state and _is_same_moment(whole, view) else view
    if view.in_flight is not None:
        return judge_present(replace(plan_closing(view, newest, now_ms()), trigger=said), seen, checkpoint)
    plan = replace(plan_fence(view, newest, entry, view.commit(newest), now_ms()), trigger=said)
    plan = judge_start(plan, seen, checkpoint)
    return without_start(plan) if is_without_start(plan) else plan


def _is_same_moment(one: CheckpointView, other: CheckpointView) -> bool:
    """True if a query that runs has neither planned nor committed a batch in between."""
    return (one.latest_planned, one.latest_committed) == (other.latest_planned, other.latest_committed)


def _observed(checkpoint: Store) -> CheckpointView:
    """The checkpoint beside a query that runs: its two logs are listed one after the other, and it may be in between.

    Two equal readings, one after the other, are of one moment.
    """
    seen = None
    for _ in range(_MOST_READINGS):
        view = observe(checkpoint)
        refuse_links(view)
        refuse_closed(view)
        ends = view.latest_planned, view.latest_committed
        if ends == seen or not _is_torn(*ends):
            break
        seen = ends
    return view


def _is_torn(planned: int | None, committed: int | None) -> bool:
    """True if a query that runs without faults leaves no such logs."""
    return planned is not None and committed is not None and planned not in (committed, committed + 1)


def make_fence_behind(stores: Stores, closed: Plan) -> Plan:
    """The fence in the place of what has closed the checkpoint, now that its batch is committed."""
    checkpoint, batch_id = stores.checkpoint, closed.batch_id
    names = layout.offset_entry(batch_id), layout.commit_entry(batch_id)
    entry = offset_log.decode(checkpoint.read(names[0]), names[0])
    commit = commit_log.decode(checkpoint.read(names[1]), names[1])
    return replace(plan_fence(observe(checkpoint), batch_id, entry, commit, now_ms()), trigger=closed.trigger)


def required_fence(stores: Stores) -> Fenced:
    """The fence that is there, as a plan requires it. Raises PlanError when the checkpoint is not fenced."""
    refuse_flow(stores.checkpoint.location)
    there, location = find_fence(stores), stores.checkpoint.location
    if there is None or is_closing(there):
        raise PlanError(
            "this checkpoint is not fenced.",
            location=location,
            hint=f"Nothing was done. Put the fence first: ckpt fence {quote(location)} --execute",
        )
    own = fence_of(there)
    return Fenced(f"{own.name} {own.sha256}")


def find_fence(stores: Stores) -> Plan | None:
    """The fence that is there as the newest entry of the offset log, and that no query has passed; None without one."""
    logs = {name for log in (layout.OFFSETS, layout.COMMITS) for name in stores.checkpoint.ls(log)[0]}
    for change in reversed(journal.history(stores.checkpoint, stores.undo)):
        if change.state not in ("applied", "interrupted"):
            continue
        if change.plan.kind != "fence":
            if change.state == "interrupted":  # what closes the checkpoint now is of that change
                return None
            continue
        if _is_newest(change.plan, logs) and holds(stores.checkpoint, change.plan):
            return change.plan
    return _marked(observe(stores.checkpoint))


def _marked(view: CheckpointView) -> Plan | None:
    """The fence that says so itself where no record has it: it got other offsets since, or the records are lost."""
    newest, committed = view.in_flight, view.latest_committed
    if newest is None or committed is None or newest != committed + 1:
        return None
    entry, before = (view.entries.get(layout.offset_entry(batch)) for batch in (newest, committed))
    if not isinstance(entry, OffsetSeq) or not isinstance(before, OffsetSeq):
        return None
    is_fence = entry.metadata is not None and entry.metadata.fence and dict(entry.offsets) == dict(before.offsets)
    return plan_there(view, committed, entry.encode().decode(), now_ms()) if is_fence else None


def _is_newest(plan: Plan, logs: Collection[str]) -> bool:
    """True if the entry of a fence is the newest one, after the batch that it was planned for."""
    batch_id = plan.batch_id + 1
    passed = layout.commit_entry(batch_id) in logs or layout.offset_entry(batch_id + 1) in logs
    behind = is_closing(plan) or layout.commit_entry(plan.batch_id) in logs
    return behind and not passed and layout.offset_entry(batch_id) in logs


def holds(checkpoint: Store, plan: Plan) -> bool:
    """True if the entry of a fence is there, with the bytes of its plan."""
    own = fence_of(plan)
    try:
        return checkpoint.read_up_to(own.name, own.size + 1) == own.data.encode()
    except CheckpointNotFoundError:
        return False


def _require_no_other(stores: Stores) -> None:
    """Raise PlanError when another change was interrupted: a batch behind it would keep it from being completed."""
    if (plan := _interrupted(stores)) is not None:
        kind, location = plan.kind, stores.checkpoint.location
        raise PlanError(
            f"a {kind} of this checkpoint was interrupted, and could not be completed behind a fence.",
            location=location,
            hint=f"Nothing was done. Complete it by its own command, or take it back ({stores.undo_command}).",
        )


def is_interrupted(stores: Stores) -> bool:
    """True if another change was interrupted, and must be completed or taken back first."""
    return _interrupted(stores) is not None


def _interrupted(stores: Stores) -> Plan | None:
    changes = journal.history(stores.checkpoint, stores.undo)
    acted = [change for change in changes if change.state not in ("planned", "refused")]
    is_other = acted and acted[-1].state == "interrupted" and acted[-1].plan.kind != "fence"
    return acted[-1].plan if is_other else None


def _operators(checkpoint: Store, whole: CheckpointView) -> tuple[str, ...]:
    """Spark's names of the stateful operators, which tell real-time mode."""
    return operator_names(checkpoint, whole, whole.latest_committed or 0) if whole.complete else ()
