"""Finding a change that was carried out already, when it is asked for again."""

from __future__ import annotations

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.record.journal import Record
from airflow_provider_ckpt.change.record.receipt import Receipt


def find_done(stores: Stores, kind: Kind, by: str, asked: str) -> Record | None:
    """The change that the same task has carried out, when it is tried once more or was cleared.

    A change that was undone since is none: whoever clears its task wants it again. So is an undo after which another
    task of the same DAG run has changed the checkpoint: that run is being repeated.

    Args:
        stores: The checkpoint and the other places of the change.
        kind: The kind of the request.
        by: Who asks, as the record of the change says it; empty for nobody, whose changes are never known again.
        asked: The request in particular, as :func:`~airflow_provider_ckpt.change.apply.apply` got it.

    Raises:
        StoreError: A record is damaged.
    """
    records = journal.history(stores.checkpoint, stores.undo)
    own = [item for item in records if by and asked and (item.plan.kind, item.by, item.asked) == (kind, by, asked)]
    if not own or own[-1].state != "applied":
        return None
    done = own[-1]
    if kind == "undo" and not (_is_marked(done, records) and not _is_repeated(done, records)):
        return None
    return done


def find_applied(plan: Plan, stores: Stores) -> Record | None:
    """The record of a plan that was carried out and is not undone; None for any other plan.

    Raises StoreError when its record is damaged.
    """
    record = stores.record(plan.plan_id)
    files, _ = record.ls()
    if journal.RECEIPT not in files or journal.UNDONE in files:
        return None
    return journal.read_record(record, files)


def find_undo_of(plan_id: str, stores: Stores) -> Record | None:
    """The undo that has taken a change back, when that is so. Raises StoreError when a record is damaged."""
    records = journal.history(stores.checkpoint, stores.undo)
    undos = [item for item in records if item.plan.undoes == plan_id and item.state == "applied"]
    return undos[-1] if undos and _is_marked(undos[-1], records) else None


def find_undo_before(stores: Stores) -> Record | None:
    """The undo that was the last change of a checkpoint; None when something else was.

    Raises StoreError when a record is damaged.
    """
    newest = journal.newest_acted(stores.checkpoint, stores.undo)
    return newest if newest and (newest.plan.kind, newest.state) == ("undo", "applied") else None


def receipt_of(done: Record) -> Receipt:
    """Receipt for somebody who asks for a change again: nothing was done now."""
    return Receipt.of(done.plan, 0, done.location, done.begun_at_ms or 0, done.done_at_ms or 0)


def _is_marked(undo: Record, records: tuple[Record, ...]) -> bool:
    """True if the change that an undo took back is marked as undone; an undo killed right before that must be
    completed.
    """
    return any(item.plan.plan_id == undo.plan.undoes and item.state == "undone" for item in records)


def _is_repeated(undo: Record, records: tuple[Record, ...]) -> bool:
    """True if another task of the DAG run of an undo has made a change after it."""
    run = f"{undo.by.rpartition('/')[0]}/"
    later = [item for item in records if item.order > undo.order and item.state in ("interrupted", "applied")]
    return any(item.by.startswith(run) for item in later)
