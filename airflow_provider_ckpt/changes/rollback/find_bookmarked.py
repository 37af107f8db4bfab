"""Finds the batch that a bookmark means, when the checkpoint or a backup still has that very batch."""

from __future__ import annotations

from airflow_provider_ckpt.backup.catalog import survey_backups
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.goal import ToBackup, ToBatch
from airflow_provider_ckpt.changes.rollback.resolve import entry_of
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import BatchNotRestorableError, PlanError
from airflow_provider_ckpt.restart.bookmark import Bookmark, offsets_of, timestamp_ms_of
from airflow_provider_ckpt.storage.store import Store


def find_bookmarked(stores: Stores, bookmark: Bookmark) -> ToBatch | ToBackup:
    """The batch that was the newest committed one when a bookmark was taken, or a backup of it.

    The number of a batch does not tell which batch it is: after a rollback it is planned anew, and after a reset it has
    other offsets. So it has to be planned when the bookmark says, and to end where it says.

    Raises:
        PlanError: No batch was committed then, the bookmark is of another query, or the batch has other offsets now.
        BatchNotRestorableError: Neither the checkpoint nor a backup has the batch any more.
    """
    batch_id = bookmark.batch_id
    if batch_id is None:
        raise PlanError(
            "no batch was committed when the bookmark was taken, so there is none from before the deploy.",
            location=stores.checkpoint.location,
            hint="Nothing was done.",
        )
    view = observe(stores.checkpoint, batch_id=batch_id)
    _require_same_query(view, bookmark)
    if view.latest_committed is not None and view.latest_committed < batch_id:
        raise PlanError(
            f"the newest committed batch is {view.latest_committed}, and the bookmark was taken at batch {batch_id}: "
            "the query was rolled back since.",
            location=view.location,
            batch_id=batch_id,
            hint="Nothing was done. ckpt history shows by whom; ckpt undo takes it back.",
        )
    entry = view.entries.get(layout.offset_entry(batch_id))
    if not isinstance(entry, OffsetSeq):
        return _backup_of(stores, view, bookmark, batch_id)
    if not _is_same(entry, bookmark):
        raise PlanError(
            f"batch {batch_id} is not the one that the bookmark has: it was planned at another time, or ends at other "
            "offsets.",
            location=view.location,
            name=layout.offset_entry(batch_id),
            batch_id=batch_id,
            hint="Nothing was done. Since the bookmark was taken the query was rolled back or its positions were "
            "changed (ckpt history shows by whom), or an earlier version of ckpt took the bookmark. Give the batch "
            "itself (--to-batch).",
        )
    return ToBatch(batch_id)


def _require_same_query(view: CheckpointView, bookmark: Bookmark) -> None:
    if view.query_id != bookmark.query_id:
        raise PlanError(
            f"the bookmark is of query {bookmark.query_id or 'none'}, and the checkpoint of query "
            f"{view.query_id or 'none'}.",
            location=view.location,
            hint="Nothing was done. Give the bookmark of this query.",
        )


def _is_same(entry: OffsetSeq | None, bookmark: Bookmark) -> bool:
    if entry is None or timestamp_ms_of(entry) != bookmark.batch_timestamp_ms:
        return False
    return offsets_of(entry) == dict(bookmark.offsets)


def _backup_of(stores: Stores, view: CheckpointView, bookmark: Bookmark, batch_id: int) -> ToBackup:
    """The newest backup that has the batch with the offsets of the bookmark. Raises BatchNotRestorableError."""
    root: Store | None = stores.backups
    if root is not None:
        for backup in reversed(survey_backups(root).backups):
            same = (backup.batch_id, backup.query_id) == (batch_id, bookmark.query_id)
            if same and _is_same(entry_of(root, backup), bookmark):
                return ToBackup(root.location, backup.backup_id)
    where = "no root of backups was given" if root is None else f"no backup in {root.location} has it"
    raise BatchNotRestorableError(
        f"batch {batch_id}, the newest committed one when the bookmark was taken, cannot be read any more, and "
        f"{where}.",
        location=view.location,
        name=layout.offset_entry(batch_id),
        batch_id=batch_id,
        hint="Nothing was done. Give the root of backups that have it: --backup-root ROOT (backup_root= in a DAG).",
    )
