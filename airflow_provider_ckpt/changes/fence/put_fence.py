"""Carrying out a fence, beside a query that runs: nothing is waited for but the batch in flight.

This is why it has a loop of its own: ``change/apply.py`` refuses a checkpoint that changes under it, saves what goes
and asks for a word that the query is stopped, and here the query writes on, nothing of it goes, and no word is there.
Each attempt has a record of its own, which is written before the entry and says what became of it. A writer that was
faster is no error: the fence is planned anew behind its batch. Killed anywhere, the same command goes on; Spark starts
right from what is there, or refuses to start from a checkpoint that is closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from airflow_provider_ckpt.change.fence.find import find_fence, holds
from airflow_provider_ckpt.change.fence.plan import committed_before, fence_of, is_closing
from airflow_provider_ckpt.change.guard import Tell, silent
from airflow_provider_ckpt.change.lock import Held, locked
from airflow_provider_ckpt.change.option import WAIT_S
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.acceptance import require_names
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.record.receipt import Receipt
from airflow_provider_ckpt.change.require_access import require_access
from airflow_provider_ckpt.change.require_alone import require_alone
from airflow_provider_ckpt.changes.fence.make import make_fence, make_fence_behind, make_hold
from airflow_provider_ckpt.changes.fence.refusals import require_planned_first
from airflow_provider_ckpt.checkpoint.flows import flow_of
from airflow_provider_ckpt.checkpoint.own_files import PLAN
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import (
    CheckpointBusyError,
    CheckpointError,
    CheckpointNotFoundError,
    ObjectExistsError,
    PlanError,
)
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.times import duration_text, time_text

#: How often a fence is planned anew when the query has planned its next batch first.
TRIES = 20
#: How often it is looked for.
POLL_S = 0.25
#: After so long the entry is read again: Spark checks whether a name is free and then renames, on a disk as on S3.
SETTLE_ON_DISK_S, SETTLE_S = 0.5, 2.0
#: What is being done, for the lock.
_LOCK = "fence"


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of the command; see :func:`put_fence`."""

    stores: Stores
    by: str
    asked: str
    trigger: str | None
    wait_s: float
    settle_s: float
    tell: Tell
    lock: Held


def nothing() -> None:
    """Require nothing, which is the default."""


def put_fence(
    stores: Stores,
    *,
    by: str = "",
    asked: str = "",
    trigger: str | None = None,
    wait_s: float = WAIT_S,
    settle_s: float | None = None,
    break_lock: bool = False,
    require: Callable[[], None] = nothing,
    tell: Tell = silent,
    hold: bool = False,
) -> tuple[Plan, Receipt]:
    """Fence a checkpoint, or find that it is fenced.

    Args:
        stores: The checkpoint and the other places of the change.
        by: Who does it, for ``ckpt history``: a task of a DAG run, or user and host.
        asked: The request, as for :func:`~airflow_provider_ckpt.change.apply.apply`.
        trigger: The trigger of the query; ``realTime`` and ``continuous`` cannot be fenced.
        wait_s: Seconds to wait for the commit of the batch in flight.
        settle_s: Seconds after which the entry is read again; None for what the storage needs.
        break_lock: Remove the lock of another run, which the user knows has ended.
        require: Called when no other change is running, before anything is written; what it raises ends the call.
        tell: Told what is being waited for.
        hold: Close the checkpoint until that is taken back; a batch in flight is not waited for.

    Returns:
        The plan that was carried out, or the one of the fence that is there; and what was done.

    Raises:
        PlanError: The checkpoint cannot be fenced.
        CheckpointBusyError: The batch in flight was not committed in time, or the query was faster at every try, or
            another change is running. Nothing is left behind.
    """
    require_names(stores.checkpoint.location, by=by, asked=asked)
    require_planned_first(stores.checkpoint.location, trigger or "")
    settle_s = (SETTLE_ON_DISK_S if stores.checkpoint.is_local else SETTLE_S) if settle_s is None else settle_s
    with locked(stores.checkpoint, _LOCK, by, undo=stores.undo, break_lock=break_lock) as lock:
        require_alone(stores)
        require()
        stores.checkpoint.settle(layout.OFFSETS)
        run = _Run(
            stores=stores,
            by=by,
            asked=asked,
            trigger=trigger,
            wait_s=wait_s,
            settle_s=settle_s,
            tell=tell,
            lock=lock,
        )
        started_ms = now_ms()
        for attempt in range(TRIES):
            found = find_fence(stores)
            if hold:
                found = found if found is not None and is_closing(found) else None
                plan = found or make_hold(stores)
            else:
                _refuse_held(stores, found)
                plan = found or make_fence(stores, trigger=trigger, state=attempt == 0)
            if not hold and is_closing(plan) and flow_of(stores.checkpoint.location) is None:
                done = _behind_batch_in_flight(run, plan)
            else:
                done = plan if found or _put(run, plan) else None
            if done is not None:
                return done, _finish(run, done, started_ms, is_new=done is not found)
        location = stores.checkpoint.location
        raise CheckpointBusyError(
            f"the query was faster at each of {TRIES} tries: it had planned its next batch before the fence was there.",
            location=location,
            hint="Nothing was done. Run the same command again.",
        )


def _refuse_held(stores: Stores, found: Plan | None) -> None:
    """Raise PlanError where the checkpoint is closed until that is taken back: a fence would hold less."""
    is_closed = found is not None and is_closing(found) and flow_of(stores.checkpoint.location) is None
    if found is not None and is_closed and journal.RECEIPT in stores.record(found.plan_id).ls()[0]:
        raise PlanError(
            f"this checkpoint is held by {fence_of(found).name}: no Spark starts from it, which is more than a fence.",
            location=stores.checkpoint.location,
            hint=f"Nothing was done. Open it first: {stores.undo_command}",
        )


def _put(run: _Run, plan: Plan) -> bool:
    """Create the entry; False when a query has planned that batch first."""
    _begin(run, plan)
    return _create(run, plan) and _is_left(run, plan)


def _is_left(run: _Run, plan: Plan) -> bool:
    """True if the entry is still there after a query that had found its name free has had the time to take it."""
    time.sleep(run.settle_s)
    if holds(run.stores.checkpoint, plan):
        return True
    _refuse(run, plan, "a query had already begun to write the entry, and has replaced that of the fence")
    return False


def _behind_batch_in_flight(run: _Run, plan: Plan) -> Plan | None:
    """Close the checkpoint, wait for the batch, and put the fence in its place; None to plan anew.

    Raises CheckpointBusyError when the batch is not committed in time; the checkpoint is open again then.
    """
    if not holds(run.stores.checkpoint, plan):
        _begin(run, plan)
        if not _create(run, plan):
            return None
    stored = _own(run, plan)
    wait = duration_text(run.wait_s * 1000)
    run.tell(f"Batch {plan.batch_id} is in flight. Waiting up to {wait} for its commit; until then no Spark starts.")
    try:
        is_committed = _is_committed_in_time(run, plan)
        if is_committed:
            time.sleep(run.settle_s)
        behind = make_fence_behind(run.stores, plan) if is_committed else None
    except BaseException as error:  # Ctrl-C as well: nobody waits for the batch any more
        _open_again(run, plan, stored, error)
        raise
    if behind is None:
        _withdraw(run, plan, stored)
        return None
    return _exchange(run, plan, stored, behind)


def _own(run: _Run, plan: Plan) -> StoredObject | None:
    """The entry of a fence as it is there; None when a query has put its own in its place."""
    stored = run.stores.checkpoint.stat(fence_of(plan).name)
    return stored if holds(run.stores.checkpoint, plan) else None


def _is_committed_in_time(run: _Run, plan: Plan) -> bool:
    """True if the batch in flight is committed before the time is up; also when the entry is gone by then."""
    commit, until = layout.commit_entry(plan.batch_id), time.monotonic() + run.wait_s
    while run.stores.checkpoint.stat(commit) is None:
        if time.monotonic() >= until:
            return False
        time.sleep(min(POLL_S, max(0.0, until - time.monotonic())))
    return True


def _exchange(run: _Run, closed: Plan, stored: StoredObject | None, plan: Plan) -> Plan | None:
    """The entry of an empty batch in the place of the one that closes the checkpoint; None to plan anew.

    No storage exchanges an object for another one under a condition on both, so the name is free for a moment: a
    query that plans its batch then is the faster one, and its entry stays.
    """
    _begin(run, plan)
    if not _is_removed(run, closed, stored):
        for each in (closed, plan):
            _refuse(run, each, "a query had already begun to write the entry, and has replaced it")
        return None
    is_created = _create(run, plan)
    _take_back(run, closed, plan)
    return plan if is_created and _is_left(run, plan) else None


def _open_again(run: _Run, plan: Plan, stored: StoredObject | None, error: BaseException) -> None:
    """Open the checkpoint when the wait has failed; where that fails as well, the error says what is left."""
    try:
        _remove(run, plan, stored)
    except CheckpointError:
        if isinstance(error, CheckpointError):
            closed = (
                f"{fence_of(plan).name} closes the checkpoint, and no Spark starts from it. Run the same command again"
            )
            error.hint = f"{error.hint or ''} {closed}, or take it back: {run.stores.undo_command}".strip()


def _remove(run: _Run, plan: Plan, stored: StoredObject | None) -> None:
    """Remove the entry that closes the checkpoint, and say so in its record."""
    run.lock.require_mine()
    _is_removed(run, plan, stored)
    _take_back(run, plan, plan)


def _is_removed(run: _Run, plan: Plan, stored: StoredObject | None) -> bool:
    """Remove the entry of a fence; False when a query has put its own in its place, which stays."""
    return stored is not None and run.stores.checkpoint.delete_if(fence_of(plan).name, stored.identity)


def _withdraw(run: _Run, plan: Plan, stored: StoredObject | None) -> None:
    """Open the checkpoint again. Returns when the batch was committed meanwhile after all: the fence is planned anew.

    Raises CheckpointBusyError when it was not.
    """
    checkpoint = run.stores.checkpoint
    _remove(run, plan, stored)
    if checkpoint.stat(layout.commit_entry(plan.batch_id)) is not None:
        return
    entry = checkpoint.stat(layout.offset_entry(plan.batch_id))
    if entry is None:
        raise _gone(plan)
    since = f" since {time_text(entry.modified_ms)}" if entry.modified_ms else ""
    raise CheckpointBusyError(
        f"batch {plan.batch_id} is in flight{since}, and was not committed within {duration_text(run.wait_s * 1000)}: "
        "a fence behind it would make Spark skip it if its writer has died.",
        location=plan.location,
        batch_id=plan.batch_id,
        hint="Nothing was left behind. If the batch takes longer, run the same command with a longer --wait-for-batch. "
        "If its writer has died, no fence is needed: start the query, which runs the batch again; or confirm that "
        "the query is stopped, and make the change without a fence.",
    )


def _gone(plan: Plan) -> CheckpointNotFoundError:
    return CheckpointNotFoundError(
        "the entry of the batch in flight was removed while its commit was waited for.",
        location=plan.location,
        name=layout.offset_entry(plan.batch_id),
        batch_id=plan.batch_id,
        hint="The checkpoint is not fenced. See what is there: ckpt show. If somebody has moved or removed it, fence "
        "it where it is now.",
    )


def _begin(run: _Run, plan: Plan) -> None:
    """Write down what is meant, before it is done."""
    stores, record = run.stores, run.stores.record(plan.plan_id)
    require_access(stores, [fence_of(plan)], plan.called)
    run.lock.require_mine()
    number = journal.next_number(stores.checkpoint, stores.undo)
    begun = committed_before(plan)
    journal.begin(record, plan, by=run.by, at_ms=now_ms(), from_batch=begun, number=number, asked=run.asked)
    journal.write_saved(record, 0, {})


def _create(run: _Run, plan: Plan) -> bool:
    """Create the entry of a fence; False when there is another one."""
    own = fence_of(plan)
    try:
        run.stores.checkpoint.create(own.name, own.data.encode())
    except ObjectExistsError:
        if not holds(run.stores.checkpoint, plan):  # a driver may repeat what it has done
            _refuse(run, plan, f"a query had planned batch {plan.batch_id + 1} first")
            return False
    except CheckpointNotFoundError as error:
        _refuse(run, plan, error.message)
        raise
    run.stores.checkpoint.flush()
    return True


def _refuse(run: _Run, plan: Plan, why: str) -> None:
    run.lock.require_mine()
    journal.refuse(run.stores.record(plan.plan_id), why, now_ms())


def _take_back(run: _Run, plan: Plan, by: Plan) -> None:
    """The entry that closed the checkpoint is there no more, and its record says so."""
    journal.take_back(run.stores.record(plan.plan_id), by.plan_id, by=run.by, at_ms=now_ms())


def _finish(run: _Run, plan: Plan, started_ms: int, *, is_new: bool) -> Receipt:
    record = run.stores.record(plan.plan_id)
    finished_ms = now_ms()
    has_record = PLAN in record.ls()[0]
    if has_record:
        journal.complete(record, plan.plan_id, by=run.by, at_ms=finished_ms)
    _clear_closed(run, plan)
    return Receipt.of(plan, int(is_new), record.location if has_record else "", started_ms, finished_ms)


def _clear_closed(run: _Run, done: Plan) -> None:
    """Records of what had closed the checkpoint before, by a run that was killed, count as taken back."""
    for change in journal.history(run.stores.checkpoint, run.stores.undo):
        is_left = change.plan.kind == "fence" and change.state == "interrupted"
        if is_left and change.plan.plan_id != done.plan_id:
            _take_back(run, change.plan, done)
