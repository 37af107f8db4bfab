"""Making the plans of fences: observe, refuse, and decide, where no fence is there already."""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_provider_ckpt.change.added_errors import is_without_start
from airflow_provider_ckpt.change.fence.find import find_fence, find_other_interrupted
from airflow_provider_ckpt.change.fence.plan import (
    is_closing,
    plan_closing,
    plan_closing_of,
    plan_fence,
    plan_hold,
    without_start,
)
from airflow_provider_ckpt.change.judge_start import judge_present, judge_start
from airflow_provider_ckpt.change.option import WAIT_S, TriggerOf, WaitForBatch
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.fence.refusals import (
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
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.restart.real_time import trigger_of
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceRequest:
    """How a query that cannot be reached is stopped."""

    wait_for_batch: WaitForBatch = WAIT_S
    trigger: TriggerOf = None


#: A query that is faster than so many readings is not to be fenced.
_MOST_READINGS = 10


def make_fence(stores: Stores, *, trigger: str | None = None, state: bool = True) -> Plan:
    """Plan a fence behind the newest batch, or find the one that is there.

    Args:
        stores: The checkpoint and the other places of the change.
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


def make_hold(stores: Stores) -> Plan:
    """Plan to close a checkpoint until that is taken back, or find that it is closed so.

    Raises:
        PlanError: It cannot be; the error says why.
    """
    checkpoint = stores.checkpoint
    require_exclusive(checkpoint.location, creates_exclusively=checkpoint.creates_exclusively)
    there = find_fence(stores)
    if there is not None and is_closing(there):
        return there
    _require_no_other(stores)
    view = _observed(checkpoint)
    return plan_hold(view, require_closable(view), now_ms())


def make_fence_behind(stores: Stores, closed: Plan) -> Plan:
    """The fence in the place of what has closed the checkpoint, now that its batch is committed."""
    checkpoint, batch_id = stores.checkpoint, closed.batch_id
    names = layout.offset_entry(batch_id), layout.commit_entry(batch_id)
    entry = offset_log.decode(checkpoint.read(names[0]), names[0])
    commit = commit_log.decode(checkpoint.read(names[1]), names[1])
    return replace(plan_fence(observe(checkpoint), batch_id, entry, commit, now_ms()), trigger=closed.trigger)


def _require_no_other(stores: Stores) -> None:
    """Raise PlanError when another change was interrupted: a batch behind it would keep it from being completed."""
    if (plan := find_other_interrupted(stores)) is not None:
        location = stores.checkpoint.location
        raise PlanError(
            f"{plan.with_article} of this checkpoint was interrupted, and could not be completed behind a fence.",
            location=location,
            hint=f"Nothing was done. Complete it by its own command, or take it back ({stores.undo_command}).",
        )


def _operators(checkpoint: Store, whole: CheckpointView) -> tuple[str, ...]:
    """Spark's names of the stateful operators, which tell real-time mode."""
    return operator_names(checkpoint, whole, whole.latest_committed or 0) if whole.complete else ()
