"""One row for each batch and source: what both logs say of it. ``ckpt log`` prints these rows, Spark reads them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from airflow_provider_ckpt.checkpoint.progress import SourceAdvance, advance
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError

#: Hexadecimal digits of the digest of the confs.
DIGEST_DIGITS = 16


class LoggedBatch(NamedTuple):
    """One batch as both logs hold it, with the offset entries beside it.

    Args:
        batch_id: Its id.
        planned: True if the offset log lists it.
        committed: True if the commit log lists it.
        committed_at_ms: When the commit entry was written, by the clock of the storage, epoch milliseconds; None where
            the storage does not say, and for a batch that is not committed.
        offsets: Its offset entry; None when there is none, or it is damaged.
        commit: Its commit entry; None when there is none, it is damaged, or it was not asked for.
        previous: The offset entry of the batch before it; for batch 0 where its sources have written that they began.
        following: The offset entry of the batch right after it.
        problems: Why an entry of its own could not be read.
    """

    batch_id: int
    planned: bool = False
    committed: bool = False
    committed_at_ms: int | None = None
    offsets: OffsetSeq | None = None
    commit: CommitMetadata | None = None
    previous: OffsetSeq | None = None
    following: OffsetSeq | None = None
    problems: tuple[CheckpointError, ...] = ()

    @property
    def vanished(self) -> bool:
        """True if a listed entry was gone when it was read: purged, or rolled back."""
        return any(isinstance(problem, CheckpointNotFoundError) for problem in self.problems)


@dataclass(frozen=True, slots=True)
class Origin:
    """The checkpoint that rows belong to.

    Args:
        location: Its URI.
        query_id: Id of the query; None when ``metadata`` is missing or damaged.
        timeline: How often the log was seen to go back before (a rollback, a restore, a new query at the same
            location); None for a reader that has seen the log once.
        declared: Source type by source id, for offset logs that do not name it.
        problem: Why ``metadata`` could not be read.
    """

    location: str
    query_id: str | None = None
    timeline: int | None = None
    declared: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None


class BatchRow(NamedTuple):
    """One batch and one of its sources, as both logs have them. Times are epoch milliseconds.

    Args:
        location: URI of the checkpoint.
        query_id: Id of the query.
        timeline: See :class:`Origin`.
        batch_id: The batch; None when the checkpoint could not be read, and for the reason see ``problem``.
        offset_log_version: Version of its offset entry.
        commit_log_version: Version of its commit entry.
        planned: True if the offset log lists it.
        committed: True if the commit log lists it.
        batch_time_ms: When it was planned, by the clock of the driver.
        committed_at_ms: When it was committed, by the clock of the storage.
        watermark_ms: Watermark that it ran with; None when there is none.
        next_watermark_ms: Watermark of the next batch; None when there is none.
        confs: The once-only confs by key; None without an offset entry, or when it has none (continuous processing).
        confs_digest: Equal for equal confs; None without an offset entry.
        control: The operation that wrote the batch (a repartition, say); None for a batch of the query.
        source: Advance of one source; None for a batch without sources, or without a readable offset entry.
        problem: Why something of the row is missing: a damaged entry, or batches that were purged.
    """

    location: str
    query_id: str | None = None
    timeline: int | None = None
    batch_id: int | None = None
    offset_log_version: int | None = None
    commit_log_version: int | None = None
    planned: bool = False
    committed: bool = False
    batch_time_ms: int | None = None
    committed_at_ms: int | None = None
    watermark_ms: int | None = None
    next_watermark_ms: int | None = None
    confs: Mapping[str, str | None] | None = None
    confs_digest: str | None = None
    control: str | None = None
    source: SourceAdvance | None = None
    problem: str | None = None


def rows_of(batch: LoggedBatch, origin: Origin) -> list[BatchRow]:
    """The rows of one batch: one for each source in the order of the entry, or one for a batch without sources.

    Raises CheckpointError for a declared source type that is unknown, or that an offset has not the shape of.
    """
    return [_row(batch, origin, source) for source in _advances(batch, origin.declared) or (None,)]


def _advances(batch: LoggedBatch, declared: Mapping[str, str]) -> list[SourceAdvance]:
    if batch.offsets is None:
        return []
    later = batch.offsets, batch.following
    return advance(batch.previous, batch.offsets, declared, later, is_first=batch.batch_id == 0)


def _row(batch: LoggedBatch, origin: Origin, source: SourceAdvance | None) -> BatchRow:
    entry, commit = batch.offsets, batch.commit
    metadata = entry.metadata if entry else None
    return BatchRow(
        location=origin.location,
        query_id=origin.query_id,
        timeline=origin.timeline,
        batch_id=batch.batch_id,
        offset_log_version=entry.version if entry else None,
        commit_log_version=commit.version if commit else None,
        planned=batch.planned,
        committed=batch.committed,
        batch_time_ms=metadata.batch_timestamp_ms if metadata else None,
        committed_at_ms=batch.committed_at_ms,
        watermark_ms=(metadata.batch_watermark_ms or None) if metadata else None,  # 0 is what a query without one has
        next_watermark_ms=(commit.next_batch_watermark_ms or None) if commit else None,
        confs=metadata.conf if metadata else None,
        confs_digest=digest_of(metadata.conf) if metadata else None,
        control=metadata.control.operation_type if metadata and metadata.control else None,
        source=source,
        problem="; ".join(map(str, batch.problems)) or origin.problem,
    )


def digest_of(confs: Mapping[str, str | None]) -> str:
    """A text that is equal for equal confs, whatever their order: the beginning of a SHA-256."""
    return _digest(tuple(confs), tuple(confs.values()))


@lru_cache(maxsize=64)  # nearly all batches of a query have the confs of the one before
def _digest(keys: tuple[str, ...], values: tuple[str | None, ...]) -> str:
    pairs = sorted(zip(keys, values, strict=True))
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()[:DIGEST_DIGITS]


#: More lost batches of one checkpoint than these are one row, whatever the numbers in a log say.
MOST_LOST_ROWS = 10_000
#: What the column ``problem`` says of a batch that was gone before it was read.
PURGED, ROLLED_BACK = "purged before it was read", "rolled back before it was read"
DELETED = "deleted with its checkpoint before it was read"


def lost_rows(origin: Origin, first: int, last: int, problem: str) -> Iterator[BatchRow]:
    """A row for each committed batch that was gone before it was read.

    Args:
        origin: The checkpoint.
        first: The first of them (inclusive).
        last: The last of them (inclusive). Of more than MOST_LOST_ROWS the older ones are one row, that of ``first``.
        problem: PURGED, ROLLED_BACK or DELETED.
    """
    shown = max(first, last - MOST_LOST_ROWS + 1)
    if shown > first:
        yield _lost(origin, first, f"{problem}, as was every batch up to {shown - 1}")
    for batch_id in range(shown, last + 1):
        yield _lost(origin, batch_id, problem)


def _lost(origin: Origin, batch_id: int, problem: str) -> BatchRow:
    return BatchRow(
        origin.location, origin.query_id, origin.timeline, batch_id, planned=True, committed=True, problem=problem
    )
