"""Finding a backup that was taken already, when its task is tried again."""

from __future__ import annotations

import hashlib
from contextlib import suppress

from airflow_provider_ckpt.backup.catalog import is_own_id, read_manifest
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import BackupCorruptError, CheckpointNotFoundError, UnsupportedVersionError
from airflow_provider_ckpt.storage.store import Store

#: How many of the newest backups are looked at: a query that has long stopped may have any number of one batch.
MOST = 20


def find_taken(checkpoint: Store, root: Store, asked_by: str) -> Manifest | None:
    """The backup that somebody has taken before, while a new one would be of the same batch; None otherwise.

    Args:
        checkpoint: The checkpoint that is backed up.
        root: Location of the backup root.
        asked_by: The requester, as :func:`~airflow_provider_ckpt.backup.take.take_backup` got it.

    Raises:
        CheckpointNotFoundError: There is no checkpoint.
        StoreError: The checkpoint or the backup root cannot be read.
    """
    view = observe(checkpoint)
    query, batch_id = view.query_id, view.latest_committed
    if not query or batch_id is None:
        return None
    own = [name for name in root.ls()[1] if is_own_id(name) and name.endswith(f"-{query[:8]}")]
    for name in sorted(own, reverse=True)[:MOST]:
        with suppress(BackupCorruptError, UnsupportedVersionError):  # another backup, which this one does not need
            found = read_manifest(root, name)
            if found is None or (found.query_id, found.location) != (query, view.location):
                continue
            if found.batch_id != batch_id:
                return None
            if found.facts.get("asked_by") == asked_by:
                return found if _is_same_batch(checkpoint, view, found) else None
    return None


def _is_same_batch(checkpoint: Store, view: CheckpointView, backup: Manifest) -> bool:
    """True if the batch was not run again since, as after a rollback."""
    stored = {item.name: item.sha256 for item in backup.objects}
    entries = (layout.offset_entry(backup.batch_id), layout.commit_entry(backup.batch_id))
    try:
        return all(hashlib.sha256(checkpoint.read(name)).hexdigest() == stored.get(name) for name in entries)
    except CheckpointNotFoundError:
        return False
