"""Resolves the target of a rollback to a batch, and finds the backups that hold an older one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.backup.catalog import survey_backups
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.changes.rollback.goal import RollbackTarget, ToBatch, choose, facts_of, require_watermark
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import BatchNotRestorableError, CheckpointFormatError, CheckpointNotFoundError
from airflow_provider_ckpt.storage.store import Store

#: How many backups an error names.
MOST_BACKUPS = 3


@dataclass(slots=True)
class _Entries:
    """Offset log entries of the committed batches, newest first; remembers the oldest that was read."""

    checkpoint: Store
    view: CheckpointView
    oldest: tuple[int, OffsetSeq] | None = None

    def __iter__(self) -> Iterator[tuple[int, OffsetSeq]]:
        for batch_id in sorted(set(self.view.committed) & set(self.view.planned), reverse=True):
            name = layout.offset_entry(batch_id)
            try:
                entry = codec.decode(name, self.checkpoint.read(name))
            except (CheckpointFormatError, CheckpointNotFoundError):
                continue  # damaged, or purged since: nobody can go back to it
            assert isinstance(entry, OffsetSeq)
            self.oldest = batch_id, entry
            yield batch_id, entry


def resolve(checkpoint: Store, target: RollbackTarget) -> int:
    """The committed batch that a target means.

    Raises:
        BatchNotRestorableError: Every batch that is kept is past the target; the error names the oldest.
        PlanError: A watermark is asked for, and the query has none.
    """
    if isinstance(target, ToBatch):
        return target.batch_id
    view = observe(checkpoint)
    require_watermark(target, _watermarks(view))
    entries = _Entries(checkpoint, view)
    in_flight = view.in_flight if view.in_flight is not None and not view.damaged else None
    planned = None if in_flight is None else (in_flight, view.offset_seq(in_flight))
    batch_id = choose(target, entries, planned)
    if batch_id is None:
        kept = entries.oldest
        oldest = (
            f"the oldest is batch {kept[0]}, which {facts_of(kept[1])}" if kept else "none of the entries can be read"
        )
        raise BatchNotRestorableError(
            f"no committed batch in the logs {target.describe()}: {oldest}.", location=checkpoint.location
        )
    return batch_id


def _watermarks(view: CheckpointView) -> Iterator[int]:
    """The watermarks that the newest entries of both logs show."""
    for entry in view.entries.values():
        if isinstance(entry, OffsetSeq) and entry.metadata:
            yield entry.metadata.batch_watermark_ms
        elif isinstance(entry, CommitMetadata):
            yield entry.next_batch_watermark_ms


def backups_hint(root: Store, target: RollbackTarget, query_id: str | None) -> str:
    """The newest backups of a query that its target admits, for people. Raises StoreError."""
    own = [backup for backup in reversed(survey_backups(root).backups) if backup.query_id == query_id]
    held = []
    for backup in own:
        entry = entry_of(root, backup)
        if entry is not None and target.admits(backup.batch_id, entry):
            held.append(f"{backup.backup_id} (batch {backup.batch_id}, which {facts_of(entry)})")
        if len(held) == MOST_BACKUPS:
            break
    if not held:
        return f"None of the {len(own)} backups of this query in {root.location} {target.describe()}."
    return f"These backups have such a batch: {'; '.join(held)}."


def entry_of(root: Store, backup: Manifest) -> OffsetSeq | None:
    """The offset log entry of the batch that a backup was taken at; None when it is damaged or gone."""
    name = layout.offset_entry(backup.batch_id)
    stored_at = next((stored.stored_at for stored in backup.objects if stored.name == name), None)
    if stored_at is None:
        return None
    try:
        entry = codec.decode(name, root.read(stored_at))
    except (CheckpointFormatError, CheckpointNotFoundError):
        return None
    return entry if isinstance(entry, OffsetSeq) else None
