"""Pruning: backups that a policy does not keep are dropped, then what no backup names any more is swept.

1. Every manifest is read. One that cannot be read ends the prune with nothing done: what it names is not known.
2. Of each dropped backup ``manifest.json`` becomes ``dropped.json``. From here on it is no backup; what it named is
   still known, to a prune that goes on after a killed one as well.
3. Everything is listed, and after that all manifests are read anew. Marked is what they name, and what the base of a
   backup under way names (see :mod:`airflow_provider_ckpt.backup.take` for how the two agree). A backup that was to be
   kept, and is none any more, ends the prune with nothing swept.
4. Swept is what is not marked: at once in the directory of a dropped backup, elsewhere when it is older than the grace
   period: leftovers of backups that were killed. ``dropped.json`` goes when nothing marked is left beside it.

Of every query that loses a backup one that is left is read back first, as ``ckpt verify`` does it: the newest that is
kept, or the next one when that fails. Where no backup that the policy keeps passes, the newest other one that does is
kept as well; where none does, none is dropped. That costs a read of each object of one backup, and nothing less tells
that what is left can be restored; a prune that drops nothing reads nothing.

One prune works in a root at a time, held by a lock from the reading of the manifests to the end of the sweep: of two at
once each would count on a backup that the other drops.

A directory that is not named as a backup is, and has no manifest of one, is never touched.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from typing import Literal

from airflow_provider_ckpt.backup.catalog import read_manifest
from airflow_provider_ckpt.backup.find_named import Folder, bases_in_use, list_folders, named_by, read_all, sweepable
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.retention import PrunePlan, PruneReceipt, RetentionPolicy, decide, of_each_query
from airflow_provider_ckpt.change.lock import Held, locked_backups
from airflow_provider_ckpt.checkpoint.own_files import DROPPED, INTENT, MANIFEST
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import (
    CheckpointBusyError,
    CheckpointNotFoundError,
    ObjectExistsError,
)
from airflow_provider_ckpt.storage.concurrency import THREADS, OnStep, in_parallel, no_step
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject


def prune(
    plan: PrunePlan,
    root: Store,
    *,
    by: str = "",
    break_lock: bool = False,
    threads: int = THREADS,
    on_step: OnStep = no_step,
) -> PruneReceipt:
    """Carry out a prune. After a kill at any point the next one completes it, and every backup that is left is whole.

    A backup is dropped when the plan says so and the policy, asked again about what is there now, still does.

    Args:
        plan: The result of :func:`make_prune`.
        root: Location of the backup root.
        by: Who runs this; it is written into the lock.
        break_lock: Remove the lock of another prune, which the user knows has ended.
        threads: Requests under way at once.
        on_step: Called after each object that was swept.

    Raises:
        BackupCorruptError: A manifest cannot be read; nothing was dropped.
        CheckpointBusyError: Another prune is running in this root.
    """
    started_ms = now_ms()
    if not (plan.decisions or plan.sweeps):  # a lock would create the root
        return PruneReceipt(
            location=root.location,
            status="already_applied",
            dropped=(),
            objects=0,
            bytes=0,
            started_at_ms=started_ms,
            finished_at_ms=now_ms(),
        )
    with locked_backups(root, _rules_id(plan.policy), by, break_lock=break_lock) as lock:
        doomed, kept = _divide(plan, read_all(root))
        for backup_id in sorted(doomed):
            lock.require_mine()
            _drop(root, backup_id)
        root.flush()
        swept = _sweep(root, plan, kept, lock, threads, on_step)
    status: Literal["applied", "already_applied"] = "applied" if doomed or swept else "already_applied"
    size = sum(item.size for item in swept)
    return PruneReceipt(
        location=root.location,
        status=status,
        dropped=tuple(sorted(doomed)),
        objects=len(swept),
        bytes=size,
        started_at_ms=started_ms,
        finished_at_ms=now_ms(),
    )


def _rules_id(policy: RetentionPolicy) -> str:
    """Tells prunes by other rules apart."""
    return hashlib.sha256(json.dumps(policy.to_dict(), sort_keys=True).encode()).hexdigest()[:16]


def _divide(plan: PrunePlan, backups: Iterable[Manifest]) -> tuple[set[str], set[str]]:
    """The ids of the backups that are dropped, and of those that are kept, of what is there now."""
    decisions = decide(backups, plan.policy, plan.planned_at_ms)
    safe = {
        item.backup_id
        for group in of_each_query(backups)
        if not set(plan.verified).isdisjoint(item.backup_id for item in group)
        for item in group
    }
    doomed = {item.backup_id for item in decisions if not item.keep} & set(plan.dropped) & safe
    return doomed, {item.backup_id for item in backups} - doomed


def _drop(root: Store, backup_id: str) -> None:
    """Make a backup none, but keep what it named."""
    try:
        root.create(f"{backup_id}/{DROPPED}", root.read(f"{backup_id}/{MANIFEST}"))
    except ObjectExistsError:  # of a prune that was killed between the two
        pass
    except CheckpointNotFoundError:  # somebody deleted it
        return
    root.delete(f"{backup_id}/{MANIFEST}")


def _sweep(
    root: Store, plan: PrunePlan, kept: set[str], lock: Held, threads: int, on_step: OnStep
) -> list[StoredObject]:
    """Sweep unmarked objects from the directories that the plan names, and return these objects."""
    before_ms = plan.planned_at_ms - plan.grace_ms
    planned = {item.directory for item in plan.sweeps}
    folders = list_folders(root)
    _require_backups(root, kept, {folder.name for folder in folders if folder.is_backup})
    ended = [folder for folder in folders if not folder.is_backup and not folder.is_under_way(before_ms)]
    for folder in ended:  # a backup that was only slow finds its intent gone, and gives up
        root.delete(f"{folder.name}/{INTENT}")
    marked = _marked_for_sweep(root, folders, ended, before_ms)
    swept = {
        name: item
        for folder in folders
        if folder.name in planned
        for name, item in sweepable(folder, before_ms).items()
        if name not in marked
    }
    lock.require_mine()
    in_parallel(root.delete, list(swept), threads, on_step)
    root.flush()
    for folder in folders:
        if folder in ended and not folder.data.keys() - swept.keys():
            _clear(root, folder)
    return list(swept.values())


def _marked_for_sweep(root: Store, folders: Iterable[Folder], ended: Iterable[Folder], before_ms: int) -> set[str]:
    """Objects that a backup names, or may be about to name; read after everything was listed."""
    listed = [folder.name for folder in folders if folder.is_backup]
    found = in_parallel(lambda name: read_manifest(root, name), listed, THREADS)
    backups = {name: item for name, item in zip(listed, found, strict=True) if item}
    _require_backups(root, listed, backups)
    late = [read_manifest(root, folder.name) for folder in ended if not folder.is_dropped]
    bases = bases_in_use(root, [folder for folder in folders if folder.is_under_way(before_ms)])
    return named_by(filter(None, (*backups.values(), *late)), bases)


def _require_backups(root: Store, kept: Iterable[str], there: Collection[str]) -> None:
    """Raise CheckpointBusyError when a backup that is kept is none any more."""
    if lost := sorted(set(kept).difference(there)):
        raise CheckpointBusyError(
            f"another process deleted the backup {lost[0]}, which this prune keeps.",
            location=root.location,
            hint="No unreferenced object was deleted. To get a backup back that a prune has deleted, rename its "
            "dropped.json to manifest.json while its objects are there. Then run the prune again.",
        )


def _clear(root: Store, folder: Folder) -> None:
    """Remove what only says what a directory was, once that is over.

    An intent beside a manifest stays: its backup may be about to check for it, and would give up without it, after this
    prune has counted on it and dropped the others.
    """
    root.delete(f"{folder.name}/{DROPPED}")
    root.remove_empty(folder.name)
