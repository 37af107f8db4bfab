"""Verifying a backup: its bytes are those that were backed up, a restart from it is possible, and the rules hold.

A backup is seen as the checkpoint that it would be restored to, so every rule about checkpoints judges it as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Lock

from airflow_provider_ckpt.backup.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.checkpoint.progress import or_none
from airflow_provider_ckpt.checkpoint.view import CheckpointView, has_state
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.checks.inspect import read_deep
from airflow_provider_ckpt.errors import BackupCorruptError, CheckpointNotFoundError
from airflow_provider_ckpt.storage.concurrency import THREADS, OnStep, in_parallel, no_step
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Up to this size an object is read by one request.
_SMALL_BYTES = 1 << 20


def verify_backup(root: Store, backup: Manifest, *, on_step: OnStep = no_step) -> tuple[Finding, ...]:
    """Read every object back and compare, see that a restart is possible, and judge the backup as a checkpoint.

    Args:
        root: Location of the backup root.
        backup: The backup.
        on_step: Called after each object.

    Returns:
        What the rules found, errors first.

    Raises:
        BackupCorruptError: An object is missing or other than the manifest says, or the set is not complete.
    """
    reader = _Reader(root, backup, on_step)
    view = view_of_backup(root, backup, reader.read, reader.chunks)
    rest = [item.name for item in backup.objects if item.name not in reader.seen]
    in_parallel(reader.verify, rest, THREADS)
    _require_restartable(root, backup, view)
    return tuple(_of_backup(finding) for finding in check(view))


def _of_backup(finding: Finding) -> Finding:
    """A finding of a backup: what mends a checkpoint changes no backup."""
    if not finding.commands:
        return finding
    return replace(finding, hint="Restore another backup, or back the checkpoint up again.", commands=())


def require_restorable_backup(root: Store, backup: Manifest) -> None:
    """Require that a backup can be restored, before anything of it is written.

    The state of a backup was judged before its manifest was written, and its manifest says so: then its files are
    listed and not read, as their bytes are compared when they are copied. Whatever the manifest says, its objects must
    be all that a restart needs, and the rules must hold. Any other backup is verified as a whole.

    Raises:
        BackupCorruptError: It cannot.
        StoreError: A name in its manifest leads outside the root.
    """
    if backup.facts.get("judged") is not True:
        findings = verify_backup(root, backup)
    else:
        _require_listed(root, backup)
        reader = _Reader(root, backup, no_step)
        view = view_of_backup(root, backup, reader.read, reader.chunks, state=False)
        _require_restartable(root, backup, view)
        findings = check(view)
    errors = [item for item in findings if item.severity == "error"]
    if errors:
        raise BackupCorruptError.of(
            root.location, f"{backup.backup_id}/manifest.json", f"{errors[0].code}: {errors[0].message}"
        )


def _require_listed(root: Store, backup: Manifest) -> None:
    """Raise BackupCorruptError when an object is not there, or has another size than the manifest says."""
    for item in backup.objects:
        root.require_inside(item.stored_at)
        if "/" not in item.stored_at:  # no backup keeps anything there
            raise BackupCorruptError.of(root.location, item.stored_at, "the object is not what was backed up")
    directories = sorted({item.stored_at.partition("/")[0] for item in backup.objects})
    listed = in_parallel(root.find, directories, THREADS)
    there = {name: stored.size for found in listed for name, stored in found.items()}
    for item in backup.objects:
        if there.get(item.stored_at) != item.size:
            problem = "the object is not what was backed up" if item.stored_at in there else "the object is missing"
            raise BackupCorruptError.of(root.location, item.stored_at, problem)


class _Reader:
    """Reads objects of a backup by their names in the checkpoint, and tells of each one the first time."""

    def __init__(self, root: Store, backup: Manifest, on_step: OnStep) -> None:
        self._root, self._stored = root, {item.name: item for item in backup.objects}
        self._on_step, self._telling = on_step, Lock()
        self.seen: set[str] = set()

    def read(self, name: str) -> bytes:
        """The bytes of an object. Raises BackupCorruptError."""
        data = read_verified(self._root, self._stored[name])
        self._tell(name)
        return data

    def verify(self, name: str) -> None:
        """Compare an object with the manifest, a piece at a time. Raises BackupCorruptError."""
        verify_object(self._root, self._stored[name])
        self._tell(name)

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of an object, a piece at a time; compared with the manifest once all of them were taken."""
        item, sha256, size = self._stored[name], hashlib.sha256(), 0
        self._root.require_inside(item.stored_at)
        for data in self._root.chunks(item.stored_at):
            sha256.update(data)
            size += len(data)
            yield data
        if (size, sha256.hexdigest()) != (item.size, item.sha256):
            raise BackupCorruptError.of(self._root.location, item.stored_at, "the object is not what was backed up")
        self._tell(name)

    def _tell(self, name: str) -> None:
        with self._telling:
            if name not in self.seen:
                self.seen.add(name)
                self._on_step(len(self.seen), len(self._stored), name)


def read_verified(root: Store, item: ManifestObject) -> bytes:
    """The bytes of an object of a backup; of a large changelog the beginning.

    Raises:
        BackupCorruptError: They are not what was backed up.
        TooLargeError: There are too many of them to be what the name says.
    """
    if item.size > _SMALL_BYTES:
        verify_object(root, item)
        return root.head(item.stored_at)
    root.require_inside(item.stored_at)
    try:
        data = root.read_up_to(item.stored_at, item.size + 1)
    except CheckpointNotFoundError:
        raise BackupCorruptError.of(root.location, item.stored_at, "is missing") from None
    if len(data) != item.size or hashlib.sha256(data).hexdigest() != item.sha256:
        raise BackupCorruptError.of(root.location, item.stored_at, "the object is not what was backed up")
    return data


def verify_object(root: Store, item: ManifestObject) -> None:
    """Raise BackupCorruptError when an object of a backup, whatever its size, is not what was backed up."""
    if item.size <= _SMALL_BYTES:
        read_verified(root, item)
        return
    root.require_inside(item.stored_at)
    try:
        found = root.sha256(item.stored_at)
    except CheckpointNotFoundError:
        raise BackupCorruptError.of(root.location, item.stored_at, "is missing") from None
    if found != (item.size, item.sha256):
        raise BackupCorruptError.of(root.location, item.stored_at, "the object is not what was backed up")


def view_of_backup(
    root: Store,
    backup: Manifest,
    read: Callable[[str], bytes],
    chunks: Callable[[str], Iterator[bytes]],
    *,
    state: bool = True,
) -> CheckpointView:
    """The backup as the checkpoint that it would be restored to, as the rules judge it; ``state`` is read or not."""
    objects = {item.name: StoredObject(item.name, item.size, None, item.sha256) for item in backup.objects}
    view = CheckpointView(
        f"{root.location.rstrip('/')}/{backup.backup_id}",
        backup.created_at_ms,
        objects,
        complete=True,
        stateful=has_state(objects),
    )
    return read_deep(root, view, read, chunks, state=state)


def _require_restartable(root: Store, backup: Manifest, view: CheckpointView) -> None:
    """The newest batch of the backup must be the one that the manifest names, with all that a restart needs."""
    manifest = f"{backup.backup_id}/manifest.json"
    require_own_batch(root, backup, view)
    if view.missing is None:  # the newest entries themselves cannot be read
        raise BackupCorruptError.of(
            root.location, manifest, "; ".join(f"{name}: {error.message}" for name, error in view.damaged.items())
        )
    if view.missing:
        raise BackupCorruptError.of(root.location, manifest, f"the backup does not have {', '.join(view.missing[:3])}")


def require_own_batch(root: Store, backup: Manifest, view: CheckpointView) -> None:
    """The files must be planned and committed up to the batch of the manifest; else BackupCorruptError."""
    planned, committed = view.latest_planned, view.latest_committed
    if (planned, committed) != (backup.batch_id, backup.batch_id):
        problem = (
            f"the manifest says batch {backup.batch_id}, but the newest batch in the files is {or_none(planned)} "
            f"(planned) and {or_none(committed)} (committed)"
        )
        raise BackupCorruptError.of(root.location, f"{backup.backup_id}/manifest.json", problem)
