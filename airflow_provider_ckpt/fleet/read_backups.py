"""The newest backup of each query, with one request for each of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from airflow_provider_ckpt.backup.read_by_query import QueryBackups
from airflow_provider_ckpt.errors import CheckpointError
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
