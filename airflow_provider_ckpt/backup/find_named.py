"""Objects that the backups of a root name, including backups under way: a prune leaves them in place."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from airflow_provider_ckpt.backup import manifest
from airflow_provider_ckpt.backup.catalog import list_backups, read_manifest
from airflow_provider_ckpt.backup.declare import base_of_intent
from airflow_provider_ckpt.backup.folders import Folder
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.checkpoint.own_files import DROPPED, INTENT
from airflow_provider_ckpt.errors import BackupCorruptError, CheckpointNotFoundError, UnsupportedVersionError
from airflow_provider_ckpt.storage.store import Store


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
