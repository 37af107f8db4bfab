"""The records of changes: what was meant, what was removed, what was done; beside the checkpoint, never inside.

``<parent>/_ckpt_undo/<name>/<plan id>/`` holds ``plan.json`` (the intent, written first), ``saved/`` (what is about to
be removed), ``saved.json`` (all of it is saved: from here on the change can be completed or undone), ``receipt.json``
(done) and ``undone.json``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from airflow_provider_ckpt.errors import ObjectExistsError, PlanError
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.plans import Plan, plan_from_dict
from airflow_provider_ckpt.store import Store

UNDO_DIRECTORY = "_ckpt_undo"
PLAN, SAVED, RECEIPT, UNDONE = "plan.json", "saved.json", "receipt.json", "undone.json"

State = Literal["planned", "interrupted", "applied", "undone"]


@dataclass(frozen=True, slots=True)
class Record:
    """A change that was made to a checkpoint, or begun.

    ``state`` is ``planned`` (nothing removed yet), ``interrupted`` (some of it removed), ``applied`` or ``undone``.
    """

    plan: Plan
    state: State
    location: str


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
            plan = plan_from_dict(json.loads(store.read(PLAN)))
            found.append(Record(plan, _state(files), store.location))
    return tuple(sorted(found, key=lambda record: record.plan.planned_at_ms))


def _state(files: Mapping[str, StoredObject]) -> State:
    if UNDONE in files:
        return "undone"
    if RECEIPT in files:
        return "applied"
    return "interrupted" if SAVED in files else "planned"


def last_change(checkpoint: Store, undo: Store | None = None) -> Record:
    """The newest change that can be undone. Raises PlanError when there is none."""
    changes = [
        record
        for record in history(checkpoint, undo)
        if record.plan.kind != "undo" and record.state in ("applied", "interrupted")
    ]
    if not changes:
        raise PlanError(
            "there is nothing to undo.",
            location=checkpoint.location,
            hint="Only changes that this tool made, and that were not undone yet, can be undone.",
        )
    return changes[-1]


def write_once(record: Store, name: str, value: Mapping[str, Any]) -> None:
    """Write a JSON file that may be there already. Raises ObjectExistsError when it has another content."""
    data = json.dumps(value, sort_keys=True).encode()
    try:
        record.create(name, data)
    except ObjectExistsError:
        if record.read(name) != data:
            raise
