"""Iceberg tables: the newest snapshot that appended data.

A source reads the snapshots whose operation is ``append`` and is at the number of data files of a snapshot that it
has read. It steps over ``replace``, and with its skip options over ``delete`` and ``overwrite``, without a batch; it
stops at them without these options. All this is of Spark's ``SparkMicroBatchStream``, and of the main branch.

At a time, the end is the newest snapshot that is not later, by the clock of its writer.

Late or never: nothing is known. A query whose snapshot has expired, or was rolled back, cannot go on, and is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ckpt.codec.offsets.iceberg import START, IcebergOffset, of_value
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, MalformedEntryError, StoreError
from airflow_provider_ckpt.sources.table_loss import Unread
from airflow_provider_ckpt.tables.iceberg import read_history
from airflow_provider_ckpt.tables.iceberg_history import History, Snapshot, rows_of
from airflow_provider_ckpt.waiting import BatchCommitted, Condition, SnapshotReached

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.source import Source
    from airflow_provider_ckpt.sources.open_end import Access


class End:
    """The end of one Iceberg table."""

    def __init__(self, declared: Source, source_id: str, access: Access) -> None:
        self.source_id = source_id
        self.metadata_file = declared.metadata_file
        self.store = access.open_store(declared.directory)

    def end_at(self, at_ms: int | None, committed: SourceOffset | None, slack: int = 0) -> Condition:
        """Condition for the end at a time (see :meth:`~airflow_provider_ckpt.sources.open_end.SourceEnd.end_at`); no
        slack, as snapshots are not counted.
        """
        if slack:
            raise CheckpointError(
                f"source {self.source_id} is an Iceberg table, whose lag cannot be counted in records",
                hint="Give the lag as a duration, such as PT5M.",
            )
        at, history = self._position(committed), read_history(self.store, self.metadata_file)
        ids = [snapshot.snapshot_id for snapshot in history.snapshots]
        if at != START:
            self._require_there(history, at)
        in_time = at_ms is None
        for index, snapshot in enumerate(history.snapshots):
            in_time = in_time or at_ms is None or snapshot.at_ms <= at_ms
            if in_time and (files := self._appended(snapshot)):
                return SnapshotReached(self.source_id, snapshot.snapshot_id, files, before=tuple(ids[index + 1 :]))
        return BatchCommitted(0)  # there is nothing to read

    def unread_now(self, committed: SourceOffset | None) -> Unread:
        """The snapshots that appended data and were not read, with their files and rows; raises as :meth:`end_at`.

        Snapshots that replace, overwrite or delete are not counted: a source reads none of their files. A snapshot of
        which a part was read counts with the files that are left, and with the bytes of all its files, and then
        the rows are not known.
        """
        at, history = self._position(committed), read_history(self.store, self.metadata_file)
        begun = None if at == START else self._require_there(history, at)
        found = [
            (snapshot, files)
            for snapshot in history.after(None if begun is None else begun.snapshot_id)
            if (files := self._appended(snapshot))
        ]
        if begun is not None:
            wanted = self._told(begun, begun.total_files) if at.scan_all_files else self._appended(begun)
            if wanted > at.position:
                found.insert(0, (begun, wanted - at.position))
        size = sum(snapshot.added_bytes or 0 for snapshot, _ in found)
        is_begun = bool(found) and found[0][0] is begun and (at.position > 0 or at.scan_all_files)
        rows = None if is_begun else rows_of(snapshot for snapshot, _ in found)
        oldest_ms = found[0][0].at_ms if found else None
        return Unread("snapshots", len(found), sum(files for _, files in found), size, oldest_ms, rows=rows)

    def _position(self, committed: SourceOffset | None) -> IcebergOffset:
        if committed is None:
            return START
        try:
            return of_value(committed.view("iceberg").value)
        except (MalformedEntryError, ValueError) as error:
            raise StoreError(f"source {self.source_id} is not an Iceberg source: {error}") from error

    def _require_there(self, history: History, at: IcebergOffset) -> Snapshot:
        """The snapshot that a source is at. Raises StoreError where it cannot go on from."""
        snapshot = history.find(at.snapshot_id)
        if snapshot is None:
            raise StoreError(
                f"the query is at snapshot {at.snapshot_id}, which is not an ancestor of the current snapshot: it has "
                "expired, or was rolled back, or the query reads another table",
                location=self.store.location,
                hint="The gate says what to do, with the same source: ckpt gate LOCATION --source ID=iceberg:URI.",
            )
        return snapshot

    def _appended(self, snapshot: Snapshot) -> int:
        """How many data files a source reads from a snapshot."""
        if not snapshot.operation:
            raise StoreError(f"snapshot {snapshot.snapshot_id} has no summary", location=self.store.location)
        return self._told(snapshot, snapshot.added_files) if snapshot.appends else 0

    def _told(self, snapshot: Snapshot, files: int | None) -> int:
        if files is None:
            raise StoreError(
                f"snapshot {snapshot.snapshot_id} does not say how many data files it has",
                location=self.store.location,
            )
        return files
