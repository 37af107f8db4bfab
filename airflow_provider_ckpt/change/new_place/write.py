"""Carrying out any plan that writes a checkpoint to a new or empty location; what differs is in its writer.

There is no lock and no query to wait for: each object is created where there is none, and what somebody else writes is
noticed before each step on a log and after the last step. Log entries are written one after the other in the order of
the plan, and what lies between them is on the disk before the next one is; that itself has no order. Killed at any
point, the same call completes it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, groupby
from typing import ClassVar

from airflow_provider_ckpt.change.new_place.find_written import find_winner, find_written, record_place
from airflow_provider_ckpt.change.new_place.make import require_empty
from airflow_provider_ckpt.change.open_sinks import Sinks
from airflow_provider_ckpt.change.places import Stores, require_own_place
from airflow_provider_ckpt.change.plan.acceptance import require_accepted, require_names
from airflow_provider_ckpt.change.plan.actions import Action, Create
from airflow_provider_ckpt.change.plan.facts import Place
from airflow_provider_ckpt.change.plan.kinds import Kind, with_article
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.record.find_done import receipt_of
from airflow_provider_ckpt.change.record.journal import Record
from airflow_provider_ckpt.change.record.receipt import Receipt
from airflow_provider_ckpt.checkpoint.own_files import PLAN
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.errors import (
    CheckpointBusyError,
    CheckpointError,
    CheckpointLockedError,
    ObjectExistsError,
    PlanError,
)
from airflow_provider_ckpt.sinks.memory import remember
from airflow_provider_ckpt.storage.concurrency import OnStep, in_parallel
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject


@dataclass
class Writer(ABC):
    """Writes the files of a plan.

    Args:
        plan: The plan to carry out.
        target: The location to write to.
        sinks: The sinks that were declared for the plan, to be remembered, each with the store of its ``directory``.
        threads: How many files are written in parallel.
    """

    plan: Plan
    target: Store
    sinks: Sinks
    threads: int = 1
    kind: ClassVar[Kind]

    @abstractmethod
    def require_right(self, todo: Collection[Action]) -> None:
        """Require that the plan is the one that would be made now; ``todo`` are the steps that are left.

        Raises PlanError, or StalePlanError when something has changed since or the plan was edited.
        """

    def begin_sink(self) -> int:
        """Write to a sink what has to be there before the checkpoint; returns the number of objects written."""
        return 0

    def write(self, action: Action) -> None:
        """Take one step."""
        assert isinstance(action, Create)
        self.target.create(action.name, action.data.encode())

    @property
    def way_on(self) -> str:
        """The advice on how to complete a change that has failed on its way."""
        return f"run the same command again, which completes the {self.plan.called}"

    def steps_in(self, place: Place) -> list[Action]:
        """The steps of the plan in the checkpoint, or in the sink."""
        return [action for action in self.plan.actions if action.place == place]


def what_is_written(plan: Plan) -> tuple[object, ...]:
    """Steps of a plan, and its effects on sinks: two plans with the same ones write the same."""
    return plan.actions, plan.source, plan.batch_id, [(item.sink, item.effect) for item in plan.effects]


def write_new(
    writer: Writer,
    *,
    by: str,
    asked: str,
    on_step: OnStep,
    accept_sink: str | Collection[str],
    approved_by: str,
) -> Receipt:
    """Carry out a plan that writes a checkpoint to a new or empty location. What is said of it is as for ``apply``.

    Raises:
        PlanError: The effect on a sink is not exact, and was not accepted; or the plan is of another kind or place.
        StalePlanError: The plan is not the one that would be made now.
        ObjectExistsError: There is something else at the location.
        CheckpointBusyError: Another process writes to the location.
        CheckpointLockedError: Another run has begun the same change at the same moment.
    """
    plan, target = writer.plan, writer.target
    require_names(plan.location, by=by, asked=asked, approved_by=approved_by)
    if plan.kind != writer.kind:
        raise PlanError(
            f"this is the plan of {plan.with_article}, not of {with_article(writer.kind)}.", location=target.location
        )
    require_own_place(plan, Stores(target))
    wanted = what_is_written(plan)
    if (earlier := find_written(target, lambda other: what_is_written(other) == wanted)) is not None:
        if earlier.state == "applied":
            return receipt_of(earlier)
        writer.plan = plan = earlier.plan
    started_ms = now_ms()
    there = target.find()
    require_empty(plan, target, there)
    todo = {action.name: action for action in writer.steps_in("checkpoint") if action.name not in there}
    place = record_place(plan, target)
    noted = {} if place is None else place.ls()[0]
    if todo or PLAN not in noted:
        writer.require_right(todo.values())  # also when it has no steps: they may have been taken out
    accepted = require_accepted(plan, accept_sink) if todo else ()
    record = place if by and (todo or (journal.BEGUN in noted and journal.RECEIPT not in noted)) else None
    if record is not None:
        journal.begin(
            record,
            plan,
            by=by,
            at_ms=started_ms,
            from_batch=None,
            number=journal.next_number(target),
            approved_by=approved_by,
            accepted=accepted,
            asked=asked,
        )
        _require_first(plan, target, record)
        remember(target, plan.query_id, writer.sinks, approved_by or by)
    begun_in_sink, written = 0, set[str]()
    try:
        begun_in_sink = writer.begin_sink() if todo else 0
        _write_all(writer, todo, there, on_step, written)
    except CheckpointError as error:
        if (winner := _winner(target, {*there, *written})) is None:
            _tell_what_is_left(writer, error)
            raise
        return _settle(plan, winner, target, None if there else record, begun_in_sink + len(written))
    if record is not None:
        journal.complete(record, plan.plan_id, by=by, at_ms=now_ms())
    recorded = record.location if record is not None else ""
    return Receipt.of(plan, begun_in_sink + len(todo), recorded, started_ms, now_ms(), target.location)


def _require_first(plan: Plan, target: Store, record: Store) -> None:
    """Stop if another one begins the same at once."""
    wanted = what_is_written(plan)
    other = find_written(target, lambda item: item.plan_id != plan.plan_id and what_is_written(item) == wanted)
    if other is not None and other.by and other.state != "applied":
        same = f"nother run began the same {plan.called} at the same moment"
        journal.refuse(record, f"A{same}.", now_ms())
        raise CheckpointLockedError(
            f"a{same} (by {other.by}).",
            location=target.location,
            hint="Nothing was done. Run it again: it completes what was begun, or says that it was done.",
        )


def _winner(target: Store, before: Collection[str]) -> Record | None:
    with suppress(CheckpointError):  # what cannot be read does not hide why the change has failed
        return find_winner(target, before)
    return None


def _settle(plan: Plan, winner: Record, target: Store, record: Store | None, written: int) -> Receipt:
    """The receipt of the same change that another run has carried out here meanwhile.

    Args:
        plan: What was to be written.
        winner: What the other run has written.
        target: Where.
        record: The record of the plan, begun now; None for one that was begun before.
        written: How many files were written now.

    Raises ObjectExistsError when the other one has written something else.
    """
    by = f" (by {winner.by})" if winner.by else ""
    said = f"the {winner.plan.called} {winner.plan.plan_id}{by} has completed here meanwhile."
    if record is not None and record.location != winner.location and not written:
        journal.refuse(record, said, now_ms())
    if what_is_written(winner.plan) == what_is_written(plan):
        return receipt_of(winner)
    own = f"Nothing of this {plan.called} was written."
    if written:
        own = f"{written} files of this {plan.called} were written as well: verify what is there before a query starts."
    hint = f"{own} To write another checkpoint, give a new location."
    raise ObjectExistsError(said, location=target.location, hint=hint)


def _tell_what_is_left(writer: Writer, error: CheckpointError) -> None:
    """A change that fails on the way says what it leaves, and how to go on."""
    wanted, target = writer.plan.writes(), writer.target
    try:
        left = f"{len(wanted & target.find().keys())} of {len(wanted)} files are"
    except CheckpointError:
        left = f"Some of {len(wanted)} files may be"
    said = (
        f"{left} in {target.location}: start no query from it. When the cause is fixed, {writer.way_on}. To "
        "write another checkpoint, give a new location, or delete this one first."
    )
    error.hint = f"{error.hint} {said}" if error.hint else said


def _write_all(
    writer: Writer, todo: Mapping[str, Action], there: Mapping[str, StoredObject], on_step: OnStep, written: set[str]
) -> None:
    """Write what is not there yet, and clear away what an earlier run left half written; ``written`` gets the names."""
    plan, target, done = writer.plan, writer.target, count(1)

    def write(name: str) -> None:
        target.require_inside(name)
        writer.write(todo[name])
        written.add(name)

    for in_order, names in groupby(todo, key=_is_log_entry):
        _require_alone(writer, there)
        in_parallel(
            write,
            list(names),
            1 if in_order else writer.threads,
            lambda _done, _total, name: on_step(next(done), len(todo), name),
        )
        if not in_order:
            target.flush()
    for name in there.keys() - plan.writes():  # what an earlier run was writing when it was killed
        target.delete(name)
    target.flush()
    if todo:
        _require_alone(writer, {})


def _require_alone(writer: Writer, before: Mapping[str, StoredObject]) -> None:
    """Another reading: what is there now is the plan's, or was there ``before`` and judged then."""
    plan, target = writer.plan, writer.target
    sizes = {action.name: action.size for action in writer.steps_in("checkpoint")}
    for name, stored in sorted(target.find().items()):
        if name not in before and stored.size != sizes.get(name):
            raise CheckpointBusyError(
                f"another process wrote this file during the {plan.called}.",
                location=target.location,
                name=name,
                batch_id=plan.batch_id,
                hint="Do not start a query here. Stop that process, and give a new location.",
            )


def _is_log_entry(name: str) -> bool:
    return isinstance(layout.parse(main_name(name)), layout.LogEntry)
