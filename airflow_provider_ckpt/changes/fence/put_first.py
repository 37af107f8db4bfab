"""Fencing a checkpoint before another change of it is planned, where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from airflow_provider_ckpt.change.fence.find import find_fence, find_other_interrupted, refuse_flow
from airflow_provider_ckpt.change.fence.plan import fence_of, is_closing
from airflow_provider_ckpt.change.guard import Tell, silent
from airflow_provider_ckpt.change.option import WAIT_S
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.find_done import find_applied
from airflow_provider_ckpt.change.tell_of_fence import telling_of_fence
from airflow_provider_ckpt.changes.fence.put_fence import nothing, put_fence
from airflow_provider_ckpt.errors import CheckpointError


def plan_behind(
    make: Callable[[bool], Plan],
    stores: Stores,
    *,
    acts: bool,
    unfenced: Callable[[], None],
    by: str = "",
    trigger: str | None = None,
    wait_s: float = WAIT_S,
    break_lock: bool = False,
    require: Callable[[], None] = nothing,
    tell: Tell = silent,
) -> tuple[Plan, bool]:
    """Plan a change behind a fence, which is put first where the change is carried out.

    Nothing is fenced for a change that was carried out already, or that has nothing to do. A change that was
    interrupted is completed as it was begun.

    Args:
        make: Makes the plan, behind the fence that is there or without one.
        stores: The checkpoint and the other places of the change.
        acts: True if the change is carried out; else nothing is written, and only a fence that is there is used.
        unfenced: Called where nothing is put and no fence is there; what it raises ends the planning.
        by: Name of the person or the task that makes the change, for ``ckpt history``.
        trigger: The trigger of the query.
        wait_s: Seconds that the fence waits for a batch in flight.
        break_lock: Remove the lock of another run, which the user knows has ended.
        require: Called before the fence is put, as by ``put_fence``.
        tell: Told what is being waited for, and where the fence is.

    Returns:
        The plan, and whether it is behind a fence.

    Raises what :func:`~airflow_provider_ckpt.changes.fence.put_fence.put_fence` and ``make`` raise.
    """
    if acts or find_fence(stores) is None:
        with suppress(CheckpointError):  # a query that runs, for example: behind the fence it does not
            plan = make(False)
            if not plan.actions or find_applied(plan, stores) is not None:
                return plan, False
    refuse_flow(stores.checkpoint.location)
    if find_other_interrupted(stores) is not None:
        return make(False), False
    fenced, name = True, None
    if acts:
        fence, receipt = put_fence(
            stores, by=by, trigger=trigger, wait_s=wait_s, break_lock=break_lock, require=require, tell=tell
        )
        name = fence_of(fence).name
        tell(
            f"The checkpoint is fenced behind batch {receipt.batch_id}, by {name}. If this ends before the change is "
            f"made, the fence stays: repeat the command or the task, or take it back: {stores.undo_command}"
        )
    else:
        there = find_fence(stores)
        fenced = there is not None and not is_closing(there)
        if not fenced:
            unfenced()
    with telling_of_fence(stores, name):
        return make(fenced), fenced
