"""Data of a source that no committed batch has read, and how long the source keeps it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unread:
    """Unread data of a table or a directory.

    Args:
        unit: The unit: ``versions`` of a Delta table, ``snapshots`` of an Iceberg table, ``files``.
        count: Number of units that hold unread data.
        files: Number of data files that they have added; one of which a part was read counts.
        size: Bytes of these files.
        oldest_ms: Time at which the first of it was written, by the clock of its writer or of the storage, epoch
            milliseconds; None when there is nothing, or it does not say.
        note: Sentence on what these numbers leave out.
        is_partial: True if some unread data is not counted, so that a count of 0 is not the end.
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
