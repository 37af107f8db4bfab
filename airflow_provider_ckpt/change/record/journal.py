"""The records of changes: what was meant, by whom, what was removed, what was done; beside the checkpoint, not inside.

``<parent>/_ckpt_undo/<name>/<plan id>/`` holds ``plan.json`` and ``begun.json`` (the intent and who had it, written
first), ``staged/`` (what comes from a backup, verified; until it is in its place), ``saved/`` (what is about to be
removed), ``saved.json`` (all of it is saved, with sizes and hashes: from here on the change can be completed or
undone), ``refused.json`` (a query had started by then, and no step was done), ``receipt.json`` (done),
``undone.json``, and ``forgotten.json`` (what was saved is given up).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from airflow_provider_ckpt.change.plan.actions import Create
from airflow_provider_ckpt.change.plan.facts import Saved
from airflow_provider_ckpt.change.plan.plan import Plan, plan_from_json
from airflow_provider_ckpt.change.record.read_note import Note, damaged, parsed, read_bytes
from airflow_provider_ckpt.change.record.saved import saved_from
from airflow_provider_ckpt.checkpoint.find_records import _with_digest, records_of
from airflow_provider_ckpt.checkpoint.own_files import PLAN, UNDO_DIRECTORY
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import (
    CheckpointNotFoundError,
    ObjectExistsError,
    PlanError,
    StoreError,
    StoreUnavailableError,
)
from airflow_provider_ckpt.storage.remove_if import is_aside
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.limits import RECORD_BYTES, size_text

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.changes import RecordFields
    from airflow_provider_ckpt.documents.files import (
        BegunDocument,
        DoneDocument,
        RefusedDocument,
        SavedDocument,
        SavedObjectFields,
        UndoneDocument,
    )

BEGUN, SAVED, RECEIPT = "begun.json", "saved.json", "receipt.json"
UNDONE, FORGOTTEN, REFUSED = "undone.json", "forgotten.json", "refused.json"
SAVED_OBJECTS, STAGED_OBJECTS = "saved", "staged"

State = Literal["planned", "refused", "interrupted", "applied", "undone"]


@dataclass(frozen=True, slots=True)
class Record:
    """A change that was made to a checkpoint, or begun.

    Args:
        plan: The plan.
        state: ``planned`` (nothing removed yet), ``refused`` (nothing removed, because a query was running),
            ``interrupted`` (some of it removed), ``applied`` or ``undone``.
        location: Location of the record.
        by: Who began it: a task of a DAG run, or user and host; empty when nobody said.
        begun_at_ms: When, epoch milliseconds; None when the record does not say.
        done_at_ms: When it was completed, or None.
        from_batch: The newest committed batch before it, or None.
        forgotten: True if what was saved for an undo has been given up.
        approved_by: Who approved it; empty when nobody was asked.
        accepted_sink: The effects on a sink that were accepted, by who approved it or else by who began it.
        number: Its place in the order in which changes began, from 1; 0 for a record of an older version.
        asked: The request of a task, by which its second run is recognised; empty when nobody said.
    """

    plan: Plan
    state: State
    location: str
    by: str = ""
    begun_at_ms: int | None = None
    done_at_ms: int | None = None
    from_batch: int | None = None
    forgotten: bool = False
    approved_by: str = ""
    accepted_sink: tuple[str, ...] = ()
    number: int = 0
    asked: str = ""

    @property
    def order(self) -> tuple[int, int]:
        """Order of the begin of changes. Clocks of machines differ, so they count only where no numbers were given."""
        return self.number, self.begun_at_ms or self.plan.planned_at_ms

    def to_dict(self) -> RecordFields:
        """JSON-ready, without the steps of the plan."""
        return {
            "plan_id": self.plan.plan_id,
            "kind": self.plan.kind,
            "from_batch": self.from_batch,
            "to_batch": self.plan.batch_id,
            "state": self.state,
            "by": self.by,
            "approved_by": self.approved_by,
            "accepted_sink": list(self.accepted_sink),
            "planned_at_ms": self.plan.planned_at_ms,
            "begun_at_ms": self.begun_at_ms,
            "done_at_ms": self.done_at_ms,
            "undoes": self.plan.undoes,
            "forgotten": self.forgotten,
            "record": self.location,
            "location": self.plan.location,
        }


def _places(checkpoint: Store, undo: Store | None) -> list[Store]:
    """Where records may be: those of a link were once kept under its own name."""
    place = records_of(checkpoint, undo)
    if not checkpoint.is_local or checkpoint.root == checkpoint.real_root:
        return [place]
    parent, _, name = checkpoint.root.rpartition("/")
    own = undo.child(_with_digest(name, checkpoint.location)) if undo else checkpoint.at(parent).child(UNDO_DIRECTORY)
    return [place, own if undo else own.child(name)]


def record_of(checkpoint: Store, plan_id: str, undo: Store | None = None) -> Store:
    """Where the record of one plan is, or will be."""
    places = [place.child(plan_id) for place in _places(checkpoint, undo)]
    return next((place for place in places[1:] if PLAN in place.ls()[0]), places[0])


def history(checkpoint: Store, undo: Store | None = None) -> tuple[Record, ...]:
    """The changes made to a checkpoint, oldest first. Raises StoreError for a record that is damaged."""
    found, unreadable = survey(checkpoint, undo)
    for error in unreadable.values():  # an older change would pass for the newest
        raise error
    return found


def newest_acted(checkpoint: Store, undo: Store | None = None) -> Record | None:
    """The newest change that has taken a step, whatever became of it. Raises StoreError for a record that is damaged.

    An undone change keeps its place, so after an undo that is the record of the undo itself.
    """
    acted = [record for record in history(checkpoint, undo) if record.state not in ("planned", "refused")]
    return acted[-1] if acted else None


def survey(
    checkpoint: Store, undo: Store | None = None, *, most: int | None = None, most_bytes: int = RECORD_BYTES
) -> tuple[tuple[Record, ...], dict[str, StoreError]]:
    """The changes made to a checkpoint, oldest first, and what is wrong with records that are damaged, by plan id.

    ``most`` is how many records are read, for who has no time for all; a plan of more than ``most_bytes`` is damage.
    """
    found: list[Record] = []
    unreadable: dict[str, StoreError] = {}
    for root in _places(checkpoint, undo):
        for directory in root.ls()[1][:most]:
            store = root.child(directory)
            files, inside = store.ls()
            try:
                if PLAN in files:
                    found.append(read_record(store, files, most_bytes))
                elif SAVED in files or {PLAN, SAVED_OBJECTS} & {*inside}:
                    raise damaged(store, PLAN, "is missing")
            except StoreUnavailableError:
                raise
            except StoreError as error:
                unreadable[directory] = error
    return tuple(sorted(found, key=lambda record: record.order)), unreadable


def find_newest(checkpoint: Store, undo: Store | None = None) -> Record | None:
    """The change that was begun last, by the clock of the storage, of which alone the record is read.

    Raises StoreError: the record is damaged, or the storage does not tell when a file was written.
    """
    newest: tuple[int, Store, Mapping[str, StoredObject]] | None = None
    for root in _places(checkpoint, undo):
        for directory in root.ls()[1]:
            store = root.child(directory)
            files = store.ls()[0]
            if PLAN not in files:
                continue
            began_ms = files.get(BEGUN, files[PLAN]).modified_ms
            if began_ms is None:
                raise StoreError("the storage does not tell which change is the newest", location=root.location)
            if newest is None or began_ms > newest[0]:
                newest = (began_ms, store, files)
    return None if newest is None else read_record(newest[1], newest[2])


def next_number(checkpoint: Store, undo: Store | None = None) -> int:
    """The number of a change that begins now, under the lock: one more than that of any before it."""
    return 1 + max((record.number for record in survey(checkpoint, undo)[0]), default=0)


def read_record(store: Store, files: Mapping[str, StoredObject], most_bytes: int = RECORD_BYTES) -> Record:
    """The record in a directory that holds these files. Raises StoreError when it is damaged."""
    data = read_bytes(store, PLAN, most_bytes)
    if hashlib.sha256(data).hexdigest()[:16] != store.base_name:  # the id of a plan is a digest of its bytes
        raise damaged(store, PLAN, "is not the plan that was recorded")
    try:
        plan = plan_from_json(data)
    except ValueError:
        raise damaged(store, PLAN, "is not valid") from None
    except PlanError as error:
        raise damaged(store, PLAN, f"has a version that this release of ckpt does not read ({error.message})") from None
    begun = Note(store, BEGUN, files)
    return Record(
        plan=plan,
        state=_state(files),
        location=store.location,
        by=begun.text("by"),
        begun_at_ms=begun.number("at_ms"),
        done_at_ms=Note(store, RECEIPT, files).number("at_ms"),
        from_batch=begun.number("from_batch"),
        forgotten=FORGOTTEN in files,
        approved_by=begun.text("approved_by"),
        accepted_sink=begun.texts("accepted_sink"),
        number=begun.number("number") or 0,
        asked=begun.text("asked"),
    )


def may_have_taken_steps(files: Mapping[str, StoredObject]) -> bool:
    """True if a change may have taken steps: everything was saved, and the second reading found no writer."""
    return SAVED in files and REFUSED not in files


def _state(files: Mapping[str, StoredObject]) -> State:
    if UNDONE in files:
        return "undone"
    if RECEIPT in files:
        return "applied"
    if may_have_taken_steps(files):
        return "interrupted"
    return "refused" if REFUSED in files else "planned"


def saved_files(record: Store) -> dict[str, Saved] | None:
    """Files that a change has saved, by name below ``saved/``.

    Returns:
        None when an older version saved it, which did not write that down.

    Raises:
        StoreError: The file is not what was written.
    """
    files = parsed(record, SAVED, read_bytes(record, SAVED)).get("files")
    try:
        return None if files is None else {str(name): saved_from(fields) for name, fields in files.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise damaged(record, SAVED, "does not have a valid list of saved files") from None


def begin(
    record: Store,
    plan: Plan,
    *,
    by: str,
    at_ms: int,
    from_batch: int | None,
    number: int,
    approved_by: str = "",
    accepted: Collection[str] = (),
    asked: str = "",
) -> None:
    """Write down what is meant and who began it. A plan that was refused before begins anew, by who begins it now.

    ``number`` is that of :func:`next_number`.
    """
    files, _ = record.ls()
    write_plan(record, plan)
    begun: BegunDocument = {
        "format_version": FORMAT_VERSION,
        "by": by,
        "at_ms": at_ms,
        "from_batch": from_batch,
        "number": number,
        "approved_by": approved_by,
        "accepted_sink": list(accepted),
        "asked": asked,
    }
    if REFUSED not in files:
        note(record, BEGUN, begun)
    else:
        record.write(BEGUN, json.dumps(begun).encode())
        for name in (SAVED, REFUSED):  # in this order: killed in between, it still counts as refused
            record.delete(name)


def refuse(record: Store, why: str, at_ms: int) -> None:
    """Write down that no step was done; what was saved counts no more."""
    refused: RefusedDocument = {"format_version": FORMAT_VERSION, "why": why, "at_ms": at_ms}
    note(record, REFUSED, refused)
    record.delete(SAVED)


def find_record(checkpoint: Store, plan_id: str, undo: Store | None = None) -> Record:
    """The record of one plan. Raises PlanError when there is none."""
    found = {record.plan.plan_id: record for record in history(checkpoint, undo)}
    if plan_id not in found:
        known = ", ".join(found) or "none"
        raise PlanError(
            f"this checkpoint has no record of a plan {plan_id!r}. The recorded plans are: {known}.",
            location=checkpoint.location,
        )
    return found[plan_id]


def last_change(checkpoint: Store, undo: Store | None = None) -> Record:
    """The newest change that is not undone yet. Raises PlanError when there is none that can be."""
    changes = undoable(checkpoint, history(checkpoint, undo))
    if not changes:
        raise PlanError(
            "this checkpoint has no change that can be undone.",
            location=checkpoint.location,
            hint="ckpt can undo only its own changes, each one once. If their records are in another directory, give "
            "it: --undo-to ROOT (undo_root= in a DAG).",
        )
    if changes[-1].forgotten:
        raise PlanError(
            f"the {changes[-1].plan.called} {changes[-1].plan.plan_id} cannot be undone, nor can any change before "
            "it, because the files that it removed were deleted for good (ckpt history "
            "--forget).",
            location=checkpoint.location,
            hint="Restore a backup to a new location: ckpt restore ROOT ID --to NEW_LOCATION.",
        )
    return changes[-1]


def undoable(checkpoint: Store, records: Iterable[Record]) -> list[Record]:
    """The changes among these that can be undone and are not undone yet, in the same order."""
    return [
        record
        for record in records
        if record.plan.rules.can_be_undone
        and record.state in ("applied", "interrupted")
        and not _never_came(checkpoint, record)
    ]


def _never_came(checkpoint: Store, record: Record) -> bool:
    """True if a fence was interrupted before its entry came: an earlier one may close the checkpoint."""
    created = next((action for action in record.plan.actions if isinstance(action, Create)), None)
    if record.state != "interrupted" or not record.plan.rules.is_passed or created is None:
        return False
    with suppress(CheckpointNotFoundError):
        return checkpoint.read_up_to(created.name, created.size + 1) != created.data.encode()
    # Killed while it was removed, it is aside on a disk: an undo ends that.
    return not any(is_aside(name, created.name) for name in checkpoint.names(layout.OFFSETS))


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
        record.create(name, json.dumps(value).encode())


def complete(record: Store, plan_id: str, *, by: str, at_ms: int) -> None:
    """Write down that a change is complete."""
    done: DoneDocument = {"format_version": FORMAT_VERSION, "plan_id": plan_id, "by": by, "at_ms": at_ms}
    note(record, RECEIPT, done)


def take_back(record: Store, undo_id: str, *, by: str, at_ms: int) -> None:
    """Write down that a change was taken back by the plan of an undo."""
    undone: UndoneDocument = {"format_version": FORMAT_VERSION, "undone_by": undo_id, "by": by, "at_ms": at_ms}
    note(record, UNDONE, undone)


def write_plan(record: Store, plan: Plan) -> None:
    """Write the bytes that the id of a plan is a digest of. Raises ObjectExistsError when others are there."""
    write_once(record, PLAN, json.dumps(plan.to_dict(), sort_keys=True).encode())


def write_saved(record: Store, objects: int, files: Mapping[str, SavedObjectFields]) -> None:
    """Write down that all is saved. Raises ObjectExistsError when something else was saved."""
    saved: SavedDocument = {"format_version": FORMAT_VERSION, "objects": objects, "files": dict(files)}
    write_once(record, SAVED, json.dumps(saved).encode())


def write_once(record: Store, name: str, data: bytes) -> None:
    """Write a JSON file that may be there already. Raises ObjectExistsError when it has another content."""
    if len(data) > RECORD_BYTES:  # nobody could read it back
        raise PlanError(
            f"the record {name} of this change would be larger than {size_text(RECORD_BYTES)}.",
            location=record.location,
            hint="Nothing was done. Make a smaller change, such as a rollback of fewer batches.",
        )
    try:
        record.create(name, data)
    except ObjectExistsError:
        if record.read(name) != data:
            raise
