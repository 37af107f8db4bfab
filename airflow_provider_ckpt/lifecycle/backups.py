"""Backups: taken while the query runs, listed, verified.

A backup is a directory ``<root>/<backup id>/`` with the checkpoint's files under ``checkpoint/`` and a
``manifest.json`` that is written last: without it there is no backup. Batch N is the newest committed one. Its log
entries, which Spark purges first, are copied before anything else is listed; when Spark purges or rewrites a file in
between, the copy starts again with the then newest batch and keeps what it already has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from airflow_provider_ckpt import __version__
from airflow_provider_ckpt.codec import manifest
from airflow_provider_ckpt.codec.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.compression import decompressors
from airflow_provider_ckpt.confs import STATE_PROVIDER
from airflow_provider_ckpt.errors import (
    BackupCorruptError,
    BackupNotFoundError,
    CheckpointBusyError,
    CheckpointError,
    CheckpointNotFoundError,
)
from airflow_provider_ckpt.lifecycle.observing import (
    OnStep,
    decode_entries,
    drive,
    find_restart_set,
    in_parallel,
    no_step,
    now_ms,
    observe,
)
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.restart_set import RestartSet, log_entries, require, restart_set
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.view import CheckpointView

MANIFEST = "manifest.json"
DATA = "checkpoint"
#: How often a backup begins anew because Spark purged a file under it.
ATTEMPTS = 8
THREADS = 8


class _MovedError(Exception):
    """A file went or changed while it was copied."""


# --- taking --------------------------------------------------------------------------------------------------------


def plan_of_backup(checkpoint: Store) -> tuple[CheckpointView, RestartSet]:
    """What a backup would copy right now. Raises BatchNotRestorableError, CheckpointNotFoundError."""
    view = observe(checkpoint, deep=True)
    batch_id = _newest_committed(view)
    return view, require(find_restart_set(checkpoint, view, batch_id), view)


def take_backup(checkpoint: Store, root: Store, *, threads: int = THREADS, on_step: OnStep = no_step) -> Manifest:
    """Copy the files that a restart after the newest committed batch needs, also while the query runs.

    Args:
        checkpoint: The checkpoint.
        root: Where backups live; the new one gets a directory of its own.
        threads: Copies under way at once.
        on_step: Called after each copied object.

    Raises:
        BatchNotRestorableError: Files are missing although nothing is being purged.
        CheckpointBusyError: Spark purged files faster than they could be copied, ATTEMPTS times.
    """
    started_ms = now_ms()
    backup_id = new_backup_id(started_ms, observe(checkpoint).query_id or "no-id")
    copier = _Copier(checkpoint, root, f"{backup_id}/{DATA}")
    for _ in range(ATTEMPTS):
        try:
            view, chosen = _copy_newest(checkpoint, copier, threads, on_step)
        except _MovedError:
            continue
        taken = _manifest(backup_id, view, chosen, copier, started_ms)
        copier.keep_only(chosen.names)
        root.flush()
        root.create(f"{backup_id}/{MANIFEST}", taken.encode())
        root.flush()
        return taken
    raise CheckpointBusyError(
        f"no consistent copy in {ATTEMPTS} attempts: Spark purges files faster than they can be copied.",
        location=checkpoint.location,
        hint="Raise spark.sql.streaming.minBatchesToRetain, or back up to a faster store.",
    )


def new_backup_id(at_ms: int, query_id: str) -> str:
    """An id that sorts by time and tells the query."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return f"{at:%Y%m%dT%H%M%S}.{at_ms % 1000:03d}Z-{query_id[:8]}"


def _copy_newest(
    checkpoint: Store, copier: _Copier, threads: int, on_step: OnStep
) -> tuple[CheckpointView, RestartSet]:
    """One attempt: choose the batch from the commit log, copy its log entries, then list the rest and copy that."""
    started = observe(checkpoint)
    batch_id = _newest_committed(started)
    logs = log_entries(started, batch_id)
    copier.copy_anew(logs)
    entries, damaged = decode_entries(checkpoint, [name for name in logs if name in copier.copied], copier.read)
    objects = {**copier.objects(logs), **checkpoint.find()}
    copier.forget_changed(objects)
    view = CheckpointView(checkpoint.location, now_ms(), objects, entries, damaged, complete=True)
    chosen = drive(restart_set(view, batch_id, decompressors()), copier.read)
    if chosen.missing and observe(checkpoint).latest_committed != batch_id:
        raise _MovedError
    require(chosen, view)
    rest = [name for name in chosen.names if name not in copier.copied]
    in_parallel(copier.copy, rest, threads, on_step)
    copier.require_unchanged(chosen.names, objects, checkpoint.find())
    return view, chosen


def _newest_committed(view: CheckpointView) -> int:
    if view.latest_committed is None:
        raise CheckpointNotFoundError(
            "no batch is committed yet, so there is nothing to back up.", location=view.location
        )
    return view.latest_committed


class _Copier:
    """Copies objects into one backup and remembers what it has, so that a new attempt does not read it again."""

    def __init__(self, checkpoint: Store, root: Store, prefix: str) -> None:
        self._checkpoint, self._root, self._prefix = checkpoint, root, prefix
        self.copied: dict[str, tuple[int, str]] = {}
        self._seen: dict[str, str] = {}

    def stored_at(self, name: str) -> str:
        """Where a copy is, relative to the root."""
        return f"{self._prefix}/{name}"

    def copy(self, name: str) -> None:
        """Copy an object unless it is here already. Raises _MovedError when it is gone."""
        if name in self.copied:
            return
        try:
            self.copied[name] = self._checkpoint.copy(name, self._root, self.stored_at(name))
        except CheckpointNotFoundError:
            raise _MovedError from None

    def copy_anew(self, names: Iterable[str]) -> None:
        """Copy log entries whatever an earlier attempt has; one that is not there is left out."""
        for name in names:
            self._forget(name)
            with suppress(_MovedError):
                self.copy(name)

    def read(self, name: str) -> bytes:
        """The bytes of an object, which is copied with that."""
        self.copy(name)
        return self._root.read(self.stored_at(name))

    def objects(self, names: Iterable[str]) -> dict[str, StoredObject]:
        """What was copied, as a listing would show it."""
        return {name: StoredObject(name, self.copied[name][0], None, "") for name in names if name in self.copied}

    def forget_changed(self, objects: Mapping[str, StoredObject]) -> None:
        """Drop copies of an earlier attempt that the new listing shows as rewritten, and note what it shows."""
        for name, identity in self._seen.items():
            if name in objects and objects[name].identity != identity:
                self._forget(name)
        self._seen = {name: stored.identity for name, stored in objects.items() if stored.identity}

    def require_unchanged(
        self, names: Iterable[str], before: Mapping[str, StoredObject], now: Mapping[str, StoredObject]
    ) -> None:
        """Raise _MovedError when an object was rewritten or was not whole; one that Spark purged meanwhile is fine."""
        for name in names:
            rewritten = name in now and before[name].identity not in ("", now[name].identity)
            if rewritten or self.copied[name][0] != before[name].size:
                self._forget(name)
                raise _MovedError

    def keep_only(self, names: Collection[str]) -> None:
        """Delete copies that an earlier attempt made and the backup does not need."""
        for name in self.copied.keys() - set(names):
            self._forget(name)

    def _forget(self, name: str) -> None:
        if self.copied.pop(name, None):
            self._root.delete(self.stored_at(name))


def _manifest(backup_id: str, view: CheckpointView, chosen: RestartSet, copier: _Copier, at_ms: int) -> Manifest:
    objects = tuple(
        ManifestObject(name, *copier.copied[name], copier.stored_at(name), view.objects[name].identity)
        for name in chosen.names
    )
    offsets, commit = view.offset_seq(chosen.batch_id), view.commit(chosen.batch_id)
    metadata = offsets.metadata
    facts = {
        "tool_version": __version__,
        "offset_log_version": offsets.version,
        "commit_log_version": commit.version,
        "state_provider": (metadata.conf.get(STATE_PROVIDER) if metadata else None) or "",
    }
    watermark_ms = metadata.batch_watermark_ms if metadata else None
    return Manifest(backup_id, view.location, view.query_id or "", chosen.batch_id, at_ms, watermark_ms, objects, facts)


# --- looking -------------------------------------------------------------------------------------------------------


def list_backups(root: Store) -> tuple[Manifest, ...]:
    """The backups under a root, oldest first. A directory without a manifest is not one. Raises BackupCorruptError."""
    _, directories = root.ls()
    names = [name for name in directories if manifest.is_backup_id(name)]
    found = in_parallel(lambda name: _read_manifest(root, name), names, THREADS)
    return tuple(sorted((item for item in found if item), key=lambda item: item.backup_id))


def find_backup(root: Store, backup_id: str) -> Manifest:
    """One backup by its id, or by ``latest``. Raises BackupNotFoundError, BackupCorruptError."""
    if backup_id == "latest":
        backups = list_backups(root)
        if backups:
            return backups[-1]
    elif manifest.is_backup_id(backup_id) and (found := _read_manifest(root, backup_id)):
        return found
    raise BackupNotFoundError(
        f"no backup {backup_id!r} here.", location=root.location, hint="See `ckpt backups ROOT` for those there are."
    )


def _read_manifest(root: Store, backup_id: str) -> Manifest | None:
    name = f"{backup_id}/{MANIFEST}"
    try:
        found = manifest.decode(root.read(name), name)
    except CheckpointNotFoundError:
        return None
    except CheckpointError as error:
        raise error.at(root.location) from None
    if found.backup_id != backup_id:
        raise BackupCorruptError(f"the manifest is that of {found.backup_id}", location=root.location, name=name)
    return found


def verify_backup(root: Store, backup: Manifest, *, threads: int = THREADS, on_step: OnStep = no_step) -> None:
    """Read every object back and compare, then see that a restart from the backup is possible.

    Raises:
        BackupCorruptError: An object is missing or other than the manifest says, or the set is not complete.
    """
    stored = {item.stored_at: item for item in backup.objects}

    def check(stored_at: str) -> None:
        item = stored[stored_at]
        try:
            data = root.read(stored_at)
        except CheckpointNotFoundError:
            raise corrupt(root, stored_at, "is missing") from None
        if len(data) != item.size or hashlib.sha256(data).hexdigest() != item.sha256:
            raise corrupt(root, stored_at, "is not what was backed up")

    in_parallel(check, list(stored), threads, on_step)
    chosen = _restart_set_of(root, backup)
    if chosen.missing:
        raise corrupt(root, f"{backup.backup_id}/{MANIFEST}", f"lacks {', '.join(chosen.missing[:3])}")


def _restart_set_of(root: Store, backup: Manifest) -> RestartSet:
    """What a restart from the backup needs, the backup seen as the checkpoint that it would be restored to."""
    stored = {item.name: item for item in backup.objects}

    def read(name: str) -> bytes:
        return root.read(stored[name].stored_at)

    objects = {name: StoredObject(name, item.size, None, item.sha256) for name, item in stored.items()}
    view = CheckpointView(root.location, backup.created_at_ms, objects, complete=True)
    logs = [name for name in log_entries(view, backup.batch_id) if name in stored]
    entries, damaged = decode_entries(root, logs, read)
    view = replace(view, entries=entries, damaged=damaged)
    return drive(restart_set(view, backup.batch_id, decompressors()), read)


def corrupt(root: Store, name: str, problem: str) -> BackupCorruptError:
    """The error for an object of a backup."""
    return BackupCorruptError(
        problem + ".", location=root.location, name=name, hint="Do not restore it; take another backup."
    )
