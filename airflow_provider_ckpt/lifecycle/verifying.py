"""Verifying a backup: its bytes are those that were backed up, a restart from it is possible, and the rules hold.

A backup is seen as the checkpoint that it would be restored to, so every rule about checkpoints judges it as well.
"""

from __future__ import annotations

import hashlib

from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.errors import BackupCorruptError, CheckpointNotFoundError
from airflow_provider_ckpt.findings import Finding
from airflow_provider_ckpt.lifecycle.checking import look_deeper
from airflow_provider_ckpt.lifecycle.observing import OnStep, in_parallel, no_step
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.view import CheckpointView

THREADS = 8


def verify_backup(
    root: Store, backup: Manifest, *, threads: int = THREADS, on_step: OnStep = no_step
) -> tuple[Finding, ...]:
    """Read every object back and compare, see that a restart is possible, and judge the backup as a checkpoint.

    Args:
        root: Where backups live.
        backup: Which one.
        threads: Reads under way at once.
        on_step: Called after each object.

    Returns:
        What the rules found, errors first.

    Raises:
        BackupCorruptError: An object is missing or other than the manifest says, or the set is not complete.
    """
    stored = {item.stored_at: item for item in backup.objects}
    in_parallel(lambda stored_at: len(read_verified(root, stored[stored_at])), list(stored), threads, on_step)
    view = view_of_backup(root, backup)
    _require_restartable(root, backup, view)
    return check(view)


def read_verified(root: Store, item: ManifestObject) -> bytes:
    """The bytes of an object of a backup. Raises BackupCorruptError when they are not what was backed up."""
    root.require_inside(item.stored_at)
    try:
        data = root.read(item.stored_at)
    except CheckpointNotFoundError:
        raise corrupt(root, item.stored_at, "is missing") from None
    if len(data) != item.size or hashlib.sha256(data).hexdigest() != item.sha256:
        raise corrupt(root, item.stored_at, "is not what was backed up")
    return data


def view_of_backup(root: Store, backup: Manifest) -> CheckpointView:
    """The backup as the checkpoint that it would be restored to, with everything read that the rules judge."""
    stored = {item.name: item for item in backup.objects}
    objects = {name: StoredObject(name, item.size, None, item.sha256) for name, item in stored.items()}
    view = CheckpointView(
        f"{root.location.rstrip('/')}/{backup.backup_id}",
        backup.created_at_ms,
        objects,
        complete=True,
        stateful=any(name.startswith(f"{layout.STATE}/") for name in objects),
    )
    return look_deeper(root, view, lambda name: read_verified(root, stored[name]))


def _require_restartable(root: Store, backup: Manifest, view: CheckpointView) -> None:
    """The newest batch of the backup must be the one that the manifest names, with all that a restart needs."""
    manifest = f"{backup.backup_id}/manifest.json"
    stands_at = (view.latest_planned, view.latest_committed)
    if stands_at != (backup.batch_id, backup.batch_id):
        raise corrupt(root, manifest, f"is of batch {backup.batch_id}, and the files are of {stands_at[1]}")
    if view.missing is None:  # the newest entries themselves cannot be read
        raise corrupt(root, manifest, "; ".join(f"{name}: {error.message}" for name, error in view.damaged.items()))
    if view.missing:
        raise corrupt(root, manifest, f"lacks {', '.join(view.missing[:3])}")


def corrupt(root: Store, name: str, problem: str) -> BackupCorruptError:
    """The error for an object of a backup."""
    return BackupCorruptError(
        problem + ".", location=root.location, name=name, hint="Do not restore it; take another backup."
    )
