"""What a prune reads of a root: its directories, and the objects that backups name, also backups under way.

These stay in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from airflow_provider_ckpt.backup import manifest
from airflow_provider_ckpt.backup.catalog import is_own_id, list_backups, read_manifest
from airflow_provider_ckpt.backup.declare import base_of_intent
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.checkpoint.own_files import DATA, DROPPED, INTENT, MANIFEST, is_backup_id
from airflow_provider_ckpt.errors import (
    BackupCorruptError,
    CheckpointNotFoundError,
    StoreError,
    UnsupportedVersionError,
)
from airflow_provider_ckpt.storage.concurrency import THREADS, in_parallel
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject


@dataclass(frozen=True, slots=True)
class Folder:
    """One directory under the root, and whether it is that of a backup, of a dropped one, or of neither."""

    name: str
    objects: Mapping[str, StoredObject]

    def has(self, file: str) -> bool:
        """True if a file is in it."""
        return f"{self.name}/{file}" in self.objects

    @property
    def is_backup(self) -> bool:
        """True if it has a manifest."""
        return self.has(MANIFEST)

    @property
    def is_dropped(self) -> bool:
        """True if a prune has dropped its backup."""
        return self.has(DROPPED) and not self.is_backup

    @property
    def data(self) -> dict[str, StoredObject]:
        """All but our records; of a directory with a foreign name only what we put there."""
        inside = f"{self.name}/" if is_own_id(self.name) else f"{self.name}/{DATA}/"
        records = {f"{self.name}/{file}" for file in (MANIFEST, INTENT, DROPPED)}
        return {name: item for name, item in self.objects.items() if name.startswith(inside) and name not in records}

    def is_under_way(self, before_ms: int) -> bool:
        """True if a backup may be writing here: no manifest yet, and an object that is young or of unknown age."""
        if self.is_backup or self.is_dropped:
            return False
        return any(item.modified_ms is None or item.modified_ms >= before_ms for item in self.objects.values())


def list_folders(root: Store) -> list[Folder]:
    """The directories of backups, dropped and killed ones included, and nothing else that may lie there."""
    names = sorted(name for name in root.ls()[1] if is_backup_id(name))
    if links := [name for name in names if root.is_link(name)]:
        raise StoreError(
            "this directory is a link, so nothing in it is removed.",
            location=root.location,
            name=links[0],
            hint="Replace the link with the directory that it points to.",
        )
    folders = in_parallel(lambda name: _list_folder(root, name), names, THREADS)
    return [folder for folder in folders if is_own_id(folder.name) or folder.is_backup or folder.is_dropped]


def _list_folder(root: Store, name: str) -> Folder:
    if not is_own_id(name):
        top, _ = root.ls(name)  # it may hold anything, so it is not walked through unless it is a backup
        if not {f"{name}/{MANIFEST}", f"{name}/{DROPPED}"} & top.keys():
            return Folder(name, top)
    return Folder(name, root.find(name))


def sweepable(folder: Folder, before_ms: int) -> dict[str, StoredObject]:
    """Objects that may be swept from a directory as it is now, unless it is marked."""
    if folder.is_dropped:
        return folder.data
    if folder.is_under_way(before_ms):
        return {}
    old = {name for name, item in folder.data.items() if item.modified_ms is not None and item.modified_ms < before_ms}
    return {name: folder.data[name] for name in old}


def read_all(root: Store) -> tuple[Manifest, ...]:
    """Every backup of a root. Raises BackupCorruptError, UnsupportedVersionError for a manifest that cannot be read."""
    try:
        return list_backups(root)
    except (BackupCorruptError, UnsupportedVersionError) as error:
        error.hint = (
            "Nothing was deleted, because it is not known which objects this backup references. Put its manifest.json "
            "back. Or move its directory out of the root; later backups that reference its objects may then be "
            "damaged."
        )
        raise


def named_by(*groups: Iterable[Manifest]) -> set[str]:
    """The names below the root of all objects that some backups refer to."""
    return {item.stored_at for group in groups for backup in group for item in backup.objects}


def bases_in_use(root: Store, under_way: Iterable[Folder]) -> list[Manifest]:
    """Backups that those under way may refer to, and those that have finished since they were listed.

    Raises BackupCorruptError for an intent that cannot be read.
    """
    bases = []
    for folder in under_way:
        name = f"{folder.name}/{INTENT}"
        try:
            base = base_of_intent(root.read(name))
        except CheckpointNotFoundError:  # finished meanwhile, or of a release that never referred to anything
            base = ""
        except ValueError as error:
            raise BackupCorruptError(str(error), location=root.location, name=name) from error
        found = [_read_any(root, backup_id) for backup_id in (base, folder.name) if backup_id]
        bases += [item for item in found if item]
    return bases


def _read_any(root: Store, backup_id: str) -> Manifest | None:
    """The manifest of a backup, also of one that was dropped."""
    found = read_manifest(root, backup_id)
    if found is None:
        name = f"{backup_id}/{DROPPED}"
        with suppress(CheckpointNotFoundError):
            return manifest.decode(root.read(name), name)
    return found
