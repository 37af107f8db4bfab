"""Backups and prunes with a bug each, of what they say to one another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any
from unittest import mock

from airflow_provider_ckpt.backup import declare, prune, take
from airflow_provider_ckpt.backup.catalog import read_manifest
from airflow_provider_ckpt.backup.find_named import Folder, bases_in_use, named_by, read_all
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.retention import PrunePlan
from airflow_provider_ckpt.checkpoint.own_files import INTENT, MANIFEST
from airflow_provider_ckpt.errors import ObjectExistsError
from airflow_provider_ckpt.storage.store import Store
from tests.interleavings import backups, invariants
from tests.interleavings.bug import Bug, nothing, replaced


@contextmanager
def _unlocked(*arguments: object, **options: object) -> Iterator[SimpleNamespace]:
    yield SimpleNamespace(require_mine=nothing)


def _as_planned(plan: PrunePlan, there: Iterable[Manifest]) -> tuple[set[str], set[str]]:
    ids = {item.backup_id for item in there}
    return ids & set(plan.dropped), ids - set(plan.dropped)


@contextmanager
def _marked_by_first_reading() -> Iterator[None]:
    first: list[Manifest] = []

    def read(root: Store) -> tuple[Manifest, ...]:
        first[:] = read_all(root)
        return tuple(first)

    def marked(root: Store, folders: Collection[Folder], ended: object, before_ms: int) -> set[str]:
        kept = {folder.name for folder in folders if folder.is_backup}
        under_way = [folder for folder in folders if folder.is_under_way(before_ms)]
        return named_by([item for item in first if item.backup_id in kept], bases_in_use(root, under_way))

    with mock.patch.object(prune, "read_all", read), mock.patch.object(prune, "_marked_for_sweep", marked):
        yield


def _declare_afterwards(root: Store, others: Iterable[str], backup_id: str, query_id: str, location: str) -> Any:
    found = [read_manifest(root, name) for name in sorted(others, reverse=True)]
    base = next((item for item in found if item and item.location == location), None)
    root.write(f"{backup_id}/{INTENT}", declare._intent(base.backup_id if base else ""))
    return base


def _finish_at_once(root: Store, taken: Manifest) -> Manifest:
    root.create(f"{taken.backup_id}/{MANIFEST}", taken.encode())
    root.delete(f"{taken.backup_id}/{INTENT}")
    return taken


def _claim_by_intent(root: Store, others: Collection[str], query_id: str) -> tuple[int, str]:
    at_ms = declare.now_ms()
    while True:
        backup_id = declare.new_backup_id(at_ms, query_id)
        with suppress(ObjectExistsError):
            if backup_id not in others:
                root.create(f"{backup_id}/{INTENT}", declare._intent(""))
                return at_ms, backup_id
        at_ms += 1


_list_folders = prune.list_folders


@contextmanager
def _intents_cleared() -> Iterator[None]:
    def cleared(root: Store) -> list[Folder]:
        folders = _list_folders(root)
        for folder in folders:
            if folder.is_backup and folder.has(INTENT):
                root.delete(f"{folder.name}/{INTENT}")
        return folders

    with mock.patch.object(prune, "list_folders", cleared):
        yield


BUGS = (
    Bug(
        "a prune does not ask what backups under way refer to",
        replaced(prune, "bases_in_use", lambda *arguments: []),
        backups.backup_and_prune_of_base,
        (invariants.BACKUPS_WHOLE,),
    ),
    Bug(
        "two prunes work at once",
        replaced(prune, "locked_backups", _unlocked),
        backups.prunes_that_disagree,
        (invariants.BACKUP_LEFT,),
    ),
    Bug(
        "a prune does not read again what is there",
        replaced(prune, "_divide", _as_planned),
        backups.prunes_that_disagree,
        (invariants.BACKUP_LEFT,),
    ),
    Bug(
        "a prune marks by the manifests that it has read first",
        _marked_by_first_reading,
        backups.backup_and_prune_of_base,
        (invariants.BACKUPS_WHOLE,),
    ),
    Bug(
        "a backup declares its base after it has read it",
        replaced(take, "declare_base", _declare_afterwards),
        backups.backup_and_prune_of_base,
        (invariants.BACKUPS_WHOLE,),
        bound=2,
        is_long=True,
    ),
    Bug(
        "a slow backup does not look whether it was taken for a killed one",
        replaced(take, "_finish", _finish_at_once),
        backups.slow_backup_and_prune,
        (invariants.BACKUPS_WHOLE,),
    ),
    Bug(
        "a prune takes the intent of a backup away that it has counted on",
        _intents_cleared,
        backups.slow_backup_and_prune,
        (invariants.BACKUP_LEFT,),
    ),
    Bug(
        "two backups of one millisecond have one directory",
        replaced(take, "claim_id", _claim_by_intent),
        backups.backup_and_backup,
        (invariants.BACKUPS_WHOLE, invariants.BACKUP_LEFT),
    ),
)
