"""Finding the change that has written a new checkpoint, or was killed while it did, when it is asked for again."""

from __future__ import annotations

from collections.abc import Callable, Collection

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.kinds import Kind
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.change.record.find_done import find_done
from airflow_provider_ckpt.change.record.journal import Record
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.storage.store import Store


def find_written(target: Store, is_same: Callable[[Plan], bool]) -> Record | None:
    """The newest restore or seed to a location that was begun and does the same.

    A change that has ended counts as long as its checkpoint is there, whatever the query has done since; after the
    location was cleared it does not count.

    Raises StoreError when a record cannot be read.
    """
    for record in reversed(_survey(target)):
        if record.state not in ("undone", "refused") and is_same(record.plan):
            return record if record.state != "applied" or is_in_place(record.plan, target) else None
    return None


def find_winner(target: Store, before: Collection[str]) -> Record | None:
    """The restore or seed that has ended here while another one was on its way, whose checkpoint is there.

    Args:
        target: Where.
        before: What the other one has found or written here. While the file with the query's id is none of it, the one
            that is there cannot be its own, nor that of an earlier restore.

    Raises StoreError when a record cannot be read.
    """
    if layout.METADATA in before:
        return None
    ended = [item for item in _survey(target) if item.state == "applied" and is_in_place(item.plan, target)]
    return ended[-1] if ended else None


def find_own_begun(target: Store, kind: Kind, by: str, asked: str) -> Record | None:
    """The restore or seed that the same task has begun here and that was killed on its way; what it wrote is there.

    Raises StoreError when a record cannot be read.
    """
    if not any(target.ls()):
        return None
    own = [item for item in _survey(target) if (item.plan.kind, item.by, item.asked) == (kind, by, asked)]
    return own[-1] if own and own[-1].state == "planned" else None


def find_own_done(target: Store, kind: Kind, by: str, asked: str) -> Record | None:
    """The restore or seed that the same task has carried out, while its checkpoint is there.

    Raises StoreError when a record cannot be read.
    """
    try:
        done = find_done(Stores(target), kind, by, asked)
    except PlanError:  # no records can be beside a whole bucket
        return None
    return done if done is not None and is_in_place(done.plan, target) else None


def is_in_place(plan: Plan, target: Store) -> bool:
    """True if the query of a plan has its checkpoint at a location: the file with its id is the written one."""
    action = next((action for action in plan.actions if action.name == layout.METADATA), None)
    if action is None or layout.METADATA not in target.ls()[0]:
        return False
    return target.sha256(layout.METADATA)[1] == action.sha256


def record_place(plan: Plan, target: Store) -> Store | None:
    """Where the record of a plan is; nowhere when nothing can be beside the location."""
    try:
        return records_of(target).child(plan.plan_id)
    except CheckpointError:
        return None


def _survey(target: Store) -> tuple[Record, ...]:
    """The changes of a location, of which records that are damaged say nothing here."""
    try:
        return journal.survey(target)[0]
    except PlanError:  # a whole bucket, which nothing can be beside
        return ()
