"""The newest backup of each query."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.backup.catalog import read_manifest
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.fleet.index import LastBackup
from airflow_provider_ckpt.fleet.read_backups import read_last_backups
from airflow_provider_ckpt.storage.store import Store


class Counting(Store):
    """A store that remembers what is read."""

    reads: list[str]

    def read_up_to(self, name: str, most: int) -> bytes:
        self.reads.append(name)
        return super().read_up_to(name, most)


@pytest.fixture
def root(goldens, tmp_path):
    """A root with three backups of one query, the newest without a manifest that can be read, and one of another query."""
    store = Counting.open(str(tmp_path / "backups"))
    store.reads = []
    whole = Store.open(str(goldens["4.3.0/agg-hdfs"] / "checkpoint"))
    first = read_manifest(store, take_backup(whole, store).backup_id)
    for backup_id, changed in (
        ("20300101T000000.000Z-" + first.query_id[:8], {"created_at_ms": 5}),
        ("20300102T000000.000Z-" + first.query_id[:8], {"query_id": first.query_id[:8] + "-another"}),
    ):
        made = replace(first, backup_id=backup_id, **changed)
        store.write(f"{backup_id}/manifest.json", made.encode())
    store.write("20300103T000000.000Z-" + first.query_id[:8] + "/manifest.json", b"damaged")
    store.write("20300104T000000.000Z-" + first.query_id[:8] + "/data/x", b"of a backup that did not end")
    store.reads.clear()
    return store, first.query_id


def test_the_newest_that_can_be_read_counts(root):
    store, query_id = root
    another = query_id[:8] + "-another"
    found = read_last_backups([store], [query_id, another, "nobody"])
    assert found[query_id].backup_id.startswith("20300101")
    assert found[another].backup_id.startswith("20300102")
    assert found.keys() == {query_id, another}


def test_of_several_roots_the_newest_counts(root, goldens, tmp_path):
    store, query_id = root
    other = Store.open(str(tmp_path / "more"))
    backup = take_backup(Store.open(str(goldens["4.3.0/agg-hdfs"] / "checkpoint")), other)
    newest = LastBackup(backup.backup_id, backup.batch_id, backup.created_at_ms)
    assert read_last_backups([store, other], [query_id]) == {query_id: newest}  # that of 2030 was made at 5 ms
    assert read_last_backups([other, store], [query_id]) == {query_id: newest}


def test_for_a_query_without_backups_nothing_is_read(root):
    store, _ = root
    assert read_last_backups([store], ["nobody", ""]) == {}
    assert store.reads == []
