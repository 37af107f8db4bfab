"""Writing the index of a fleet: whole or not at all, and never an older one over a newer one.

Each index is an object of its own, named by the time at which the reading of its fleet began; the latest name counts.
So of several that write at once the latest wins, without a lock, on every storage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from airflow_provider_ckpt.backup.read_by_query import QueryBackups
from airflow_provider_ckpt.checkpoint.listing import list_checkpoint
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError, ObjectExistsError, StoreError
from airflow_provider_ckpt.fleet import THREADS
from airflow_provider_ckpt.fleet.index import (
    MOST_INDEX_BYTES,
    MOST_LOCATION,
    MOST_ROWS,
    FleetIndex,
    IndexRow,
    LastBackup,
    index_row,
    line_of,
)
from airflow_provider_ckpt.fleet.queries.row import thresholds_of
from airflow_provider_ckpt.fleet.read_index import index_name, list_indexes
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.query.query_file import QueryFile
from airflow_provider_ckpt.storage.concurrency import in_parallel
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.limits import size_text

#: So many are kept: whoever has listed them a moment ago still finds the one before.
_KEPT = 2


class IndexWriter:
    """Takes the rows of a fleet as they come, and writes their index when all have passed.

    Args:
        store: The directory of the index, which has nothing else.
        roots: Where the fleet is searched for; of the stores, the locations are told.
        backup_roots: Roots of backups in which the newest of each query is searched for.
        file: The query file, whose queries are told by name with the thresholds that they are past; None without one.

    Raises:
        StoreError: The directory is a checkpoint, or cannot be listed.
    """

    def __init__(
        self,
        store: Store,
        roots: Sequence[Store],
        backup_roots: Sequence[Store] = (),
        file: QueryFile | None = None,
    ) -> None:
        self._file = file or QueryFile()
        self._queries = {self._file.paths.place(query.checkpoint): query for query in self._file.queries.values()}
        self.began_at_ms = now_ms()
        self._store = store
        self._roots, self._backup_roots = roots, backup_roots
        self._rows: dict[str, IndexRow] = {}
        self._left_out: set[str] = set()
        self._bytes = 0
        if list_checkpoint(store).is_checkpoint:
            raise StoreError(
                "this is a checkpoint, where ckpt writes no index.",
                location=store.location,
                hint="Give a directory for the index alone.",
            )

    def taking(self, rows: Iterable[FleetRow]) -> Iterator[FleetRow]:
        """The same rows; each is remembered.

        Raises StoreError as soon as the fleet is larger than an index may be, and not after the rest was read as well.
        """
        for row in rows:
            if len(row.location) > MOST_LOCATION:
                self._left_out.add(row.location)
            elif row.location not in self._rows:
                self._rows[row.location] = self._row(row)
                self._bytes += len(line_of(self._rows[row.location]))
                self._require_room()
            yield row

    def take_again(self, rows: Iterable[FleetRow]) -> None:
        """Rows that were taken, with what was found of them since."""
        for row in rows:
            if row.location in self._rows:
                self._bytes -= len(line_of(self._rows[row.location]))
                self._rows[row.location] = self._row(row)
                self._bytes += len(line_of(self._rows[row.location]))

    def _row(self, row: FleetRow) -> IndexRow:
        found = index_row(row)
        query = self._queries.get(self._file.paths.place(row.location))
        if query is None:
            return found
        thresholds = thresholds_of(row, query, self._file)
        return found.with_query(query.name, "; ".join(item.short for item in thresholds if not item.holds))

    def _require_room(self) -> None:
        if len(self._rows) > MOST_ROWS:
            raise self._too_large(f"has more than {MOST_ROWS:,} checkpoints, which is all that an index holds")
        self._require_readable(self._bytes)

    def _require_readable(self, size: int) -> None:
        if size > MOST_INDEX_BYTES:
            raise self._too_large(f"needs more than {size_text(MOST_INDEX_BYTES)}, which is all that a page reads")

    def _too_large(self, what: str) -> StoreError:
        return StoreError(
            f"the index of this fleet {what}.",
            location=self._store.location,
            hint="No index was written. Give each part of the fleet an index of its own.",
        )

    @property
    def left_out(self) -> int:
        """How many have no row, because their location is too long."""
        return len(self._left_out)

    def write(self) -> FleetIndex | None:
        """Write the index, and remove those that are older than the one before it.

        Returns:
            The index; None when a newer one is there, and nothing was written.

        Raises:
            StoreError: The index is larger than a page reads, or the storage refuses.
        """
        backups = read_last_backups(self._backup_roots, {row.query_id for row in self._rows.values() if row.query_id})
        rows = tuple(row.with_backup(backups.get(row.query_id or "")) for _, row in sorted(self._rows.items()))
        roots = tuple(root.location for root in self._roots)
        index = FleetIndex(self.began_at_ms, now_ms(), roots, rows, self.left_out)
        self._require_readable(len(index.encode()))  # with the backups
        return index if put_index(self._store, index) else None


def put_index(store: Store, index: FleetIndex) -> bool:
    """Put an index beside the others, and remove old ones.

    Returns False, with nothing done, when a newer one is there.
    """
    name = index_name(index.began_at_ms)
    names = list_indexes(store)
    if names and names[-1] >= name:
        return False
    try:
        store.create(name, index.encode())
    except ObjectExistsError:  # of the same millisecond
        return False
    for old in list_indexes(store)[:-_KEPT]:
        store.delete(old)
    return True


def read_last_backups(roots: Sequence[Store], query_ids: Collection[str]) -> dict[str, LastBackup]:
    """The newest backup of some queries, by query id, among those whose manifest can be read.

    Raises StoreError when a root cannot be listed, StoreUnavailableError when a storage does not answer.
    """
    newest: dict[str, LastBackup] = {}
    for root in roots:
        for query_id, backup in _of_root(root, query_ids).items():
            if query_id not in newest or newest[query_id].created_at_ms < backup.created_at_ms:
                newest[query_id] = backup
    return newest


def _of_root(root: Store, query_ids: Collection[str]) -> dict[str, LastBackup]:
    backups, wanted = QueryBackups(root), sorted(query_ids)
    found = in_parallel(lambda query_id: _newest(backups, query_id), wanted, THREADS)
    return {query_id: backup for query_id, backup in zip(wanted, found, strict=True) if backup is not None}


def _newest(backups: QueryBackups, query_id: str) -> LastBackup | None:
    for backup_id in backups.ids_of(query_id):
        try:
            manifest = backups.read(backup_id, query_id)
        except CheckpointError as error:  # `ckpt backups` and `ckpt verify` say so
            if error.retryable:
                raise
            continue
        if manifest is not None:
            return LastBackup(backup_id, manifest.batch_id, manifest.created_at_ms)
    return None
