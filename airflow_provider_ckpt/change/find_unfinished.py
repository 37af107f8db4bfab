"""Finding a change that was interrupted, for the plan of another one that starts from what it left.

Every part of a change leaves a checkpoint from which Spark starts correctly, so the other one is not refused.
"""

from __future__ import annotations

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import Record, history, undoable
from airflow_provider_ckpt.times import time_text


def unfinished_warnings(stores: Stores) -> tuple[str, ...]:
    """What a new plan says when the newest change was interrupted. Raises StoreError for a damaged record."""
    left = undoable(stores.checkpoint, history(stores.checkpoint, stores.undo))
    if not left or left[-1].state != "interrupted":
        return ()
    return (
        f"{_named(left[-1])} was interrupted: a part of its steps may be done. This plan starts from what it has left. "
        "When this plan has been applied, that change cannot be completed any more, and ckpt undo takes it back only "
        "after this one.",
    )


def still_unfinished_warnings(stores: Stores, done: Record) -> tuple[str, ...]:
    """What the plan of an undo says when the change before the one that it takes back was interrupted.

    Args:
        stores: Where the changes were made.
        done: The change that is taken back.

    Raises:
        StoreError: A record of a change is damaged.
    """
    left = undoable(stores.checkpoint, history(stores.checkpoint, stores.undo))
    before = [record for record in left if record.order < done.order]
    if not before or before[-1].state != "interrupted":
        return ()
    return (
        f"{_named(before[-1])} was interrupted: a part of its steps may be done, and this undo does not take them "
        f"back. ckpt undo --undoes {before[-1].plan.plan_id} does so afterwards.",
    )


def _named(record: Record) -> str:
    plan, by = record.plan, f" by {record.by}" if record.by else ""
    at = "" if record.begun_at_ms is None else f" at {time_text(record.begun_at_ms)}"
    return f"The {plan.called} to {plan.aim} ({plan.plan_id}) that was begun{at}{by}"
