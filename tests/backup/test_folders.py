"""What a directory under a root of backups is to a prune, and what may be swept from it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.folders import Folder, list_folders, sweepable
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

OWN, FOREIGN = "20261121T100000.000Z-0a3c26f7", "lake"
NOW = 1_000


def folder(name: str, *files: str, modified_ms: int | None = 0) -> Folder:
    return Folder(name, {f"{name}/{file}": StoredObject(f"{name}/{file}", 1, modified_ms, "") for file in files})


DATA = "checkpoint/metadata"
#: What lies in a directory, whether a backup may be under way there, and what may go.
FOLDERS = {
    "a backup": (folder(OWN, "manifest.json", DATA), False, {DATA}),
    "a young backup": (folder(OWN, "manifest.json", DATA, modified_ms=NOW), False, set()),
    "dropped": (folder(OWN, "dropped.json", DATA), False, {DATA}),
    "dropped, and young": (folder(OWN, "dropped.json", DATA, modified_ms=NOW), False, {DATA}),
    "killed long ago": (folder(OWN, "intent.json", DATA), False, {DATA}),
    "under way": (folder(OWN, "intent.json", DATA, modified_ms=NOW), True, set()),
    "of no known age": (folder(OWN, "intent.json", DATA, modified_ms=None), True, set()),
    "a backup with another name": (folder(FOREIGN, "manifest.json", DATA, "data/part-0.parquet"), False, {DATA}),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_what_may_be_swept(case):
    found, is_under_way, swept = FOLDERS[case]
    assert found.is_under_way(NOW) == is_under_way
    assert set(sweepable(found, NOW)) == {f"{found.name}/{name}" for name in swept}


def test_what_is_not_that_of_a_backup_is_not_listed(tmp_path):
    for name in (f"{OWN}/{DATA}", f"{FOREIGN}/data/part-0.parquet", f"old/{DATA}", "old/manifest.json", "lock.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    assert {item.name for item in list_folders(Store.open(str(tmp_path)))} == {OWN, "old"}
