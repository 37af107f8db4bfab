"""How far a query has come. Only committed batches count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from airflow_provider_ckpt.codec.jvm_text import LONG_MAX
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_kinds import KINDS, kind_of_provider
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.codec.typed_offset import PartitionAdvance, TypedOffset
from airflow_provider_ckpt.errors import CheckpointError, CheckpointFormatError
from airflow_provider_ckpt.query.source import parse_source

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import SourceAdvanceFields

#: The rhythm of a query is taken over so many of its newest commits.
RHYTHM_BATCHES = 20


@dataclass(frozen=True, slots=True)
class Progress:
    """Result of one poll of a checkpoint.

    Args:
        batch_id: The newest committed batch; None before the first commit.
        offsets: Its offset log entry, when it was read.
        planned: The newest planned batch, when the offset log was listed.
        query_id: Id of the query, when it is known.
        commits: Commit time of each batch in the commit log, by the clock of the storage, epoch milliseconds; None
            where the storage does not say.
        polled_at_ms: Time at which the poll began, epoch milliseconds.
        earlier: The poll of an older batch, to take the rate from; None until one was read.
    """

    batch_id: int | None
    offsets: OffsetSeq | None = None
    planned: int | None = None
    query_id: str | None = None
    commits: Mapping[int, int | None] = field(default_factory=dict)
    polled_at_ms: int = 0
    earlier: Progress | None = None

    @property
    def watermark_ms(self) -> int | None:
        """Watermark that the batch ran with, epoch milliseconds; None when it is not known."""
        metadata = self.offsets.metadata if self.offsets else None
        return metadata.batch_watermark_ms if metadata else None

    @property
    def committed_at_ms(self) -> int | None:
        """Time at which the batch was committed, by the clock of the storage, epoch milliseconds."""
        return None if self.batch_id is None else self.commits.get(self.batch_id)

    @property
    def quiet_ms(self) -> int:
        """How long ago the batch was committed, milliseconds. Raises CheckpointError when the storage does not say."""
        if self.committed_at_ms is None:
            raise CheckpointError(
                f"the storage does not say when batch {or_none(self.batch_id)} was committed",
                batch_id=self.batch_id,
                hint="Wait for a batch, offsets or a watermark instead.",
            )
        return max(0, self.polled_at_ms - self.committed_at_ms)

    @property
    def gap_ms(self) -> float | None:
        """Between two of the newest commits, milliseconds, on average; None when the commit log does not tell."""
        times = [self.commits[batch] for batch in sorted(self.commits)[-RHYTHM_BATCHES:]]
        known = [at_ms for at_ms in times if at_ms is not None]
        return (known[-1] - known[0]) / (len(known) - 1) if len(known) > 1 else None

    @property
    def happened_at_ms(self) -> int:
        """When the batch was planned, by the offset log, else when it was committed, else when it was polled."""
        metadata = self.offsets.metadata if self.offsets else None
        planned_ms = metadata.batch_timestamp_ms if metadata else 0
        return planned_ms or self.committed_at_ms or self.polled_at_ms


def source_kind(offsets: OffsetSeq, source_id: str, declared: Mapping[str, str]) -> str | None:
    """Source type of an offset: as the offset log says (version 2), else as declared, else None.

    Raises CheckpointError for a declared type that is unknown.
    """
    info = offsets.metadata.sources.get(source_id) if offsets.metadata else None
    kind = kind_of_provider(info.provider_name) if info else None
    if kind is not None or source_id not in declared:
        return kind
    try:
        return parse_source(declared[source_id]).type
    except ValueError as error:
        raise CheckpointError(f"source {source_id}: {error}") from None


def or_none(value: int | None) -> str:
    """A batch id as text, or ``none``."""
    return "none" if value is None else str(value)


class SourceAdvance(NamedTuple):
    """Advance of one source between two entries of the offset log.

    Args:
        source_id: Its position in the query, or its name (offset log version 2).
        source_type: One of KINDS; None when nobody declared it.
        start_offset: Where it began (exclusive), as JSON text; None when that entry is missing.
        end_offset: Where it ended (inclusive), as JSON text; None for a source without an offset.
        unit: The unit, such as ``records``.
        partitions: Advance of each source partition; empty when nothing can be counted, or nothing was read.
        total: Units of all partitions, of at most 64 bits; None when nothing can be counted.
        problem: Why nothing can be counted.
    """

    source_id: str
    source_type: str | None = None
    start_offset: str | None = None
    end_offset: str | None = None
    unit: str | None = None
    partitions: tuple[PartitionAdvance, ...] = ()
    total: int | None = None
    problem: str | None = None

    def to_dict(self) -> SourceAdvanceFields:
        """JSON-ready, as ``ckpt log`` and ``ckpt diff`` print it."""
        return {
            "source_id": self.source_id,
            "source_type": self.source_type,
            "start_offset": self.start_offset,
            "end_offset": self.end_offset,
            "unit": self.unit,
            "partitions": {item.partition: item.advanced for item in self.partitions},
            "total": self.total,
            "problem": self.problem,
        }


def advance(
    start: OffsetSeq | None,
    end: OffsetSeq,
    declared: Mapping[str, str],
    later: tuple[OffsetSeq | None, OffsetSeq | None] = (None, None),
    *,
    is_first: bool = False,
) -> list[SourceAdvance]:
    """Advance of each source after one batch (exclusive) up to another (inclusive), one item a source.

    Args:
        start: The entry of the one batch; None when there is none, or it was purged.
        end: The entry of the other.
        declared: Type by source id.
        later: The entries of the batches right after each, for sources whose entries say where a batch begins.
        is_first: ``end`` is of batch 0, so without ``start`` a source counts from where it begins.
    """
    between = _Between(start, end, later, is_first)
    return [_source_advance(between, source_id, declared) for source_id, _ in end.offsets]


class _Between(NamedTuple):
    """Entries on both sides of what was read."""

    start: OffsetSeq | None
    end: OffsetSeq
    later: tuple[OffsetSeq | None, OffsetSeq | None]
    is_first: bool

    def sides(self, source_id: str, kind: str | None) -> tuple[SourceOffset | None, SourceOffset | None]:
        """The position of a source before and after."""
        begins = kind is not None and KINDS[kind].marks == "begin"
        entries = self.later if begins else (self.start, self.end)
        before, after = (entry.offset(source_id) if entry else None for entry in entries)
        return before, after

    def problem(self, before: SourceOffset | None, after: SourceOffset | None, kind: str | None) -> str | None:
        """Why nothing can be counted; None when it may be tried."""
        if kind is None:
            return "the type of the source is not declared"
        if KINDS[kind].marks == "begin" and None in self.later:
            return "the end of a batch of this source is in the entry of the next batch, which is not planned yet"
        if after is None:
            return "the source has no offset"
        if self.start is None and before is None and not self.is_first:
            return "the offset entry before it is missing"
        return None


def _source_advance(between: _Between, source_id: str, declared: Mapping[str, str]) -> SourceAdvance:
    kind = source_kind(between.end, source_id, declared)
    before, after = between.sides(source_id, kind)
    partitions, total, problem = _counted(between, before, after, kind)
    return SourceAdvance(
        source_id=source_id,
        source_type=kind,
        start_offset=before.json if before else None,
        end_offset=after.json if after else None,
        unit=KINDS[kind].unit if kind else None,
        partitions=partitions,
        total=total,
        problem=problem,
    )


def _counted(
    between: _Between, before: SourceOffset | None, after: SourceOffset | None, kind: str | None
) -> tuple[tuple[PartitionAdvance, ...], int | None, str | None]:
    """Advance of each partition and their total, or the reason why they cannot be counted."""
    is_same = before is not None and after is not None and before.json == after.json
    problem = None if is_same else between.problem(before, after, kind)
    if kind is None or after is None or problem:
        return (), 0 if is_same else None, problem
    try:
        if is_same:
            _typed(after.json, kind)  # an offset of another type than the declared one is not counted as that
            return (), 0, None
        partitions = _typed(after.json, kind).advanced_since(_typed(before.json, kind) if before else None)
    except (ValueError, CheckpointFormatError) as error:
        return (), None, str(error)
    counts = [part.advanced for part in partitions]
    total = sum(counts)
    if max(total, -total, *counts) > LONG_MAX or min(counts, default=0) < -LONG_MAX:
        return (), None, "the number does not fit into 64 bits"
    return partitions, total, None


@lru_cache(maxsize=8)  # where one batch ends, the next begins
def _typed(text: str, kind: str) -> TypedOffset:
    return SourceOffset(text).view(kind)
