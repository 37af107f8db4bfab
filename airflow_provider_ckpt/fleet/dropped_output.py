"""Output of a query that a rollback drops, and tests of other queries' positions against it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from airflow_provider_ckpt.codec.offsets import file as file_offset
from airflow_provider_ckpt.codec.offsets.delta import of_value as delta_offset
from airflow_provider_ckpt.codec.offsets.iceberg import of_value as iceberg_offset
from airflow_provider_ckpt.codec.source_log import FileSourceLog, key_of
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.untrusted.spans import batches_text


@dataclass(frozen=True, slots=True)
class DroppedOutput:
    """The output of the batches that a rollback drops.

    Args:
        first: The first of these batches.
        last: The last one.
        sink: The sink, for people.
        since_ms: When the first of these batches began, epoch milliseconds; 0 where that is not known.
        files: Of a file sink the keys of its files (:func:`~airflow_provider_ckpt.codec.source_log.key_of`).
        table_id: Id of the Delta table; empty for another sink.
        version: The first version of the Delta table that one of these batches has written.
        snapshots: Of an Iceberg table the snapshots after the one that is kept.
        known: True if a position of another query can be compared with it.
    """

    first: int
    last: int
    sink: str
    since_ms: int = 0
    files: frozenset[str] = frozenset()
    table_id: str = ""
    version: int = 0
    snapshots: frozenset[int] = frozenset()
    known: bool = True

    @property
    def text(self) -> str:
        """For people: ``what batches 4 to 5 wrote to file:/lake/orders``."""
        return f"what {batches_text(self.first, self.last)} wrote to {self.sink}"

    def took(self, logs: Iterable[FileSourceLog]) -> int | None:
        """The first entry of the log of a file source that took one of the files; None when none did."""
        entries = (entry for log in logs for entry in log.entries)
        return min((entry.batch_id for entry in entries if key_of(entry.path) in self.files), default=None)

    def is_read_at(self, offset: SourceOffset | None, taken: int | None) -> bool:
        """True if a source that is at a position has read some of it.

        Args:
            offset: The position.
            taken: For a file source the entry of its log that took the first of the files; None when none did.
        """
        if offset is None:
            return False
        try:
            if self.table_id:
                at = delta_offset(offset.view("delta").value)
                return at.table_id == self.table_id and at.has_read_from(self.version)
            if self.snapshots:
                return iceberg_offset(offset.view("iceberg").value).snapshot_id in self.snapshots
            return taken is not None and file_offset.decode(offset.json) >= taken
        except (CheckpointFormatError, ValueError):
            return False


@dataclass(frozen=True, slots=True)
class Reader:
    """A checkpoint that has read what is dropped.

    Args:
        location: Its URI.
        batch_id: The first batch that has read some of it.
        back_to: The newest batch before that one that it can be rolled back to; None when there is none.
    """

    location: str
    batch_id: int
    back_to: int | None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """Where readers were searched for.

    Args:
        count: Checkpoints that were read.
        places: Where, for people.
        problems: Places that could not be searched, each with the reason.
    """

    count: int = 0
    places: Collection[str] = ()
    problems: Collection[str] = ()
