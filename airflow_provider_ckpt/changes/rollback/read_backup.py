"""Objects that a rollback in place takes from a backup, for files that were purged or damaged; and refusals of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.relocation import relocate
from airflow_provider_ckpt.backup.verify import read_verified, require_own_batch
from airflow_provider_ckpt.changes.rollback.exchange_plan import require_left_behind
from airflow_provider_ckpt.checkpoint.observe import decode_entries
from airflow_provider_ckpt.checkpoint.own_files import MANIFEST
from airflow_provider_ckpt.checkpoint.restart_set import log_entries, restart_set
from airflow_provider_ckpt.checkpoint.state.decompressors import decompressors
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.read_state_files import broken_state_files
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import BackupCorruptError, BatchNotRestorableError, CheckpointNotFoundError
from airflow_provider_ckpt.storage.concurrency import THREADS, in_parallel
from airflow_provider_ckpt.storage.requests import drive
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject


@dataclass(frozen=True, slots=True)
class Compared:
    """A checkpoint beside a backup of it.

    Args:
        same: Objects of the backup that are in the checkpoint as they were.
        replaced: Those that are there with another content.
    """

    same: frozenset[str]
    replaced: frozenset[str]

    def was_same(self, name: str) -> bool:
        """True if an object is that of the backup, or was: then its checksum file still is."""
        return any(known in self.same for known in (name, *layout.sidecars(name)))


def compare(checkpoint: Store, view: CheckpointView, backup: Manifest) -> Compared:
    """Read what the checkpoint has of a backup. What nobody here knows is not compared: it is left as it is."""
    stored = {item.name: item for item in backup.objects if not isinstance(layout.parse(item.name), layout.Other)}
    both = sorted(stored.keys() & view.objects.keys())

    def is_other(name: str) -> bool:
        return view.objects[name].size != stored[name].size or _sha256_of(checkpoint, name) != stored[name].sha256

    others = in_parallel(is_other, both, THREADS)
    replaced = frozenset(name for name, other in zip(both, others, strict=True) if other)
    return Compared(frozenset(both) - replaced, replaced)


def require_same_query(view: CheckpointView, backup: Manifest, compared: Compared) -> None:
    """Raise BatchNotRestorableError for a backup of another query."""
    entry = layout.METADATA if view.query_id else layout.offset_entry(backup.batch_id)
    is_same = backup.query_id == view.query_id or compared.was_same(entry)
    if not backup.query_id or not is_same:
        raise BatchNotRestorableError(
            f"backup {backup.backup_id} belongs to query {backup.query_id or '(without an id)'}, and this "
            f"checkpoint to query {view.query_id or '(without an id)'}.",
            location=view.location,
            batch_id=backup.batch_id,
            hint="Nothing was done. Give a backup of this query: ckpt backups ROOT lists the backups with their "
            "queries.",
        )


def keeps_batch(view: CheckpointView, backup: Manifest, compared: Compared) -> bool:
    """True if the checkpoint holds the batch that was backed up, and none of its files was replaced."""
    names = (layout.offset_entry(backup.batch_id), layout.commit_entry(backup.batch_id))
    is_whole = _directories(item.name for item in backup.objects) <= _directories(view.objects)
    return is_whole and not compared.replaced and all(name in view.objects for name in names)


def _directories(names: Iterable[str]) -> set[str]:
    """Sources and operators with state that have a file that Spark wrote."""
    unknown = layout.Sidecar | layout.Temporary | layout.Other
    known = (name.split("/") for name in names if not isinstance(layout.parse(name), unknown))
    return {f"{parts[0]}/{parts[1]}" for parts in known if parts[0] in (layout.SOURCES, layout.STATE)}


def read_restart_set(root: Store, backup: Manifest) -> tuple[CheckpointView, Manifest]:
    """The backup read as a checkpoint, and its manifest cut down to the objects that a restart needs.

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
        raise BackupCorruptError.of(
            root.location, manifest, f"the backup does not have {', '.join(chosen.missing[:3])}"
        )
    return view, replace(backup, objects=tuple(stored[name] for name in chosen.names))


def require_exchangeable(
    checkpoint: Store, view: CheckpointView, root: Store, backup: Manifest, compared: Compared
) -> bool:
    """Require that the files of a backup can take their places, and that they belong to this very place.

    As long as the batch is the one that was backed up, whatever differs is damaged. Else only what cannot be read gives
    way, and whole files that differ are those of another history.

    Returns:
        Whether the batch of the checkpoint is surely that of the backup, or was purged.

    Raises:
        BatchNotRestorableError: An object was written anew under its old name, or leads to another location; or the
            checkpoint has gone another way than the backup.
    """
    is_purged = require_left_behind(view, backup, compared.replaced)
    is_same_batch = compared.was_same(layout.offset_entry(backup.batch_id))
    if not is_same_batch:
        broken = _broken(checkpoint, view, sorted(compared.replaced))
        for name in sorted(compared.replaced - broken):
            raise BatchNotRestorableError(
                f"is not the file of backup {backup.backup_id}: another file has this name now.",
                location=view.location,
                name=name,
                batch_id=backup.batch_id,
            )
    for name in _with_paths_elsewhere(checkpoint, view, root, backup, compared.replaced):
        raise BatchNotRestorableError(
            f"this file of backup {backup.backup_id} points to schema files of a checkpoint at another location.",
            location=view.location,
            name=name,
            batch_id=backup.batch_id,
        )
    return is_same_batch or is_purged


def _broken(checkpoint: Store, view: CheckpointView, names: Sequence[str]) -> set[str]:
    """Those of some files that are empty, or cannot be read as files of their kind."""
    texts = [name for name in names if not isinstance(layout.parse(name), layout.StateFile | layout.StateTable)]
    _, damaged = decode_entries(checkpoint, texts, checkpoint.read)
    state = broken_state_files(view, names, checkpoint.head, checkpoint.chunks)
    empty = {name for name in names if not view.objects[name].size}
    return {*damaged, *state, *empty}


def _with_paths_elsewhere(
    checkpoint: Store, view: CheckpointView, root: Store, backup: Manifest, replaced: Collection[str]
) -> list[str]:
    """Operator metadata that would come from the backup and leads to schema files of another checkpoint."""
    coming = {
        item.name: item
        for item in backup.objects
        if (item.name not in view.objects or item.name in replaced)
        and isinstance(layout.parse(item.name), layout.OperatorMetadataFile)
    }
    entries = {name: codec.decode(name, read_verified(root, item)) for name, item in coming.items()}
    return sorted(relocate(entries, {item.name for item in backup.objects}, checkpoint.location, ()).rewritten)


def _sha256_of(checkpoint: Store, name: str) -> str | None:
    try:
        return checkpoint.sha256(name)[1]
    except CheckpointNotFoundError:
        return None
