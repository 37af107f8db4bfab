"""A lag in few lines: the partitions that are furthest behind, and how many others there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ckpt.sources.lag import PartitionLag, SourceLag

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.positions import ComingFields, LagSummaryFields

#: So many partitions are named of each source.
MOST_NAMED = 10


def worst_of(source: SourceLag, most: int = MOST_NAMED) -> tuple[PartitionLag, ...]:
    """The partitions that are furthest behind: first those that have lost records, then those with most unread."""
    behind = [part for part in source.partitions if part.unread or part.lost]
    return tuple(sorted(behind, key=lambda part: (-part.lost, -part.unread, part.topic, part.partition))[:most])


def summary_of(source: SourceLag, most: int = MOST_NAMED) -> LagSummaryFields:
    """The lag of a source, JSON-ready and bounded; ``SourceLag.to_dict`` has all of its partitions."""
    worst = worst_of(source, most)
    return {
        "source_id": source.source_id,
        "source_type": source.source_type,
        "unit": source.unit,
        "total": source.total,
        "is_partial": source.is_partial,
        "files": source.files,
        "bytes": source.size,
        "rows": source.rows,
        "age_ms": source.age_ms,
        "expires_ms": source.expires_ms,
        "lost": source.lost,
        "partition_count": len(source.partitions),
        "partitions": [part.to_dict() for part in worst],
        "others": len(source.partitions) - len(worst),
        "others_unread": sum(part.unread for part in source.partitions) - sum(part.unread for part in worst),
        "next_batch": _coming(source),
        "notes": list(source.notes),
    }


def _coming(source: SourceLag) -> ComingFields | None:
    if source.next_batch is None:
        return None
    batch, outlook = source.next_batch.batch, source.next_batch.outlook
    return {
        "offsets": batch.offsets,
        "planned": source.next_batch.planned,
        "waits_ms": batch.waits_ms,
        "batches_at_least": outlook.at_least,
        "batches_at_most": outlook.at_most,
        "stays_unread": outlook.unread,
    }
