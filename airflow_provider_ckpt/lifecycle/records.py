"""The records of changes: what was meant, by whom, what was removed, what was done; beside the checkpoint, not inside.

``<parent>/_ckpt_undo/<name>/<plan id>/`` holds ``plan.json`` and ``begun.json`` (the intent and who had it, written
first), ``staged/`` (what comes from a backup, verified; until it is in its place), ``saved/`` (what is about to be
removed), ``saved.json`` (all of it is saved: from here on the change can be completed or undone), ``receipt.json``
(done), ``undone.json``, and ``forgotten.json`` (what was saved is given up).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from airflow_provider_ckpt.errors import ObjectExistsError, PlanError, StoreError
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.plans import Plan, plan_from_dict
from airflow_provider_ckpt.store import Store

UNDO_DIRECTORY = "_ckpt_undo"
PLAN, BEGUN, SAVED, RECEIPT = "plan.json", "begun.json", "saved.json", "receipt.json"
UNDONE, FORGOTTEN = "undone.json", "forgotten.json"
SAVED_OBJECTS, STAGED_OBJECTS = "saved", "staged"

State = Literal["planned", "interrupted", "applied", "undone"]


@dataclass(frozen=True, slots=True)
class Record:
    """A change that was made to a checkpoint, or begun.

    Args:
        plan: What was meant.
        state: ``planned`` (nothing removed yet), ``interrupted`` (some of it removed), ``applied`` or ``undone``.
        location: Of the record.
        by: Who began it: a task of a DAG run, or user and host; empty when nobody said.
        begun_at_ms: When, epoch milliseconds; None when the record does not say.
        done_at_ms: When it was completed, or None.
        from_batch: The newest committed batch before it, or None.
        forgotten: Whether what was saved for an undo has been given up.
    """

    plan: Plan
    state: State
    location: str
    by: str = ""
    begun_at_ms: int | None = None
    done_at_ms: int | None = None
    from_batch: int | None = None
    forgotten: bool = False

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, without the steps of the plan."""
        return {
            "plan_id": self.plan.plan_id,
            "kind": self.plan.kind,
            "from_batch": self.from_batch,
            "to_batch": self.plan.batch_id,
            "state": self.state,
            "by": self.by,
            "planned_at_ms": self.plan.planned_at_ms,
            "begun_at_ms": self.begun_at_ms,
            "done_at_ms": self.done_at_ms,
            "undoes": self.plan.undoes,
            "forgotten": self.forgotten,
            "record": self.location,
        }


def records_of(checkpoint: Store, undo: Store | None = None) -> Store:
    """Where the records of one checkpoint are: under the root given, or beside the checkpoint."""
    if undo is None:
        return checkpoint.sibling(UNDO_DIRECTORY).child(checkpoint.base_name)
    which = hashlib.sha256(checkpoint.location.encode()).hexdigest()[:8]
    return undo.child(f"{checkpoint.base_name}-{which}")


def history(checkpoint: Store, undo: Store | None = None) -> tuple[Record, ...]:
    """The changes made to a checkpoint, oldest first."""
    root = records_of(checkpoint, undo)
    _, directories = root.ls()
    found = []
    for directory in directories:
        store = root.child(directory)
        files, _ = store.ls()
        if PLAN in files:
            found.append(_record(store, files))
    return tuple(sorted(found, key=lambda record: record.begun_at_ms or record.plan.planned_at_ms))


def _record(store: Store, files: Mapping[str, StoredObject]) -> Record:
    data = store.read(PLAN)
    if hashlib.sha256(data).hexdigest()[:16] != store.base_name:  # the id of a plan is a digest of its bytes
        hint = "Do not act on it. Look at it, and move its directory away."
        raise StoreError("is not what was recorded", location=store.location, name=PLAN, hint=hint)
    plan = plan_from_dict(_parsed(store, PLAN, data))
    begun = _read(store, BEGUN) if BEGUN in files else {}
    receipt = _read(store, RECEIPT) if RECEIPT in files else {}
    return Record(
        plan,
        _state(files),
        store.location,
        begun.get("by", ""),
        begun.get("at_ms"),
        receipt.get("at_ms"),
        begun.get("from_batch"),
        FORGOTTEN in files,
    )


def _read(store: Store, name: str) -> dict[str, Any]:
    return _parsed(store, name, store.read(name))


def _parsed(store: Store, name: str, data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        raise StoreError("is no record of a change", location=store.location, name=name) from None
    return value if isinstance(value, dict) else {}


def _state(files: Mapping[str, StoredObject]) -> State:
    if UNDONE in files:
        return "undone"
    if RECEIPT in files:
        return "applied"
    return "interrupted" if SAVED in files else "planned"


def find_record(checkpoint: Store, plan_id: str, undo: Store | None = None) -> Record:
    """The record of one plan. Raises PlanError when there is none."""
    found = {record.plan.plan_id: record for record in history(checkpoint, undo)}
    if plan_id not in found:
        known = ", ".join(found) or "none"
        raise PlanError(f"no plan {plan_id!r} was applied here; known are: {known}.", location=checkpoint.location)
    return found[plan_id]


def last_change(checkpoint: Store, undo: Store | None = None) -> Record:
    """The newest change that is not undone yet. Raises PlanError when there is none that can be."""
    changes = [
        record
        for record in history(checkpoint, undo)
        if record.plan.kind not in ("undo", "restore") and record.state in ("applied", "interrupted")
    ]
    if not changes:
        raise PlanError(
            "there is nothing to undo.",
            location=checkpoint.location,
            hint="Only changes that this tool made, and that were not undone yet, can be undone.",
        )
    if changes[-1].forgotten:
        raise PlanError(
            f"what the {changes[-1].plan.kind} {changes[-1].plan.plan_id} had removed was given up since (--forget), "
            "so it cannot be undone, nor can anything before it.",
            location=checkpoint.location,
            hint="Restore a backup to a new location.",
        )
    return changes[-1]


def forget(record: Record, store: Store) -> int:
    """Delete what a change has saved for its undo; the record itself stays. Returns the number of objects deleted.

    Args:
        record: The change, which must not be half done.
        store: The store of its record.

    Raises:
        PlanError: It was interrupted, and what it saved is needed to complete or to undo it.
    """
    if record.state == "interrupted":
        raise PlanError(
            f"the {record.plan.kind} {record.plan.plan_id} was interrupted.",
            location=record.location,
            hint="Complete it with the command that began it, or undo it, first.",
        )
    write_once(store, FORGOTTEN, {"plan_id": record.plan.plan_id})
    return clear(store, SAVED_OBJECTS) + clear(store, STAGED_OBJECTS)


def clear(record: Store, directory: str) -> int:
    """Delete the objects of one directory of a record; returns their number."""
    store = record.child(directory)
    names = sorted(store.find())
    for name in names:
        store.delete(name)
    return len(names)


def note(record: Store, name: str, value: Mapping[str, Any]) -> None:
    """Write down a fact unless it was before: who did it first, and when, is what counts."""
    with suppress(ObjectExistsError):
        record.create(name, json.dumps(value, sort_keys=True).encode())


def write_once(record: Store, name: str, value: Mapping[str, Any]) -> None:
    """Write a JSON file that may be there already. Raises ObjectExistsError when it has another content."""
    data = json.dumps(value, sort_keys=True).encode()
    try:
        record.create(name, data)
    except ObjectExistsError:
        if record.read(name) != data:
            raise
