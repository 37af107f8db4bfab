"""Lags for people: a row for each source, and one for each partition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from airflow_provider_ckpt.report.table import Table, counted, size
from airflow_provider_ckpt.sources.lag import PartitionLag, SourceLag
from airflow_provider_ckpt.times import duration_text

LAG_COLUMNS = ("source", "type", "unread", "files", "rows", "bytes", "oldest", "next batch")


def lag_row(source: SourceLag) -> tuple[Any, ...]:
    """The cells of LAG_COLUMNS."""
    return (
        source.source_id,
        source.source_type,
        unread_text(source),
        source.files,
        source.rows,
        None if source.size is None else size(source.size),
        _age(source.age_ms),
        None if source.next_batch is None else source.next_batch.text,
    )


def partitions_table(title: str, partitions: Iterable[PartitionLag]) -> Table:
    """Partitions of Kafka, a row each."""
    rows = tuple(
        (
            f"{part.topic}-{part.partition}",
            part.position,
            part.end,
            part.unread,
            part.lost,
            _age(part.age_ms),
            _age(part.expires_ms),
        )
        for part in partitions
    )
    return Table(title, ("partition", "position", "end", "unread", "lost", "oldest", "expires in"), rows)


def unread_text(source: SourceLag) -> str | None:
    """How much is unread, such as ``at most 5 offsets``; None when it cannot be counted."""
    if source.total is None or source.unit is None:
        return None
    return f"{'at most ' if source.unit == 'offsets' else ''}{counted(source.total, source.unit.removesuffix('s'))}"


def how_far(source: SourceLag) -> str:
    """Lag of a source in words, as far as it is known."""
    if source.source_type is None:
        return "it was not declared"
    if not source.is_known:
        return "where the query is in it cannot be read"
    if source.lost:
        return f"{source.lost:,} unread {source.unit} are gone"
    unread = f"{'at least ' if source.is_partial else ''}{source.total or 0:,} {source.unit} are unread"
    if source.age_ms is not None:
        return f"{unread}, the oldest {duration_text(source.age_ms)} old"
    return f"{unread}, of an age that is not known" if source.total else unread


def _age(age_ms: int | None) -> str | None:
    return None if age_ms is None else duration_text(age_ms)
