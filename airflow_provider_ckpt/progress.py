"""How far a query has come. Only committed batches count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_offset import KINDS, kind_of_provider
from airflow_provider_ckpt.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class Progress:
    """What one look at a checkpoint showed.

    Args:
        batch_id: The newest committed batch; None before the first commit.
        offsets: Its offset log entry, when it was read.
        planned: The newest planned batch, when the offset log was listed.
        query_id: Id of the query, when it is known.
        commits: When the batches that the commit log holds were committed, by the clock of the storage, epoch
            milliseconds; None where the storage does not say.
        looked_at_ms: When the look was taken, epoch milliseconds.
    """

    batch_id: int | None
    offsets: OffsetSeq | None = None
    planned: int | None = None
    query_id: str | None = None
    commits: Mapping[int, int | None] = field(default_factory=dict)
    looked_at_ms: int = 0

    @property
    def watermark_ms(self) -> int | None:
        """Watermark that the batch ran with, epoch milliseconds; None when it is not known."""
        metadata = self.offsets.metadata if self.offsets else None
        return metadata.batch_watermark_ms if metadata else None

    @property
    def committed_at_ms(self) -> int | None:
        """When the batch was committed, by the clock of the storage, epoch milliseconds."""
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
        return max(0, self.looked_at_ms - self.committed_at_ms)

    @property
    def happened_at_ms(self) -> int:
        """When the batch was planned, by the offset log, else when it was committed, else when it was looked at."""
        metadata = self.offsets.metadata if self.offsets else None
        planned_ms = metadata.batch_timestamp_ms if metadata else 0
        return planned_ms or self.committed_at_ms or self.looked_at_ms


def source_kind(offsets: OffsetSeq, source_id: str, declared: Mapping[str, str]) -> str | None:
    """What kind of source wrote an offset: as the offset log says (version 2), else as declared, else None.

    Raises CheckpointError for a declared kind that is unknown.
    """
    info = offsets.metadata.sources.get(source_id) if offsets.metadata else None
    kind = kind_of_provider(info.provider_name) if info else None
    kind = kind or declared.get(source_id)
    if kind is not None and kind not in KINDS:
        known = ", ".join(sorted(KINDS))
        raise CheckpointError(f"unknown source type {kind!r} for source {source_id}; known are {known}")
    return kind


def or_none(value: int | None) -> str:
    """A batch id as text, or ``none``."""
    return "none" if value is None else str(value)


def advance(start: OffsetSeq | None, end: OffsetSeq, declared: Mapping[str, str]) -> list[dict[str, Any]]:
    """What each source read after one entry (exclusive) up to another (inclusive); JSON-ready, one item a source.

    ``total`` and ``lanes`` count ``unit``; where nothing can be counted ``total`` is None and ``problem`` says why.
    """
    return [_source_advance(start, end, source_id, declared) for source_id, _ in end.offsets]


def _source_advance(
    start: OffsetSeq | None, end: OffsetSeq, source_id: str, declared: Mapping[str, str]
) -> dict[str, Any]:
    before, after = start.offset(source_id) if start else None, end.offset(source_id)
    kind = source_kind(end, source_id, declared)
    item: dict[str, Any] = {
        "source": source_id,
        "type": kind,
        "start": before.json if before else None,
        "end": after.json if after else None,
        "unit": KINDS[kind].unit if kind else None,
        "lanes": {},
        "total": None,
        "problem": None,
    }
    if before == after:
        return {**item, "total": 0}
    if kind is None or after is None:
        return {**item, "problem": "the type of the source is not declared" if after else "the source has no offset"}
    try:
        lanes = after.view(kind).minus(before.view(kind) if before else None)
    except ValueError as error:
        return {**item, "problem": str(error)}
    return {**item, "lanes": lanes, "total": sum(lanes.values())}
