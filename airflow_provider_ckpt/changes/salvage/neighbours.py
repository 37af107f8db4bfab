"""Checks that a whole file can be that of its batch, by the entries beside it.

A temporary file has the name of its batch from whoever has put it there. Spark records the time of each batch,
carries the watermark from a commit to the next entry, and puts the number of an entry into each line of a file source's
log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import Encodable, layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq, OffsetSeqMetadata
from airflow_provider_ckpt.codec.source_log import FileSourceLog
from airflow_provider_ckpt.codec.state_metadata import OperatorStateMetadata
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Storages tell times in whole seconds or finer.
_GRAIN_MS = 1_000


def problem_beside(name: str, entry: Encodable, whole: Mapping[str, Encodable]) -> str | None:
    """Why an entry cannot be that of its name, in words that follow the file's; None when nothing says so.

    Args:
        name: The name.
        entry: Content of the file.
        whole: The entries of the checkpoint that are whole, by name.
    """
    place = layout.parse(name)
    if isinstance(place, layout.SourceLogEntry) and isinstance(entry, FileSourceLog):
        return _of_source_log(place, entry)
    if isinstance(place, layout.OperatorMetadataFile) and isinstance(entry, OperatorStateMetadata):
        return None if entry.operator_id == place.operator_id else f"is of operator {entry.operator_id}"
    if not isinstance(place, layout.LogEntry):
        return None
    if isinstance(entry, CommitMetadata):
        return _of_commit(place.batch_id, entry, whole)
    if not isinstance(entry, OffsetSeq):
        return None
    same = next((other for other, own in _plans(whole) if other != place.batch_id and own == entry), None)
    if same is not None:
        return f"has the content of {layout.offset_entry(same)}"
    return None if entry.metadata is None else _of_plan(place.batch_id, entry.metadata, whole)


def _plans(whole: Mapping[str, Encodable]) -> Iterator[tuple[int, OffsetSeq]]:
    for name, entry in whole.items():
        place = layout.parse(name)
        if isinstance(entry, OffsetSeq) and isinstance(place, layout.LogEntry):
            yield place.batch_id, entry


def _of_plan(batch_id: int, own: OffsetSeqMetadata, whole: Mapping[str, Encodable]) -> str | None:
    began = {batch: plan.metadata for batch, plan in _plans(whole) if plan.metadata is not None}
    before = max((batch for batch in began if batch < batch_id), default=None)
    after = min((batch for batch in began if batch > batch_id), default=None)
    if before is not None and not _is_later(own, began[before]):
        return f"was not planned after {layout.offset_entry(before)}, as their times say"
    if after is not None and not _is_later(began[after], own):
        return f"was not planned before {layout.offset_entry(after)}, as their times say"
    commit = whole.get(layout.commit_entry(batch_id - 1))
    if isinstance(commit, CommitMetadata) and commit.next_batch_watermark_ms != own.batch_watermark_ms:
        return f"does not have the watermark that {layout.commit_entry(batch_id - 1)} says"
    return None


def _is_later(later: OffsetSeqMetadata, earlier: OffsetSeqMetadata) -> bool:
    """True if the times of two entries allow their order; a fence takes the time of the batch before it."""
    then, now = earlier.batch_timestamp_ms, later.batch_timestamp_ms
    return now > then or now <= 0 or then <= 0 or (later.fence and now == then)


def _of_commit(batch_id: int, own: CommitMetadata, whole: Mapping[str, Encodable]) -> str | None:
    plan, following = (whole.get(layout.offset_entry(batch)) for batch in (batch_id, batch_id + 1))
    before, after = (_watermark_ms(entry) for entry in (plan, following))
    if before is not None and own.next_batch_watermark_ms < before:
        return f"has an earlier watermark than {layout.offset_entry(batch_id)}"
    if after is not None and own.next_batch_watermark_ms != after:
        return f"does not have the watermark of {layout.offset_entry(batch_id + 1)}"
    return None


def _watermark_ms(entry: Encodable | None) -> int | None:
    return entry.metadata.batch_watermark_ms if isinstance(entry, OffsetSeq) and entry.metadata is not None else None


def _of_source_log(place: layout.SourceLogEntry, own: FileSourceLog) -> str | None:
    ids = {line.batch_id for line in own.entries}
    if (max(ids) > place.entry_id) if place.compact and ids else (ids - {place.entry_id}):
        return "has lines of another entry"
    return None


# --- times ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WriteTimes:
    """Times at which the entries of a checkpoint were written, as far as they can be relied on.

    Args:
        commits: When the commit of each batch was written, epoch milliseconds; none where the files were copied.
    """

    commits: Mapping[int, int]

    def is_after_commit(self, batch_id: int, stored: StoredObject) -> bool:
        """True if a file of a batch was written after its commit, which Spark writes last."""
        at_ms, commit_ms = stored.modified_ms, self.commits.get(batch_id)
        return at_ms is not None and commit_ms is not None and at_ms >= commit_ms + _GRAIN_MS


def twins(name: str, size: int, objects: Iterable[StoredObject]) -> Iterator[str]:
    """State files that a file of a state may be a copy of: of another version, or of another partition.

    Args:
        name: The name that it would have.
        size: Its bytes.
        objects: Everything that is there.
    """
    place = layout.parse(name)
    for stored in objects:
        if stored.size == size and stored.name != name and isinstance(place, layout.StateFile):
            other = layout.parse(stored.name)
            if isinstance(other, layout.StateFile) and _kind_of(other) == _kind_of(place):
                yield stored.name


def _kind_of(file: layout.StateFile) -> tuple[str, int, str]:
    return file.kind, file.store_id.operator_id, file.store_id.store


def write_times(view: CheckpointView, whole: Mapping[str, Encodable]) -> WriteTimes:
    """When commits were written. A copy has times of its own, which do not lie between the times in the entries.

    Args:
        view: The checkpoint.
        whole: Its entries that are whole, by name.
    """
    began = {
        batch: plan.metadata.batch_timestamp_ms
        for batch, plan in _plans(whole)
        if plan.metadata is not None and plan.metadata.batch_timestamp_ms > 0 and not plan.metadata.fence
    }
    written = {
        batch: stored.modified_ms
        for batch in began
        if (stored := view.objects.get(layout.commit_entry(batch))) is not None and stored.modified_ms is not None
    }
    held = [
        began[batch] - _GRAIN_MS < at_ms < began[batch + 1] + _GRAIN_MS
        for batch, at_ms in written.items()
        if batch + 1 in began
    ]
    return WriteTimes(written if held and all(held) else {})
