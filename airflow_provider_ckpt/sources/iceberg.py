"""Iceberg tables: the newest snapshot that appended data.

A source reads the snapshots whose operation is ``append`` and is at the number of data files of a snapshot that it
has read. It steps over ``replace``, and with its skip options over ``delete`` and ``overwrite``, without a batch; it
stops at them without these options. All this is of Spark's ``SparkMicroBatchStream``, and of the main branch.

At a time, the end is the newest snapshot that is not later, by the clock of its writer.

Late or never: nothing is known. A query whose snapshot has expired, or was rolled back, cannot go on, and is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, MalformedEntryError, StoreError
from airflow_provider_ckpt.sources.unread import Unread
from airflow_provider_ckpt.tables.iceberg import ancestors_of, current_metadata
from airflow_provider_ckpt.waiting import BatchCommitted, Condition, SnapshotReached

if TYPE_CHECKING:
    from airflow_provider_ckpt.sources.declared import Access, DeclaredEnd

#: A source of an empty table is at this snapshot (``StreamingOffset.START_OFFSET``).
NO_SNAPSHOT = -1


class End:
    """The end of one Iceberg table."""

    def __init__(self, declared: DeclaredEnd, source_id: str, access: Access) -> None:
        self.source_id = source_id
        self.metadata_file = declared.metadata_file
        self.store = access.open_store(declared.directory)

    def end_at(self, at_ms: int | None, committed: SourceOffset | None, slack: int = 0) -> Condition:
        """See :meth:`~airflow_provider_ckpt.sources.declared.SourceEnd.end_at`; snapshots are not counted: no slack."""
        if slack:
            raise CheckpointError(
                f"source {self.source_id} is an Iceberg table, whose lag cannot be counted in records",
                hint="Give the lag as a duration, such as PT5M.",
            )
        at, ancestors, ids = self._history(committed)
        unread = len(ids) if at == NO_SNAPSHOT else ids.index(at) + 1
        in_time = at_ms is None
        for index, snapshot in enumerate(ancestors):
            in_time = in_time or at_ms is None or snapshot.timestamp_ms <= at_ms
            if in_time and (files := self._appended(snapshot)):
                before = tuple(ids[index + 1 : unread])
                return SnapshotReached(self.source_id, snapshot.snapshot_id, files, before)
        return BatchCommitted(0)  # there is nothing to read

    def unread_now(self, committed: SourceOffset | None) -> Unread:
        """The snapshots that appended data and were not read, with their files; raises as :meth:`end_at`.

        A snapshot of which a part was read counts with the files that are left, and with the bytes of all its files.
        """
        at, ancestors, ids = self._history(committed)
        later = ancestors if at == NO_SNAPSHOT else ancestors[: ids.index(at)]
        found = [(snapshot, files) for snapshot in later if (files := self._appended(snapshot))]
        if at != NO_SNAPSHOT and committed is not None:
            value = committed.view("iceberg").value
            begun = ancestors[ids.index(at)]
            wanted = self._told(begun, "total-data-files") if value.get("scan_all_files") else self._appended(begun)
            if wanted > value["position"]:
                found.append((begun, wanted - value["position"]))
        size = sum(self._told(snapshot, "added-files-size") for snapshot, _ in found)
        oldest_ms = found[-1][0].timestamp_ms if found else None
        return Unread("snapshots", len(found), sum(files for _, files in found), size, oldest_ms)

    def _history(self, committed: SourceOffset | None) -> tuple[int, list[Any], list[int]]:
        """The snapshot of the query, and the current one with its ancestors, newest first, with their ids."""
        at = self._snapshot_of(committed)
        ancestors = list(ancestors_of(current_metadata(self.store, self.metadata_file), self.store))
        ids = [snapshot.snapshot_id for snapshot in ancestors]
        if at not in (NO_SNAPSHOT, *ids):
            raise StoreError(
                f"the query is at snapshot {at}, which is not an ancestor of the current snapshot: it has "
                "expired, or was rolled back, or the query reads another table",
                location=self.store.location,
            )
        return at, ancestors, ids

    def _snapshot_of(self, committed: SourceOffset | None) -> int:
        if committed is None:
            return NO_SNAPSHOT
        try:
            snapshot_id: int = committed.view("iceberg").value["snapshot_id"]
        except MalformedEntryError as error:
            raise StoreError(f"source {self.source_id} is not an Iceberg source: {error.message}") from error
        return snapshot_id

    def _appended(self, snapshot: Any) -> int:
        """How many data files a source reads from a snapshot."""
        if snapshot.summary is None:
            raise StoreError(f"snapshot {snapshot.snapshot_id} has no summary", location=self.store.location)
        if snapshot.summary.operation.value != "append":
            return 0
        return self._told(snapshot, "added-data-files")

    def _told(self, snapshot: Any, key: str) -> int:
        """A number of a snapshot's summary."""
        return int(snapshot.summary.get(key) or 0)
