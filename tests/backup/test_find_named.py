"""What backups name: those that are done by their manifests, those under way by the base that they have declared."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.find_named import Folder, bases_in_use, list_folders, named_by, sweepable
from airflow_provider_ckpt.errors import BackupCorruptError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from tests.backup_lab import Query

UNDER_WAY = "20260101T000000.000Z-0a3c26f7"


@pytest.fixture
def root(tmp_path) -> Store:
    return Store.open(str(tmp_path / "backups"))


@pytest.fixture
def orders(goldens, tmp_path) -> Query:
    return Query(goldens["4.3.0/agg-hdfs"] / "checkpoint", tmp_path / "checkpoint")


def in_use(root: Store, intent: str | None) -> list[str]:
    if intent is not None:
        root.write(f"{UNDER_WAY}/intent.json", intent.encode())
    return [item.backup_id for item in bases_in_use(root, [Folder(UNDER_WAY, {})])]


def test_a_backup_names_what_it_holds_and_what_it_refers_to(orders, root):
    first, second = orders.back_up(root, 6), orders.back_up(root, 7)
    both = named_by([first], [second])
    assert both == {item.stored_at for item in (*first.objects, *second.objects)}
    assert both - {f"{second.backup_id}/checkpoint/{item.name}" for item in second.objects} == named_by([first])


def test_the_base_of_a_backup_under_way_is_in_use_also_when_it_was_dropped(orders, root):
    base = orders.back_up(root, 6).backup_id
    intent = f'{{"base": "{base}"}}'
    assert in_use(root, intent) == [base]
    root.write(f"{base}/dropped.json", root.read(f"{base}/manifest.json"))
    root.delete(f"{base}/manifest.json")
    assert in_use(root, intent) == [base]
    root.delete(f"{base}/dropped.json")
    assert in_use(root, intent) == []


def test_one_that_has_finished_meanwhile_is_in_use_itself(orders, root):
    taken = orders.back_up(root, 7)
    root.write(f"{UNDER_WAY}/manifest.json", root.read(f"{taken.backup_id}/manifest.json").replace(
        taken.backup_id.encode(), UNDER_WAY.encode()
    ))  # fmt: skip
    assert in_use(root, None) == [UNDER_WAY]


@pytest.mark.parametrize("intent", [None, '{"base": ""}'])
def test_without_a_base_nothing_is_in_use(root, intent):
    assert in_use(root, intent) == []


def test_an_intent_that_cannot_be_read_is_an_error_that_names_it(root):
    with pytest.raises(BackupCorruptError) as refused:
        in_use(root, "[]")
    assert refused.value.name == f"{UNDER_WAY}/intent.json"


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
