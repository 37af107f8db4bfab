"""Giving up what a change has saved for its undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ckpt.change.lock import locked
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.files import ForgottenDocument


def find_forgettable(checkpoint: Store, plan_id: str, undo: Store | None = None) -> journal.Record:
    """The record of one plan, when nothing that is half done needs what it saved.

    Raises:
        PlanError: There is none; or the change was interrupted, or its undo was, and needs what it saved.
    """
    record = journal.find_record(checkpoint, plan_id, undo)
    for other in journal.history(checkpoint, undo):
        if other.state == "interrupted" and plan_id in (other.plan.plan_id, other.plan.undoes):
            raise PlanError(
                f"the files that the {record.plan.called} {plan_id} has saved are still needed, because the "
                f"{other.plan.called} {other.plan.plan_id} was interrupted.",
                location=record.location,
                hint=f"Nothing was deleted. Complete the {other.plan.called} first: run its command again.",
            )
    return record


def forget(plan_id: str, stores: Stores, *, by: str = "") -> int:
    """Delete what a change has saved; it cannot be undone afterwards, nor can anything before it. The record stays.

    Returns:
        The number of objects deleted.

    Raises:
        PlanError: There is no such change; or it was interrupted, or its undo was, and needs what it saved.
        CheckpointBusyError: Another operator is at work.
    """
    with locked(stores.checkpoint, plan_id, by, undo=stores.undo) as lock:
        find_forgettable(stores.checkpoint, plan_id, stores.undo)
        lock.require_mine()
        record = stores.record(plan_id)
        forgotten: ForgottenDocument = {"format_version": FORMAT_VERSION, "plan_id": plan_id}
        journal.note(record, journal.FORGOTTEN, forgotten)
        return journal.clear(record, journal.SAVED_OBJECTS) + journal.clear(record, journal.STAGED_OBJECTS)
