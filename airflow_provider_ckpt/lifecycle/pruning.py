"""Pruning: backups that a policy does not keep are dropped, then what no backup names any more is swept.

1. Every manifest is read. One that cannot be read ends the prune with nothing done: what it names is not known.
2. Of each dropped backup ``manifest.json`` becomes ``dropped.json``. From here on it is no backup; what it named is
   still known, to a prune that goes on after a killed one as well.
3. Everything is listed, and after that all manifests are read anew. Marked is what they name, and what the base of a
   backup under way names (see :mod:`airflow_provider_ckpt.lifecycle.backups` for how the two agree). What another
   prune drops meanwhile stays marked here; what it has swept before it could be read ends this one.
4. Swept is what is not marked: at once in the directory of a dropped backup, elsewhere when it is older than the grace
   period: leftovers of backups that were killed. ``dropped.json`` goes when nothing marked is left beside it.

A directory that is not named as a backup is, and has no manifest of one, is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal

from airflow_provider_ckpt.codec import manifest
from airflow_provider_ckpt.codec.manifest import Manifest
from airflow_provider_ckpt.errors import (
    BackupCorruptError,
    CheckpointBusyError,
    CheckpointNotFoundError,
    ObjectExistsError,
    StoreError,
    UnsupportedVersionError,
)
from airflow_provider_ckpt.lifecycle.backups import base_of_intent
from airflow_provider_ckpt.lifecycle.copying import THREADS
from airflow_provider_ckpt.lifecycle.lookup import (
    DATA,
    DROPPED,
    INTENT,
    MANIFEST,
    is_own_id,
    list_backups,
    nothing_found,
    read_manifest,
)
from airflow_provider_ckpt.lifecycle.observing import OnStep, in_parallel, no_step, now_ms
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.retention import Decision, RetentionPolicy, decide
from airflow_provider_ckpt.store import Store

#: How long an object that no backup names may be that of a backup under way.
GRACE_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Sweep:
    """What can be swept from one directory: how many objects, and their bytes."""

    directory: str
    objects: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What a prune will do.

    Args:
        location: The root.
        planned_at_ms: Epoch milliseconds; ages count from here.
        policy: What to keep.
        grace_ms: How old an object that no backup names must be.
        decisions: Of every backup, oldest first.
        sweeps: What goes, a row for each directory that loses something.
        referred_bytes: Bytes in the directories of dropped backups that stay, because other backups name them.
    """

    location: str
    planned_at_ms: int
    policy: RetentionPolicy
    grace_ms: int
    decisions: tuple[Decision, ...]
    sweeps: tuple[Sweep, ...]
    referred_bytes: int

    @property
    def dropped(self) -> tuple[str, ...]:
        """The backups that no rule keeps."""
        return tuple(item.backup_id for item in self.decisions if not item.keep)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "policy": self.policy.to_dict()}


@dataclass(frozen=True, slots=True)
class PruneReceipt:
    """What a prune did. ``objects`` and ``bytes`` count what was swept, manifests not included."""

    location: str
    status: Literal["applied", "already_applied"]
    dropped: tuple[str, ...]
    objects: int
    bytes: int
    started_at_ms: int
    finished_at_ms: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "dropped": list(self.dropped)}


@dataclass(frozen=True, slots=True)
class _Folder:
    """One directory under the root, and whether it is that of a backup, of a dropped one, or of neither."""

    name: str
    objects: Mapping[str, StoredObject]

    def has(self, file: str) -> bool:
        return f"{self.name}/{file}" in self.objects

    @property
    def is_backup(self) -> bool:
        return self.has(MANIFEST)

    @property
    def is_dropped(self) -> bool:
        return self.has(DROPPED) and not self.is_backup

    @property
    def data(self) -> dict[str, StoredObject]:
        """All but our records; of a directory with a foreign name only what we put there."""
        inside = f"{self.name}/" if is_own_id(self.name) else f"{self.name}/{DATA}/"
        records = {f"{self.name}/{file}" for file in (MANIFEST, INTENT, DROPPED)}
        return {name: item for name, item in self.objects.items() if name.startswith(inside) and name not in records}

    def is_under_way(self, before_ms: int) -> bool:
        """Whether a backup may be writing here: no manifest yet, and something young, or of no known age."""
        if self.is_backup or self.is_dropped:
            return False
        return any(item.modified_ms is None or item.modified_ms >= before_ms for item in self.objects.values())


# --- planning ------------------------------------------------------------------------------------------------------


def make_prune(
    root: Store, policy: RetentionPolicy, *, grace_ms: int = GRACE_MS, allow_empty: bool = False
) -> PrunePlan:
    """Plan a prune; changes nothing.

    Args:
        root: Where backups live.
        policy: What to keep.
        grace_ms: How old what no backup names must be.
        allow_empty: A root in which no backup was ever taken is no error.

    Raises:
        BackupCorruptError: A manifest cannot be read, so it is not known what it names; or UnsupportedVersionError.
        BackupNotFoundError: There is no backup at all.
        StoreError: The root cannot be listed, or the directory of a backup in it is a link.
    """
    planned_at_ms = now_ms()
    backups = _read_all(root)
    decisions = decide(backups, policy, planned_at_ms)
    kept = {item.backup_id for item in decisions if item.keep}
    dropped = {item.backup_id for item in decisions if not item.keep}
    folders = _list_folders(root)
    if not backups and not folders and not allow_empty:
        raise nothing_found(root, "there is no backup here.")
    before_ms = planned_at_ms - grace_ms
    under_way = [folder for folder in folders if folder.is_under_way(before_ms)]
    marked = _names([item for item in backups if item.backup_id in kept], _bases_in_use(root, under_way))
    sweeps, referred = [], 0
    for folder in folders:
        gone = folder.is_dropped or folder.name in dropped
        lost = folder.data if gone else _sweepable(folder, before_ms)
        swept = [item for name, item in lost.items() if name not in marked]
        referred += sum(item.size for name, item in folder.data.items() if gone and name in marked)
        if swept:
            sweeps.append(Sweep(folder.name, len(swept), sum(item.size for item in swept)))
    return PrunePlan(root.location, planned_at_ms, policy, grace_ms, decisions, tuple(sweeps), referred)


def _read_all(root: Store) -> tuple[Manifest, ...]:
    """Every backup, when every manifest can be read."""
    try:
        return list_backups(root)
    except (BackupCorruptError, UnsupportedVersionError) as error:
        error.hint = (
            "Nothing was dropped or swept: what this backup refers to is not known. Put its manifest.json back; or, to "
            "give the backup up, move its directory out of the root, which may break later backups that refer to it."
        )
        raise


def _list_folders(root: Store) -> list[_Folder]:
    """The directories of backups, dropped and killed ones included, and nothing else that may lie there."""
    names = sorted(name for name in root.ls()[1] if manifest.is_backup_id(name))
    if links := [name for name in names if root.is_link(name)]:
        raise StoreError(
            "is a link, and nothing behind it is removed.",
            location=root.location,
            name=links[0],
            hint="Put in its place what it leads to.",
        )
    folders = in_parallel(lambda name: _list_folder(root, name), names, THREADS)
    return [folder for folder in folders if is_own_id(folder.name) or folder.is_backup or folder.is_dropped]


def _list_folder(root: Store, name: str) -> _Folder:
    if not is_own_id(name):
        top, _ = root.ls(name)  # it may hold anything, so it is not walked through unless it is a backup
        if not {f"{name}/{MANIFEST}", f"{name}/{DROPPED}"} & top.keys():
            return _Folder(name, top)
    return _Folder(name, root.find(name))


def _names(*groups: Iterable[Manifest]) -> set[str]:
    return {item.stored_at for group in groups for backup in group for item in backup.objects}


def _bases_in_use(root: Store, under_way: Iterable[_Folder]) -> list[Manifest]:
    """What backups under way may refer to, and those that have finished since they were listed."""
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


def _sweepable(folder: _Folder, before_ms: int) -> dict[str, StoredObject]:
    """What may be swept from a directory as it is now, unless it is marked."""
    if folder.is_dropped:
        return folder.data
    if folder.is_under_way(before_ms):
        return {}
    old = {name for name, item in folder.data.items() if item.modified_ms is not None and item.modified_ms < before_ms}
    return {name: folder.data[name] for name in old}


# --- carrying out --------------------------------------------------------------------------------------------------


def prune(plan: PrunePlan, root: Store, *, threads: int = THREADS, on_step: OnStep = no_step) -> PruneReceipt:
    """Carry out a prune. Killed at any point, the next one completes it, and no backup that is left misses anything.

    A backup is dropped when the plan says so and the policy, asked again about what is there now, still does.

    Raises:
        BackupCorruptError: A manifest cannot be read; nothing was dropped.
    """
    started_ms = now_ms()
    decisions = decide(_read_all(root), plan.policy, plan.planned_at_ms)
    doomed = {item.backup_id for item in decisions if not item.keep} & set(plan.dropped)
    for backup_id in sorted(doomed):
        _drop(root, backup_id)
    root.flush()
    swept = _sweep(root, plan, threads, on_step)
    status: Literal["applied", "already_applied"] = "applied" if doomed or swept else "already_applied"
    size = sum(item.size for item in swept)
    return PruneReceipt(root.location, status, tuple(sorted(doomed)), len(swept), size, started_ms, now_ms())


def _drop(root: Store, backup_id: str) -> None:
    """Make a backup none, but keep what it named."""
    try:
        root.create(f"{backup_id}/{DROPPED}", root.read(f"{backup_id}/{MANIFEST}"))
    except ObjectExistsError:  # of a prune that was killed between the two
        pass
    except CheckpointNotFoundError:  # another prune was faster
        return
    root.delete(f"{backup_id}/{MANIFEST}")


def _sweep(root: Store, plan: PrunePlan, threads: int, on_step: OnStep) -> list[StoredObject]:
    """Sweep what is not marked from the directories that the plan names; gives what that was."""
    before_ms = plan.planned_at_ms - plan.grace_ms
    planned = {item.directory for item in plan.sweeps}
    folders = _list_folders(root)
    ended = [folder for folder in folders if not folder.is_backup and not folder.is_under_way(before_ms)]
    for folder in ended:  # a backup that was only slow finds its intent gone, and gives up
        root.delete(f"{folder.name}/{INTENT}")
    marked = _marked_for_sweep(root, folders, ended, before_ms)
    swept = {
        name: item
        for folder in folders
        if folder.name in planned
        for name, item in _sweepable(folder, before_ms).items()
        if name not in marked
    }
    in_parallel(root.delete, list(swept), threads, on_step)
    root.flush()
    for folder in folders:
        _clear(root, folder, folder in ended and not folder.data.keys() - swept.keys(), before_ms)
    return list(swept.values())


def _marked_for_sweep(root: Store, folders: Iterable[_Folder], ended: Iterable[_Folder], before_ms: int) -> set[str]:
    """What a backup names, or may be about to name; read after everything was listed."""
    backups = in_parallel(
        lambda name: _read_any(root, name), [folder.name for folder in folders if folder.is_backup], THREADS
    )
    if None in backups:
        raise CheckpointBusyError(
            "another prune is sweeping here.", location=root.location, hint="Run this one again when that one is done."
        )
    late = [read_manifest(root, folder.name) for folder in ended if not folder.is_dropped]
    bases = _bases_in_use(root, [folder for folder in folders if folder.is_under_way(before_ms)])
    return _names(filter(None, (*backups, *late)), bases)


def _clear(root: Store, folder: _Folder, is_empty: bool, before_ms: int) -> None:
    """Remove what only says what a directory was, once that is over."""
    intent = folder.objects.get(f"{folder.name}/{INTENT}")
    if folder.is_backup and intent and intent.modified_ms is not None and intent.modified_ms < before_ms:
        root.delete(intent.name)
    if is_empty:
        root.delete(f"{folder.name}/{DROPPED}")
        root.remove_empty(folder.name)
