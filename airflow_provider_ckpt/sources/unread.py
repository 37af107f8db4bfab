"""What a source holds that no committed batch has read, and how long it keeps that."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unread:
    """What is left to be read of a table or a directory.

    Args:
        unit: What is counted: ``versions`` of a Delta table, ``snapshots`` of an Iceberg table, ``files``.
        count: How many of them hold data that was not read.
        files: How many data files they have added; one of which a part was read counts.
        size: Bytes of these files.
        oldest_ms: When the first of it was written, by the clock of its writer or of the storage, epoch milliseconds;
            None when there is nothing, or it does not say.
        note: What these numbers leave out, as a sentence.
        is_partial: Whether the query has something to read that is not counted, so that a count of 0 is not the end.
        rows: Rows of the files that are left; None where that is not known.
    """

    unit: str
    count: int
    files: int
    size: int
    oldest_ms: int | None = None
    note: str | None = None
    is_partial: bool = False
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a topic keeps its records, at least; it deletes segments, and never the one that is written.

    Args:
        time_ms: ``retention.ms``; None when age deletes nothing.
        size: ``retention.bytes``, of each partition; None when size deletes nothing.
    """

    time_ms: int | None
    size: int | None
