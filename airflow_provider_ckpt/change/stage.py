"""Staging of a change beside the checkpoint before its first step: the objects that it will remove, and those it adds.

Both are checked there. From then on neither a removal nor the end of the backup that copies come from loses anything,
and the change can be completed or undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import PLACES, Copy, Replace, Taking
from airflow_provider_ckpt.change.plan.facts import Saved, Spot
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.record.saved import saved_fields
from airflow_provider_ckpt.checkpoint.read_unmoved import is_gone_from
from airflow_provider_ckpt.errors import (
    BackupCorruptError,
    CheckpointBusyError,
    CheckpointNotFoundError,
    ObjectNotFoundError,
    PlanError,
    StalePlanError,
    StoreError,
)
from airflow_provider_ckpt.storage.access import Attributes
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.files import SavedObjectFields

Tick = Callable[[], None]
#: Raises CheckpointBusyError when the lock of the run was taken over: the record is then that of another run.
Mine = Callable[[], None]


def save(
    taken: Sequence[Taking], place: Callable[[str], Store], record: Store, tick: Tick, mine: Mine, *, resuming: bool
) -> None:
    """Give every object that will be removed or replaced a second name in the record, and see that it is whole there.

    Args:
        taken: Objects left to be removed or replaced.
        place: The store of a place.
        record: The record of the change.
        tick: Called after each object.
        mine: Called before a copy is deleted.
        resuming: True if an earlier run has saved everything; then what is not whole any more is saved again.

    Raises:
        StoreError: An object could not be saved.
        CheckpointBusyError: Somebody else has removed an object; the copy that there is of it is left alone.
    """
    saved = record.child(journal.SAVED_OBJECTS)
    there = saved.find() if taken else {}
    files: dict[str, SavedObjectFields] = {}
    for action in taken:
        name = f"{action.place}/{action.name}"
        if resuming and _is_whole(there.get(name), action):
            continue
        if name in there:  # of a run that was killed while it saved: begin this one again
            mine()
            _require_in_place(action, place)
            saved.delete(name)
        files[name] = _keep(action, place(action.place), saved, name)
        tick()
    whole = saved.find() if files else {}
    for action in taken:
        name = f"{action.place}/{action.name}"
        if name in files and not _is_whole(whole.get(name), action):
            raise StoreError(
                "the copy of this file, which is made before its removal, differs from the file",
                location=record.location,
                name=action.name,
            )
    if not resuming:
        record.flush()
        journal.write_saved(record, len(taken), files)
        record.flush()


def _keep(action: Taking, store: Store, saved: Store, name: str) -> SavedObjectFields:
    try:
        attributes = store.attributes(action.name)
        copied = store.keep(action.name, saved, name, like=attributes)
    except ObjectNotFoundError as error:
        if not is_gone_from(error, store):
            raise
        raise _gone_meanwhile(action, store) from None
    return saved_fields(*(copied or saved.sha256(name)), attributes if copied else None)


def _is_in_place(action: Taking, place: Callable[[str], Store]) -> bool:
    stored = place(action.place).stat(action.name)
    return stored is not None and stored.size == action.size and action.identity in ("", stored.identity)


def _require_in_place(action: Taking, place: Callable[[str], Store]) -> None:
    if not _is_in_place(action, place):
        raise _gone_meanwhile(action, place(action.place))


def _gone_meanwhile(action: Taking | Copy, store: Store) -> CheckpointBusyError:
    return CheckpointBusyError(
        "a query is running, or another process removed or rewrote this file while ckpt copied it.",
        location=store.location,
        name=action.name,
        hint="This run took no step, and earlier copies are kept. Stop that process, then plan the change again.",
    )


def give_up(taken: Iterable[Taking], place: Callable[[str], Store], record: Store, mine: Mine) -> None:
    """Delete what was saved and staged for a change that took no step. A copy whose original is gone is kept."""
    saved = record.child(journal.SAVED_OBJECTS)
    there = saved.find()
    for action in taken:
        name = f"{action.place}/{action.name}"
        if name in there and _is_in_place(action, place):
            mine()
            saved.delete(name)
    mine()
    journal.clear(record, journal.STAGED_OBJECTS)


def _is_whole(stored: StoredObject | None, action: Taking) -> bool:
    return stored is not None and stored.size == action.size


def saved_objects(record: Store) -> dict[Spot, Saved]:
    """Objects that a change has saved, by their place; those of an older version are read to know their SHA-256."""
    told = journal.saved_files(record)
    saved = record.child(journal.SAVED_OBJECTS)
    found: dict[Spot, Saved] = {}
    for name in saved.find():
        where, _, rest = name.partition("/")
        place = next((known for known in PLACES if known == where), None)
        if place is None:
            continue
        spot: Spot = (place, rest)
        if told is None:
            found[spot] = Saved(*saved.sha256(name))
        elif name in told:
            found[spot] = told[name]
    return found


def saved_texts(record: Store, replaced: Iterable[Replace]) -> dict[Spot, str]:
    """Saved content of objects that a change gave another content; missing ones are left out."""
    saved = record.child(journal.SAVED_OBJECTS)
    found: dict[Spot, str] = {}
    for action in replaced:
        with suppress(CheckpointNotFoundError, UnicodeDecodeError):
            found[action.spot] = saved.read_up_to(f"{action.place}/{action.name}", action.size + 1).decode()
    return found


def verify_saved(copies: Iterable[Copy], record: Store, tick: Tick) -> None:
    """Read what a change has saved and compare. Raises StoreError; nothing was done then."""
    saved = record.child(journal.SAVED_OBJECTS)
    for action in copies:
        saved.require_inside(action.source)
        try:
            found = saved.sha256(action.source)
        except CheckpointNotFoundError:
            found = None
        if found != (action.size, action.sha256):
            problem = "missing" if found is None else "not what was saved"
            raise StoreError(
                f"the change cannot be undone, because a saved file is {problem}.",
                location=saved.location,
                name=action.source,
                hint="Nothing was done. Restore a backup to a new location (ckpt restore).",
            )
        tick()


def stage(
    copies: Sequence[Copy], plan: Plan, stores: Stores, record: Store, tick: Tick, mine: Mine, *, resuming: bool
) -> None:
    """Copy what will come from a backup, or come back, into the record, verified.

    Args:
        copies: Objects left to be put in their place.
        plan: The plan that they are of.
        stores: Where; the backup root is not needed any more when the change is ``resuming``, and so all is staged.
        record: The record of the plan.
        tick: Called after each object.
        mine: Called before a copy is deleted.
        resuming: True if an earlier run has saved and staged everything.

    Raises:
        StalePlanError: It is not there any more: the backup was pruned since the plan was made.
        BackupCorruptError: It is not what was backed up.
    """
    staged = record.child(journal.STAGED_OBJECTS)
    there: Mapping[str, StoredObject] = staged.find() if copies else {}
    for action in copies:
        stores.checkpoint.require_inside(action.name)
    for action in copies:
        if action.name in there:
            if resuming and staged.sha256(action.name) == (action.size, action.sha256):
                continue
            mine()
            staged.delete(action.name)
        if not action.source or plan.rules.moves_own:
            _copy_own(action, stores, record, mine, resuming=resuming)
        elif action.identity:
            _copy_beside(action, stores.place(action.place), staged, mine)
        else:
            _copy_verified(action, plan, stores, staged, mine)
        tick()


def _copy_own(action: Copy, stores: Stores, record: Store, mine: Mine, *, resuming: bool) -> None:
    """Stage what the plan removes and puts back, here or elsewhere: as it is, or as an earlier run has saved it."""
    staged, store, name = record.child(journal.STAGED_OBJECTS), stores.place(action.place), action.source or action.name
    store.require_inside(name)
    saved = record.child(journal.SAVED_OBJECTS), f"{action.place}/{name}"
    if store.stat(name) is None or (resuming and saved[0].stat(saved[1]) is not None):
        store, name = saved
    try:
        found = store.copy(name, staged, action.name, like=store.attributes(name))
    except ObjectNotFoundError as error:
        if is_gone_from(error, stores.place(action.place)):
            raise _gone_meanwhile(action, store) from None
        found = None
    if found != (action.size, action.sha256):
        mine()
        staged.delete(action.name)
        if not resuming:
            raise _gone_meanwhile(action, stores.place(action.place))
        raise StoreError(
            "the file in the backup changed after the plan was made, so it was not copied back.",
            location=store.location,
            name=name,
            hint="No further step was done. Make a new plan, or undo the steps that were done (ckpt undo).",
        )


def _copy_beside(action: Copy, store: Store, staged: Store, mine: Mine) -> None:
    """Stage what comes from another object of the same place, which stays where it is."""
    store.require_inside(action.source)
    try:
        found = store.copy(action.source, staged, action.name, like=_to_be(action, store, action.source))
    except ObjectNotFoundError as error:
        if is_gone_from(error, store):
            raise _gone_meanwhile(action, store) from None
        raise
    if found != (action.size, action.sha256):
        mine()
        staged.delete(action.name)
        raise _gone_meanwhile(action, store)


def _to_be(action: Copy, store: Store, source: str = "") -> Attributes | None:
    """Attributes of an object from elsewhere in its place: as the files beside it, and the time of its origin.

    The object is later moved there as it is, so it gets the attributes before.
    """
    wanted = store.attributes_to_be(action.name)
    origin = store.attributes(source) if source and wanted is not None else None
    return wanted if wanted is None or origin is None else replace(wanted, modified_ns=origin.modified_ns)


def _copy_verified(action: Copy, plan: Plan, stores: Stores, staged: Store, mine: Mine) -> None:
    backups = stores.backups
    if backups is None:
        raise PlanError(f"the plan takes files from {plan.source}, but no backup root was given")
    backups.require_inside(action.source)
    try:
        found = backups.copy(action.source, staged, action.name, like=_to_be(action, stores.place(action.place)))
    except CheckpointNotFoundError:
        raise StalePlanError(
            "the file is missing: the backup was deleted after the plan was made.",
            location=backups.location,
            name=action.source,
            batch_id=plan.batch_id,
            hint="Nothing was removed from the checkpoint. Make a new plan with another backup.",
        ) from None
    if found != (action.size, action.sha256):
        mine()
        staged.delete(action.name)
        raise BackupCorruptError.of(backups.location, action.source, "the object is not what was backed up")
