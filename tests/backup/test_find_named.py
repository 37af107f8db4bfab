"""What backups name: those that are done by their manifests, those under way by the base that they have declared."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.find_named import bases_in_use, named_by
from airflow_provider_ckpt.backup.folders import Folder
from airflow_provider_ckpt.errors import BackupCorruptError
from airflow_provider_ckpt.storage.store import Store
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
