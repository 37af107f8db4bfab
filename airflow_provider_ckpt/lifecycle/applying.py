"""Carrying out plans that change a checkpoint in place: rollback and undo.

One operator at a time, by a lock. Everything is looked at again first, and a checkpoint that has moved is refused with
nothing done. What will be removed is saved before the first removal. Killed at any point, applying the same plan again
completes what is missing.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import (
    CheckpointBusyError,
    PlanError,
    StalePlanError,
)
from airflow_provider_ckpt.lifecycle import records, saving
from airflow_provider_ckpt.lifecycle.locks import locked
from airflow_provider_ckpt.lifecycle.observing import (
    OnStep,
    no_step,
    now_ms,
    observe,
)
from airflow_provider_ckpt.objects import StoredObject, digest
from airflow_provider_ckpt.plans import Action, Plan, kept_objects
from airflow_provider_ckpt.progress import or_none
from airflow_provider_ckpt.sink_log import SinkLog
from airflow_provider_ckpt.sinks import read_file_sink
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.view import CheckpointView

#: A writer is watched for at least this long.
MIN_WATCH_S = 2.0
#: Bounds of the quiet period that is read off the rhythm of the commits.
MIN_QUIET_S, MAX_QUIET_S = 5.0, 60.0


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was done.

    Args:
        plan_id: Of the plan that was applied.
        kind: Of that plan.
        status: ``applied``, or ``already_applied`` when there was nothing left to do.
        location: The checkpoint.
        batch_id: The batch that the plan goes to, or for an undo went to.
        actions: Steps that were carried out in this run.
        record: Location of the record, with what was saved; empty when there is none.
        started_at_ms: Epoch milliseconds.
        finished_at_ms: Epoch milliseconds.
    """

    plan_id: str
    kind: str
    status: str
    location: str
    batch_id: int
    actions: int
    record: str
    started_at_ms: int
    finished_at_ms: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Stores:
    """The places that a plan works on.

    Args:
        checkpoint: What is changed.
        sink: The sink: the output directory of a file sink, or a table.
        undo: Root of the records; None for the directory beside the checkpoint.
        backups: Root of backups, for the files of a batch that was purged.
    """

    checkpoint: Store
    sink: Store | None = None
    undo: Store | None = None
    backups: Store | None = None

    def place(self, name: str) -> Store:
        """The store that an action works on."""
        store = self.sink if name == "sink" else self.checkpoint
        if store is None:
            raise PlanError("the plan trims a sink log, and no sink was given")
        return store

    def record(self, plan_id: str) -> Store:
        """Where the record of one plan is."""
        return records.records_of(self.checkpoint, self.undo).child(plan_id)


def apply(
    plan: Plan,
    stores: Stores,
    *,
    by: str = "",
    query_is_stopped: bool = False,
    quiet_s: float | None = None,
    break_lock: bool = False,
    on_step: OnStep = no_step,
) -> Receipt:
    """Carry out a rollback or an undo.

    Args:
        plan: What to do.
        stores: Where.
        by: Who does it, for the history: a task of a DAG run, or user and host.
        query_is_stopped: The user's word that no query writes to the checkpoint; files alone cannot show that.
        quiet_s: Seconds to watch for a change, on top of that word; None to judge by the rhythm of the commits.
        break_lock: The user's word that another operator who holds the lock has ended.
        on_step: Called after each step.

    Raises:
        StalePlanError: The checkpoint is not what it was when the plan was made.
        CheckpointBusyError: No word that the query is stopped, or it wrote something; or another operator is at work.
        BackupCorruptError: What comes from a backup is not what was backed up; nothing was removed.
    """
    with locked(stores.checkpoint, plan.plan_id, by, break_lock=break_lock):
        return _apply(plan, stores, by, query_is_stopped, quiet_s, on_step)


def _apply(
    plan: Plan, stores: Stores, by: str, query_is_stopped: bool, quiet_s: float | None, on_step: OnStep
) -> Receipt:
    started_ms = now_ms()
    record = stores.record(plan.plan_id)
    files, _ = record.ls()
    _refuse_taken_back(plan, files)
    begun = records.SAVED in files
    found = Found(stores, plan)
    validate(plan, found, begun=begun)
    todo = [action for action in plan.actions if not found.is_done(action)]
    if todo:
        _require_stopped(plan, stores, found.view, query_is_stopped, quiet_s)
        records.write_once(record, records.PLAN, plan.to_dict())
        who = {"by": by, "at_ms": started_ms, "from_batch": found.view.latest_committed}
        records.note(record, records.BEGUN, who)
        if not plan.undoes:
            saving.stage(todo, plan, stores.checkpoint, stores.backups, record, begun=begun)
        if not begun:
            saving.save(todo, stores.place, record)
    for done, action in enumerate(todo, start=1):
        _act(action, plan, stores)
        on_step(done, len(todo), action.name)
    status = "applied" if todo else "already_applied"
    receipt = Receipt(
        plan.plan_id,
        plan.kind,
        status,
        plan.location,
        plan.batch_id,
        len(todo),
        record.location,
        started_ms,
        now_ms(),
    )
    _finish(plan, stores, receipt, by, begun=bool(todo) or begun)
    return receipt


def _refuse_taken_back(plan: Plan, files: Mapping[str, StoredObject]) -> None:
    """A plan that was undone is over; applied again it would save nothing, and could not be undone."""
    given_up = records.FORGOTTEN in files and records.RECEIPT not in files
    if records.UNDONE in files or given_up:
        raise StalePlanError(
            f"plan {plan.plan_id} was {'given up' if given_up else 'undone'} since it was made.",
            location=plan.location,
            batch_id=plan.batch_id,
            hint="Nothing was done. Plan again.",
        )


def _finish(plan: Plan, stores: Stores, receipt: Receipt, by: str, *, begun: bool) -> None:
    stores.checkpoint.flush()
    done = {"by": by, "at_ms": receipt.finished_at_ms}
    record = stores.record(plan.plan_id)
    if begun:
        records.note(record, records.RECEIPT, {"plan_id": plan.plan_id, **done})
    if plan.source and not plan.undoes:
        records.clear(record, records.STAGED_OBJECTS)
    if plan.undoes:
        records.note(stores.record(plan.undoes), records.UNDONE, {"undone_by": plan.plan_id, **done})


def forget(plan_id: str, stores: Stores, *, by: str = "") -> int:
    """Delete what a change has saved for its undo; it cannot be undone afterwards, nor can anything before it.

    Returns:
        The number of objects deleted.

    Raises:
        PlanError: There is no such change, or it was interrupted and needs what it saved.
        CheckpointBusyError: Another operator is at work.
    """
    with locked(stores.checkpoint, plan_id, by):
        record = records.find_record(stores.checkpoint, plan_id, stores.undo)
        return records.forget(record, stores.record(plan_id))


# --- checking ------------------------------------------------------------------------------------------------------


class Found:
    """What stands now in the places that a plan works on."""

    def __init__(self, stores: Stores, plan: Plan) -> None:
        self.view = observe(stores.checkpoint, deep=True)
        self.sink: SinkLog | None = read_file_sink(stores.place("sink")) if plan.sink else None
        self._saved = stores.record(plan.undoes).child(records.SAVED_OBJECTS) if plan.undoes else None
        self._stores = stores
        self._plan = plan

    def objects(self, place: str) -> Mapping[str, StoredObject]:
        """Objects of one place, by name."""
        return self.sink.objects if place == "sink" and self.sink else self.view.objects

    def is_done(self, action: Action) -> bool:
        """Whether an action has nothing left to do."""
        return (action.name in self.objects(action.place)) != (action.do == "delete")

    def fact(self, kind: str) -> str | None:
        """What stands where a requirement looks; None when it is looked after elsewhere."""
        touched = {place: self._plan.deletes(place) | self._plan.writes(place) for place in ("checkpoint", "sink")}
        match kind:
            case "query_id":
                return self.view.query_id or "none"
            case "latest_committed":
                return or_none(self.view.latest_committed)
            case "latest_planned":
                return or_none(self.view.latest_planned)
            case "kept_objects":
                return kept_objects(self.view.objects, touched["checkpoint"])
            case "kept_sink_log":
                return kept_objects(self.objects("sink"), touched["sink"])
        return None

    def is_stale(self, action: Action, *, begun: bool) -> bool:
        """Whether an object is neither what an action was planned for nor what it leaves behind."""
        stored = self.objects(action.place).get(action.name)
        if action.do == "delete" and action.identity:
            return not begun if stored is None else stored.identity != action.identity
        return stored is not None and not (stored.size == action.size and self._is_ours(action))

    def _is_ours(self, action: Action) -> bool:
        """Whether an object is what a change, or its undo, has put there."""
        data = self._stores.place(action.place).read(action.name)
        if action.sha256:
            return hashlib.sha256(data).hexdigest() == action.sha256
        return self._saved is not None and data == self._saved.read(action.source)


def validate(plan: Plan, found: Found, *, begun: bool) -> None:
    """Raise StalePlanError for a checkpoint that a plan was not made for, and that it has not ``begun`` to change."""
    place: dict[str, Any] = {"location": plan.location, "batch_id": plan.batch_id}
    hint = "Nothing was done. Plan again." if plan.kind != "undo" else "Nothing was done."
    for requirement in plan.requirements:
        if begun and requirement.kind.startswith("latest_"):
            continue
        fact = found.fact(requirement.kind)
        if fact is not None and fact != requirement.expected:
            raise StalePlanError(
                f"the checkpoint has changed since the plan: {requirement.kind} expected {requirement.expected}, "
                f"found {fact}.",
                **place,
                hint=hint,
            )
    for action in plan.actions:
        if found.is_stale(action, begun=begun):
            stored = found.objects(action.place).get(action.name)
            raise StalePlanError(
                f"the checkpoint has changed since the plan: expected {_expected(action)}, "
                f"found {stored.identity if stored else 'nothing'}.",
                **place,
                name=action.name,
                hint=hint,
            )


def _expected(action: Action) -> str:
    if action.do == "delete":
        return action.identity or f"what has the SHA-256 {action.sha256}, or nothing"
    return "nothing"


def _require_stopped(
    plan: Plan, stores: Stores, view: CheckpointView, query_is_stopped: bool, quiet_s: float | None
) -> None:
    if not query_is_stopped:
        raise CheckpointBusyError(
            f"{plan.kind} needs the query to be stopped, and files cannot show that: an idle query writes nothing.",
            location=plan.location,
            hint="Stop the query, then say so: --i-know-it-is-stopped (query_is_stopped=True in a DAG).",
        )
    watched_s = _watch_s(view) if quiet_s is None else quiet_s
    time.sleep(watched_s)
    if digest(observe(stores.checkpoint, deep=True).objects.values()) != digest(view.objects.values()):
        raise CheckpointBusyError(
            f"something was written within {watched_s:.1f} s: the query is running.",
            location=plan.location,
            hint="Nothing was done. Stop the query first.",
        )


def _watch_s(view: CheckpointView) -> float:
    """How long to watch: until the newest write is so old that a query of this rhythm would have written again."""
    times = sorted(stored.modified_ms for stored in view.below(layout.COMMITS) if stored.modified_ms)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    quiet = min(MAX_QUIET_S, max(MIN_QUIET_S, 2 * max(gaps, default=0) / 1000))
    newest = max((stored.modified_ms or 0 for stored in view.objects.values()), default=0)
    return max(MIN_WATCH_S, quiet - (now_ms() - newest) / 1000)


# --- acting --------------------------------------------------------------------------------------------------------


def _act(action: Action, plan: Plan, stores: Stores) -> None:
    store = stores.place(action.place)
    if action.do == "delete":
        store.delete(action.name)
    elif plan.undoes:
        stores.record(plan.undoes).child(records.SAVED_OBJECTS).keep(action.source, store, action.name)
    else:
        stores.record(plan.plan_id).child(records.STAGED_OBJECTS).keep(action.name, store, action.name)
