"""What a rollback in place takes from a backup, when Spark has purged the batch since; and when it must not."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.compression import decompressors
from airflow_provider_ckpt.errors import BatchNotRestorableError, CheckpointNotFoundError, TooLargeError
from airflow_provider_ckpt.lifecycle.lookup import MANIFEST
from airflow_provider_ckpt.lifecycle.observing import decode_entries, drive
from airflow_provider_ckpt.lifecycle.verifying import corrupt, read_verified, require_own_batch
from airflow_provider_ckpt.moving import relocate
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.restart_set import log_entries, restart_set
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.view import CheckpointView


def require_same_query(view: CheckpointView, backup: Manifest) -> None:
    """Raise BatchNotRestorableError for a backup of another query."""
    if not backup.query_id or backup.query_id != view.query_id:
        raise BatchNotRestorableError(
            f"backup {backup.backup_id} is of query {backup.query_id or 'without an id'}, and this is the checkpoint "
            f"of {view.query_id or 'one without an id'}.",
            location=view.location,
            batch_id=backup.batch_id,
        )


def keeps_batch(checkpoint: Store, backup: Manifest) -> bool:
    """Whether both logs of the checkpoint hold the very entries of the batch that were backed up."""
    stored = {item.name: item.sha256 for item in backup.objects}
    names = (layout.offset_entry(backup.batch_id), layout.commit_entry(backup.batch_id))
    try:
        return all(_sha256_of_entry(checkpoint, name) == stored.get(name) for name in names)
    except TooLargeError:
        return False


def read_restart_set(root: Store, backup: Manifest) -> tuple[CheckpointView, Manifest]:
    """The backup as a checkpoint, its logs read; and its manifest with the objects that a restart needs, and no more.

    Raises BackupCorruptError when the backup is not complete, or not of the batch that it says.
    """
    stored = {item.name: item for item in backup.objects}
    manifest = f"{backup.backup_id}/{MANIFEST}"

    def read(name: str) -> bytes:
        return read_verified(root, stored[name])

    objects = {name: StoredObject(name, item.size, None, item.sha256) for name, item in stored.items()}
    listed = CheckpointView(root.location, backup.created_at_ms, objects, complete=True)
    logs = [name for name in log_entries(listed, backup.batch_id) if name in objects]
    entries, damaged = decode_entries(root, logs, read)
    view = replace(listed, entries=entries, damaged=damaged)
    require_own_batch(root, backup, view)
    chosen = drive(restart_set(view, backup.batch_id, decompressors()), read)
    if chosen.missing:
        raise corrupt(root, manifest, f"lacks {', '.join(chosen.missing[:3])}")
    return view, replace(backup, objects=tuple(stored[name] for name in chosen.names))


def require_exchangeable(checkpoint: Store, view: CheckpointView, root: Store, backup: Manifest) -> None:
    """See that what is in the checkpoint already is the same, and that what comes belongs to this very place.

    Raises BatchNotRestorableError when an object was written anew under its old name, or leads to another location.
    """
    same_place = backup.location == view.location
    for item in backup.objects:
        there = view.objects.get(item.name)
        if there is not None and not _is_same(checkpoint, there, item, same_place=same_place):
            raise BatchNotRestorableError(
                f"is not what it was when {backup.backup_id} was taken: another file has its name by now.",
                location=view.location,
                name=item.name,
                batch_id=backup.batch_id,
            )
    for name in _with_paths_elsewhere(checkpoint, view, root, backup):
        raise BatchNotRestorableError(
            f"of backup {backup.backup_id} leads to schema files of a checkpoint at another place.",
            location=view.location,
            name=name,
            batch_id=backup.batch_id,
        )


def _is_same(checkpoint: Store, there: StoredObject, item: ManifestObject, *, same_place: bool) -> bool:
    if there.size != item.size:
        return False
    if same_place and item.identity and there.identity == item.identity:
        return True
    return _sha256_of(checkpoint, item.name) == item.sha256


def _with_paths_elsewhere(checkpoint: Store, view: CheckpointView, root: Store, backup: Manifest) -> list[str]:
    """Operator metadata that would come from the backup and leads to schema files of another checkpoint."""
    coming = {
        item.name: item
        for item in backup.objects
        if item.name not in view.objects and isinstance(layout.parse(item.name), layout.OperatorMetadataFile)
    }
    entries = {name: codec.decode(name, read_verified(root, item)) for name, item in coming.items()}
    return sorted(relocate(entries, {item.name for item in backup.objects}, checkpoint.location, ()).rewritten)


def _sha256_of_entry(checkpoint: Store, name: str) -> str | None:
    """Of a log entry, which is small. Raises TooLargeError when it is not."""
    try:
        return hashlib.sha256(checkpoint.read(name)).hexdigest()
    except CheckpointNotFoundError:
        return None


def _sha256_of(checkpoint: Store, name: str) -> str | None:
    try:
        return checkpoint.sha256(name)[1]
    except CheckpointNotFoundError:
        return None
