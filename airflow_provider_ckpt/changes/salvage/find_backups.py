"""Finds the backups in the history of a damaged checkpoint, and the batch up to which both are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from airflow_provider_ckpt.backup.catalog import survey_backups
from airflow_provider_ckpt.backup.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.backup.verify import read_verified, verify_object
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.checksum import HadoopChecksum
from airflow_provider_ckpt.errors import BackupCorruptError, CheckpointFormatError
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class Found:
    """A backup of the query.

    Args:
        backup: It.
        shared: The newest batch that is surely the same in the checkpoint; None when nothing shows that.
    """

    backup: Manifest
    shared: int | None


def find_backups(root: Store, view: CheckpointView, broken: dict[str, str]) -> list[Found]:
    """The backups of the query of a checkpoint, newest first.

    A batch that ran again has another time in its offset entry. Where such an entry is the same in both, so is all that
    came before it.

    Args:
        root: The root of the backups.
        view: The checkpoint, with every text file read.
        broken: Its text files that are not whole.

    Raises:
        StoreError: The root cannot be listed.
    """
    query_id = view.query_id if layout.METADATA not in broken else None
    found = []
    for backup in survey_backups(root).backups:
        if query_id is not None and backup.query_id != query_id:
            continue
        shared = _shared(root, backup, view, broken)
        if query_id is None and shared is None:
            continue  # of which query the checkpoint is, nothing says
        found.append(Found(backup, shared))
    return sorted(found, key=lambda item: (item.backup.batch_id, item.backup.backup_id), reverse=True)


def _shared(root: Store, backup: Manifest, view: CheckpointView, broken: dict[str, str]) -> int | None:
    for batch_id, item in _offset_entries(backup):
        own = view.entries.get(item.name)
        if own is not None and item.name not in broken:
            if hashlib.sha256(own.encode()).hexdigest() == item.sha256:
                return batch_id
        elif _was_same(root, item, view):
            return batch_id
    return None


def _offset_entries(backup: Manifest) -> Iterator[tuple[int, ManifestObject]]:
    """The offset entries of a backup, newest first."""
    places = [(layout.parse(item.name), item) for item in backup.objects]
    entries = [
        (place.batch_id, item)
        for place, item in places
        if isinstance(place, layout.LogEntry) and place.log == layout.OFFSETS and place.canonical
    ]
    yield from sorted(entries, key=lambda entry: -entry[0])


def _was_same(root: Store, item: ManifestObject, view: CheckpointView) -> bool:
    """True if the checksum file of a lost entry fits the entry of the backup."""
    for sidecar in layout.sidecars(item.name):
        summed = view.entries.get(sidecar)
        if isinstance(summed, HadoopChecksum):
            try:
                return summed.matches(read_verified(root, item))
            except (BackupCorruptError, CheckpointFormatError):
                return False
    return False


def is_whole(root: Store, item: ManifestObject) -> bool:
    """True if an object of a backup is unchanged since the backup."""
    try:
        verify_object(root, item)
    except (BackupCorruptError, CheckpointFormatError):
        return False
    return True
