"""Carrying out any plan that changes a checkpoint in place; what differs from kind to kind is in its executor.

One operator at a time, by a lock. Everything is observed again first, and a checkpoint that has changed is refused with
nothing done. What will be removed is saved before the first removal, and a query that starts meanwhile is noticed: the
checkpoint is observed right before the first removal, its logs before each step on a log, all of it after the last
step. Killed at any point, applying the same plan again completes what is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_provider_ckpt.change.ask_word import Word, ask_word
from airflow_provider_ckpt.change.executor import InPlace, executor_of
from airflow_provider_ckpt.change.guard import Guard, Tell, require_quiet, silent
from airflow_provider_ckpt.change.lock import Held, locked
from airflow_provider_ckpt.change.places import Stores, require_own_place
from airflow_provider_ckpt.change.plan.acceptance import require_accepted, require_names
from airflow_provider_ckpt.change.plan.actions import Action
from airflow_provider_ckpt.change.plan.difference import difference
from airflow_provider_ckpt.change.plan.facts import Facts
from airflow_provider_ckpt.change.plan.kinds import KINDS
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.record.find_done import find_done, receipt_of
from airflow_provider_ckpt.change.record.receipt import Receipt
from airflow_provider_ckpt.change.require_access import require_access
from airflow_provider_ckpt.change.require_alone import require_alone
from airflow_provider_ckpt.change.tell_of_fence import telling_of_fence
from airflow_provider_ckpt.change.validate import find_facts, validate
from airflow_provider_ckpt.checkpoint.read_unmoved import is_gone_from, read_unmoved
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import (
    CheckpointBusyError,
    CheckpointNotFoundError,
    ObjectNotFoundError,
    StalePlanError,
    StoreError,
)
from airflow_provider_ckpt.sinks.memory import remember
from airflow_provider_ckpt.storage.concurrency import OnStep, no_step
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.fields import require_flag


@dataclass(frozen=True, slots=True)
class _Run:
    """How one run of a plan is done; see :func:`apply`."""

    by: str
    asked: str
    word: Word
    query_is_stopped: bool
    quiet_s: float | None
    on_step: OnStep
    tell: Tell
    accept_sink: str | Collection[str]
    approved_by: str


def apply(
    plan: Plan,
    stores: Stores,
    *,
    by: str = "",
    asked: str = "",
    query_is_stopped: Word = False,
    quiet_s: float | None = None,
    break_lock: bool = False,
    on_step: OnStep = no_step,
    tell: Tell = silent,
    accept_sink: str | Collection[str] = (),
    approved_by: str = "",
) -> Receipt:
    """Carry out a plan that changes a checkpoint in place: a rollback, a repartition, a reset, a change of
    sources, a salvage, a repair or an undo.

    Args:
        plan: The plan to carry out.
        stores: The checkpoint and the other places of the change.
        by: Who does it, for ``ckpt history``: a task of a DAG run, or user and host.
        asked: The request, as a digest of at most 64 characters, by which the change is known when the same
            ``by`` asks for it again (:func:`~airflow_provider_ckpt.change.record.find_done.find_done`); empty for a
            person. Where the same ``by`` has made it meanwhile by another plan, nothing is done: the receipt is of that
            one.
        query_is_stopped: The user's statement that no query writes to the checkpoint, which files cannot show; or a
            callable that returns whether it is so, which is asked again right before the first step.
        quiet_s: Seconds to check for writes of a query, also after that statement; None to derive it from the interval
            between commits.
        break_lock: Remove the lock of another run, which the user knows has ended.
        on_step: Called after each step.
        tell: Told what is being waited for, and how long.
        accept_sink: Sink effects that are accepted, by name: ``duplicated``, ``skipped``, ``unknown``, ``stops``.
        approved_by: Who has approved the plan, and so accepted its effect, for ``ckpt history``; empty for ``by``.

    Raises:
        PlanError: The effect on the sink is not exact, and was not accepted; or the plan is of another checkpoint; or
            an argument is none of these, or the callable fails.
        StalePlanError: The checkpoint is not what it was when the plan was made; nothing was done.
        CheckpointBusyError: There is no statement that the query is stopped, or the query wrote something, or another
            change is running. The message says whether something was done by then, and what to do next.
        BackupCorruptError: An object from a backup is not the one that was backed up; nothing was removed.
        StoreError: A saved object of a change is not whole; nothing was done.
    """
    require_names(plan.location, by=by, asked=asked, approved_by=approved_by)
    require_flag("break_lock", break_lock)
    require_quiet(quiet_s, plan.location)
    run = _Run(
        by=by,
        asked=asked,
        word=query_is_stopped,
        query_is_stopped=ask_word(query_is_stopped, plan.location),
        quiet_s=quiet_s,
        on_step=on_step,
        tell=tell,
        accept_sink=accept_sink,
        approved_by=approved_by,
    )
    executor_of_kind = executor_of(plan)
    require_own_place(plan, stores)
    with locked(stores.checkpoint, plan.plan_id, by, undo=stores.undo, break_lock=break_lock) as lock:
        done = find_done(stores, plan.kind, by, asked) if by and asked else None
        if done is not None and done.plan.plan_id != plan.plan_id:  # by another process, while this one planned
            return receipt_of(done)
        with telling_of_fence(stores, plan.fence.name if plan.fence else None, plan.plan_id):
            return _carry_out(executor_of_kind(plan, stores, lock.require_mine), run, lock)


def _carry_out(executor: InPlace, run: _Run, lock: Held) -> Receipt:
    started_ms = now_ms()
    plan, stores, record = executor.plan, executor.stores, executor.record
    files, _ = record.ls()
    _refuse_taken_back(executor, files)
    if journal.RECEIPT in files:  # whatever has happened since, this change was made
        executor.finish(run.by, now_ms())
        return Receipt.of(plan, 0, record.location, started_ms, now_ms())
    require_alone(stores)
    _settle(plan, stores)
    resuming = journal.may_have_taken_steps(files)
    facts, todo = read_unmoved(lambda: _judged(executor, run, resuming), stores.checkpoint, stores.sink)
    if not resuming:  # also when it has no steps: somebody may have taken them out of it
        _require_own_plan(executor)
    if todo:
        # what was accepted when it was begun is in its record; who says it again has to say the same
        accepted = () if resuming and not run.accept_sink else require_accepted(plan, run.accept_sink)
        require_access(stores, todo, plan.called)
        guard = Guard(executor, facts)
        quiet_s = guard.least_quiet_s(run.quiet_s)
        guard.watch(quiet_s, lock.storage_now_ms() if quiet_s is None else None, run.tell)
        lock.require_mine()
        journal.begin(
            record,
            plan,
            by=run.by,
            at_ms=started_ms,
            from_batch=facts.latest_committed,
            number=journal.next_number(stores.checkpoint, stores.undo),
            approved_by=run.approved_by,
            accepted=accepted,
            asked=run.asked,
        )
        _prepare(executor, todo, guard, run.word, resuming=resuming)
        if not resuming:  # and so was judged by this run: the sink fits
            remember(stores.checkpoint, facts.query_id, [(plan.declared_sink, stores.sink)], run.approved_by or run.by)
        _take_steps(executor, todo, guard, run.on_step)
    executor.judge_outcome()
    receipt = Receipt.of(plan, len(todo), record.location, started_ms, now_ms())
    _finish(executor, receipt, run.by, is_recorded=bool(todo) or resuming)
    return receipt


def _settle(plan: Plan, stores: Stores) -> None:
    """End the removals that a kill has interrupted, in both logs and wherever the plan has a step."""
    logs = [("checkpoint", layout.OFFSETS), ("checkpoint", layout.COMMITS)]
    steps = [(action.place, action.name.rpartition("/")[0]) for action in plan.actions]
    for place, directory in sorted({*logs, *steps}):
        stores.place(place).settle(directory)


def _judged(executor: InPlace, run: _Run, resuming: bool) -> tuple[Facts, list[Action]]:
    """Facts of now, and the steps that are left. Raises StalePlanError when the plan no longer fits them."""
    plan = executor.plan
    facts = find_facts(plan, executor.stores, resuming=resuming)
    todo = plan.steps_left(facts)
    validate(plan, replace(facts, writer_stopped=run.query_is_stopped or not todo))
    return facts, todo


def _refuse_taken_back(executor: InPlace, files: Mapping[str, StoredObject]) -> None:
    """A plan that was undone is over; applied again it would save nothing, and could not be undone."""
    plan = executor.plan
    given_up = journal.FORGOTTEN in files and journal.RECEIPT not in files
    if journal.UNDONE in files or given_up:
        done = (
            "begun, and then its saved files were deleted (ckpt history --forget)"
            if given_up
            else "carried out, and then undone"
        )
        raise StalePlanError(
            f"plan {plan.plan_id} was {done}.",
            location=plan.location,
            batch_id=plan.batch_id,
            hint="Nothing was done. Make a new plan.",
        )


def _require_own_plan(executor: InPlace) -> None:
    """Raise StalePlanError for a plan that is not the one that would be made for this checkpoint now."""
    plan, stores = executor.plan, executor.stores
    try:
        again = read_unmoved(executor.plan_again, stores.checkpoint, stores.sink)
    except CheckpointNotFoundError as error:
        if error.location != stores.checkpoint.location:
            raise
        raise StalePlanError(
            "the checkpoint has changed since the plan was made: this is not there any more.",
            location=error.location,
            name=error.name,
            batch_id=plan.batch_id,
            hint="Nothing was done. Stop the query and everything that restarts it, then make a new plan.",
        ) from None
    found = difference(plan, again)
    if found is not None:
        raise StalePlanError(
            f"the plan is not the one that would be made for this checkpoint now: {found}.",
            location=plan.location,
            batch_id=plan.batch_id,
            hint="Nothing was done. The sink has changed since the plan was made, or the plan was edited. Make a new "
            "plan.",
        )


def _prepare(executor: InPlace, todo: Sequence[Action], guard: Guard, word: Word, *, resuming: bool) -> None:
    """Save and lay ready, and observe and ask again; when a query was there, the change counts as one that never began.

    Where another operator has taken over, the record is theirs, and is left alone.
    """
    try:
        executor.prepare(todo, guard.tick, resuming=resuming)
        guard.require_untouched()
        if callable(word) and executor.plan.fence is None and not ask_word(word, executor.plan.location):
            raise CheckpointBusyError(
                "the query was stopped when the change began, and is not any more.",
                location=executor.plan.location,
                hint="No step was done. Stop it, and run the same command again.",
            )
        guard.before(todo[0], 0, len(todo))
    except CheckpointBusyError as error:
        if not resuming:
            executor.mine()
            journal.refuse(executor.record, error.message, now_ms())
            executor.give_up()
        raise


def _take_steps(executor: InPlace, todo: Sequence[Action], guard: Guard, on_step: OnStep) -> None:
    for done, action in enumerate(todo):
        try:
            guard.before(action, done, len(todo))
            action.apply(executor)
        except StoreError as error:
            if isinstance(error, ObjectNotFoundError) and is_gone_from(error, executor.stores.place(action.place)):
                raise guard.stopped(f"{error.name} was removed", done, len(todo)) from None
            error.hint = _half_done(executor, done, len(todo), error.hint)
            raise
        guard.note(action, executor.identities.get(action.spot))
        on_step(done + 1, len(todo), action.name)
    executor.stores.checkpoint.flush()
    guard.require_as_planned(len(todo))


def _half_done(executor: InPlace, done: int, total: int, hint: str | None) -> str:
    """Next step for a change that the storage has stopped between its first step and its last."""
    plan, undo = executor.plan, executor.stores.undo_command
    begun = (
        f"The {plan.called} was begun and is not complete: {done} of {total} steps were done; what they removed is "
        "saved."
    )
    back = f"; `{undo}` takes it back instead" if KINDS[plan.kind].can_be_undone else ""
    return f"{begun} {hint or ''} Then run the same command again, which completes it{back}.".replace("  ", " ")


def _finish(executor: InPlace, receipt: Receipt, by: str, *, is_recorded: bool) -> None:
    if is_recorded:
        journal.complete(executor.record, receipt.plan_id, by=by, at_ms=receipt.finished_at_ms)
    executor.finish(by, receipt.finished_at_ms)
