"""Finding the backups under a root. One whose manifest cannot be read hides no other, and is never passed over."""

from __future__ import annotations

import re
from dataclasses import dataclass
from threading import Lock

from airflow_provider_ckpt.backup import manifest
from airflow_provider_ckpt.backup.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.checkpoint.listing import list_checkpoint
from airflow_provider_ckpt.checkpoint.own_files import MANIFEST, is_backup_id
from airflow_provider_ckpt.errors import (
    BackupCorruptError,
    BackupNotFoundError,
    CheckpointError,
    CheckpointNotFoundError,
    PlanError,
)
from airflow_provider_ckpt.storage.concurrency import THREADS, in_parallel
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.limits import MANIFEST_BYTES, size_text

LATEST = "latest"
#: Of manifests that are larger, one is read at a time.
_LARGE_BYTES = 2 << 20
_one_large = Lock()
_OWN_ID = re.compile(r"\d{8}T\d{6}\.\d{3}Z-[0-9A-Za-z._-]+\Z")


@dataclass(frozen=True, slots=True)
class BackupListing:
    """The backups under a root.

    Args:
        backups: Those that can be read, oldest first.
        unreadable: Why others cannot be, by id.
    """

    backups: tuple[Manifest, ...]
    unreadable: dict[str, CheckpointError]


def is_own_id(directory: str) -> bool:
    """True if a directory has a name as backups get it."""
    return bool(_OWN_ID.match(directory))


def survey_backups(root: Store) -> BackupListing:
    """Every backup under a root, and every one whose manifest cannot be read.

    Raises StoreUnavailableError, and StoreError when the root cannot be listed.
    """
    names = [name for name in root.ls()[1] if is_backup_id(name)]
    found: list[Manifest] = []
    unreadable: dict[str, CheckpointError] = {}
    known: dict[ManifestObject, ManifestObject] = {}  # backups refer to what others hold, so they have much in common
    items = in_parallel(lambda name: _read_or_error(root, name, known), names, THREADS)
    for name, item in zip(names, items, strict=True):
        if isinstance(item, CheckpointError):
            unreadable[name] = item
        elif item is not None:
            found.append(item)
    backups = tuple(sorted(found, key=lambda item: item.backup_id))
    return BackupListing(backups, dict(sorted(unreadable.items())))


def _read_or_error(
    root: Store, backup_id: str, known: dict[ManifestObject, ManifestObject]
) -> Manifest | CheckpointError | None:
    try:
        return read_manifest(root, backup_id, known)
    except CheckpointError as error:
        if error.retryable:
            raise
        return error


def list_backups(root: Store) -> tuple[Manifest, ...]:
    """The backups under a root, oldest first, when every manifest can be read; what one names is not known otherwise.

    A directory without a manifest is no backup.

    Raises:
        BackupCorruptError: A manifest cannot be read, or another error of its reading.
    """
    listing = survey_backups(root)
    for error in listing.unreadable.values():
        raise error
    return listing.backups


def find_backup(root: Store, backup_id: str = LATEST, query_id: str | None = None) -> Manifest:
    """One backup by its id, by the beginning of its id that no other has, or the latest of a query.

    Args:
        root: The root of the backups.
        backup_id: The id, its first characters, or ``latest``.
        query_id: The query that the backup must be of; None for any, where the latest is not in doubt.

    Raises:
        BackupNotFoundError: There is no such backup, it is of another query, or several ids begin with this text.
        BackupCorruptError: It cannot be read; or a later one than the latest that can be read.
        PlanError: The latest backup was asked for without a query id, and the root has backups of several queries.
    """
    if backup_id == LATEST:
        return _latest(root, query_id)
    found = _named(root, backup_id)
    if query_id not in (None, found.query_id):
        raise BackupNotFoundError(
            f"backup {found.backup_id} is of query {found.query_id}, and not of {query_id}.",
            location=root.location,
            hint="Give a backup of that query (ckpt backups ROOT lists them), or leave out the query id.",
        )
    return found


def _named(root: Store, backup_id: str) -> Manifest:
    if not isinstance(backup_id, str) or not backup_id:
        raise nothing_found(root, f"a backup id is a text that is not empty, not {backup_id!r:.60}.")
    if is_backup_id(backup_id) and (found := read_manifest(root, backup_id)):
        return found
    meant = [name for name in sorted(root.ls()[1]) if backup_id and name.startswith(backup_id) and _has(root, name)]
    if len(meant) > 1:
        raise BackupNotFoundError(
            f"{len(meant)} backups have an id that begins with {backup_id!r}.",
            location=root.location,
            hint=f"Give more characters of the id. It is one of {listed_shortly(meant)}.",
        )
    if meant and (found := read_manifest(root, meant[0])):
        return found
    raise nothing_found(root, f"there is no backup {backup_id!r} under this root.")


def _has(root: Store, name: str) -> bool:
    return is_backup_id(name) and f"{name}/{MANIFEST}" in root.ls(name)[0]


def _latest(root: Store, query_id: str | None) -> Manifest:
    """The newest backup. Where a newer one cannot be read, nobody should get an older one without a word."""
    listing = survey_backups(root)
    newest = listing.backups[-1].backup_id if listing.backups else ""
    later = [backup_id for backup_id in listing.unreadable if is_own_id(backup_id) and backup_id > newest]
    if later:
        error = listing.unreadable[later[-1]]
        error.hint = (
            (
                "This is the latest backup of the root, and its manifest cannot be read. Give the id of the latest "
                f"readable one, {newest}, or move the directory of this one out of the root."
            )
            if newest
            else "No backup under this root can be read."
        )
        raise error
    if not listing.backups:
        raise nothing_found(root, "there is no backup under this root.")
    queries = sorted({backup.query_id for backup in listing.backups})
    if query_id is None and len(queries) > 1:
        raise PlanError(
            f'"latest" is not clear, because the root has backups of {len(queries)} queries: '
            f"{listed_shortly(queries)}.",
            location=root.location,
            hint="Give the query (--query-id ID, query_id in a DAG), or the id of the backup (ckpt backups ROOT lists "
            "them).",
        )
    own = [backup for backup in listing.backups if query_id in (None, backup.query_id)]
    if not own:
        raise BackupNotFoundError(
            f"there is no backup of query {query_id}. There are backups of {listed_shortly(queries)}.",
            location=root.location,
            hint="`ckpt backups ROOT` lists the backups.",
        )
    return own[-1]


def nothing_found(root: Store, problem: str) -> BackupNotFoundError:
    """The error for a root without the backup that was asked for; it says so when the location is no root at all."""
    listing = list_checkpoint(root)
    hint = "`ckpt backups ROOT` lists the backups."
    if listing.is_checkpoint:
        problem, hint = (
            "this is a checkpoint, not a backup root.",
            "Give the directory that `ckpt backup --to` wrote to.",
        )
    elif not listing.objects and not listing.directories:
        problem = "the backup root is empty." if root.exists() else "the backup root does not exist."
        hint = "Give the directory that `ckpt backup --to` wrote to."
    return BackupNotFoundError(problem, location=root.location, hint=hint)


def read_manifest(
    root: Store, backup_id: str, known: dict[ManifestObject, ManifestObject] | None = None
) -> Manifest | None:
    """The manifest of a directory; None when there is none. Raises BackupCorruptError, UnsupportedVersionError.

    ``known`` are the objects of other manifests, which are not held twice.
    """
    name = f"{backup_id}/{MANIFEST}"
    try:
        root.require_inside(name)
        data = root.read_up_to(name, _LARGE_BYTES + 1)
        if len(data) <= _LARGE_BYTES:
            found = manifest.decode(data, name, known)
        else:
            with _one_large:
                found = manifest.decode(_read_large(root, name), name, known)
    except CheckpointNotFoundError:
        return None
    except CheckpointError as error:
        raise error.at(root.location) from None
    if found.backup_id != backup_id:
        raise BackupCorruptError(
            f"the manifest belongs to another backup, {found.backup_id}", location=root.location, name=name
        )
    return found


def _read_large(root: Store, name: str) -> bytes:
    data = root.read_up_to(name, MANIFEST_BYTES + 1)
    if len(data) > MANIFEST_BYTES:
        raise BackupCorruptError(f"the manifest is larger than {size_text(MANIFEST_BYTES)}", name=name)
    return data
