"""The newest backup of each query, with one request for each of them: the ids of backups tell time and query."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from airflow_provider_ckpt.backup.catalog import is_own_id, read_manifest
from airflow_provider_ckpt.errors import BackupError
from airflow_provider_ckpt.fleet.find import THREADS
from airflow_provider_ckpt.fleet.index import LastBackup
from airflow_provider_ckpt.storage.concurrency import in_parallel
from airflow_provider_ckpt.storage.store import Store


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
    ids = sorted(filter(is_own_id, root.ls()[1]), reverse=True)
    by_prefix: dict[str, list[str]] = {}
    for backup_id in ids:
        by_prefix.setdefault(backup_id.partition("Z-")[2], []).append(backup_id)
    wanted = sorted(query_ids)

    def find(query_id: str) -> LastBackup | None:
        for backup_id in by_prefix.get(query_id[:8], ()):
            try:
                manifest = read_manifest(root, backup_id)
            except BackupError:  # `ckpt backups` and `ckpt verify` say so
                continue
            if manifest is not None and manifest.query_id == query_id:
                return LastBackup(backup_id, manifest.batch_id, manifest.created_at_ms)
        return None

    found = in_parallel(find, wanted, THREADS)
    return {query_id: backup for query_id, backup in zip(wanted, found, strict=True) if backup is not None}
