"""The backups of one query under a root, newest first: their ids tell the time and the query."""

from __future__ import annotations

from itertools import chain

from airflow_provider_ckpt.backup.catalog import is_own_id, read_manifest
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.storage.store import Store


class QueryBackups:
    """The backups of a root by query. The root is listed once.

    Args:
        root: The root of the backups.

    Raises:
        StoreError: The root cannot be listed.
    """

    def __init__(self, root: Store) -> None:
        self._root = root
        self._ids: dict[str, list[str]] = {}
        for backup_id in sorted(filter(is_own_id, root.ls()[1]), reverse=True):
            self._ids.setdefault(backup_id.partition("Z-")[2], []).append(backup_id)

    def ids_of(self, query_id: str | None) -> list[str]:
        """The ids of what may be backups of a query, newest first; those of all queries when its id is not known."""
        if query_id is None:
            return sorted(chain.from_iterable(self._ids.values()), reverse=True)
        return self._ids.get(query_id[:8], [])

    def read(self, backup_id: str, query_id: str | None, location: str | None = None) -> Manifest | None:
        """The manifest of a backup when it is of a query; of a location when the id of the query is not known.

        Returns:
            None for a backup of another query, and for a directory without a manifest.

        Raises:
            BackupCorruptError: The manifest cannot be read, or another error of its reading.
        """
        found = read_manifest(self._root, backup_id)
        if found is None:
            return None
        own = found.location == location if query_id is None else found.query_id == query_id
        return found if own else None
