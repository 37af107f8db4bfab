"""Writing the index of a fleet: whole or not at all, and never an older one over a newer one.

Each is an object of its own, named by the time at which its fleet began to be read, and the latest name counts. So of
several that write at once the latest wins, without a lock, on every storage.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from airflow_provider_ckpt.checkpoint.listing import list_checkpoint
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import ObjectExistsError, StoreError
from airflow_provider_ckpt.fleet.index import MOST_LOCATION, MOST_ROWS, FleetIndex, IndexRow, index_row
from airflow_provider_ckpt.fleet.read_backups import read_last_backups
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.storage.store import Store

_NAME = re.compile(r"fleet-([0-9]{13})\.jsonl\Z")
#: So many are kept: whoever has listed them a moment ago still finds the one before.
_KEPT = 2
#: A name that is further in the future than this is of a host whose clock is wrong, and does not count; milliseconds.
_CLOCKS_DIFFER_MS = 3_600_000


class IndexWriter:
    """Takes the rows of a fleet as they come, and writes their index when all have passed.

    Args:
        store: The directory of the index, which has nothing else.
        roots: Where the fleet is searched for; of the stores, the locations are told.
        backup_roots: Roots of backups in which the newest of each query is searched for.

    Raises:
        StoreError: The directory is a checkpoint, or cannot be listed.
    """

    def __init__(self, store: Store, roots: Sequence[Store], backup_roots: Sequence[Store] = ()) -> None:
        self.began_at_ms = now_ms()
        self._store = store
        self._roots, self._backup_roots = roots, backup_roots
        self._rows: dict[str, IndexRow] = {}
        if list_checkpoint(store).is_checkpoint:
            raise StoreError(
                "this is a checkpoint, where ckpt writes no index.",
                location=store.location,
                hint="Give a directory for the index alone.",
            )

    def taking(self, rows: Iterable[FleetRow]) -> Iterator[FleetRow]:
        """The same rows; each is remembered."""
        for row in rows:
            if len(row.location) <= MOST_LOCATION:
                self._rows.setdefault(row.location, index_row(row))
            yield row

    def write(self) -> FleetIndex | None:
        """Write the index, and remove those that are older than the one before it.

        Returns:
            The index; None when a newer one is there, and nothing was written.

        Raises:
            StoreError: The fleet is larger than an index may be, or the storage refuses.
        """
        if len(self._rows) > MOST_ROWS:
            raise StoreError(
                f"the fleet has {len(self._rows):,} checkpoints, and an index holds {MOST_ROWS:,}.",
                location=self._store.location,
                hint="Give each part of the fleet an index of its own.",
            )
        backups = read_last_backups(self._backup_roots, {row.query_id for row in self._rows.values() if row.query_id})
        rows = tuple(row.with_backup(backups.get(row.query_id or "")) for _, row in sorted(self._rows.items()))
        index = FleetIndex(self.began_at_ms, now_ms(), tuple(root.location for root in self._roots), rows)
        return index if put_index(self._store, index) else None


def put_index(store: Store, index: FleetIndex) -> bool:
    """Put an index beside the others, and remove old ones.

    Returns False, with nothing done, when a newer one is there.
    """
    name = f"fleet-{index.began_at_ms:013d}.jsonl"
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


def list_indexes(store: Store) -> list[str]:
    """The names of the indexes of a directory, the newest last; one request for a thousand."""
    return _that_count(store.ls()[0], now_ms())


def _that_count(names: Collection[str], at_ms: int) -> list[str]:
    found = {name: match for name in names if (match := _NAME.match(name))}
    return sorted(name for name, match in found.items() if int(match[1]) <= at_ms + _CLOCKS_DIFFER_MS)
