"""The backups of one query: told by their ids, and by their manifests where two ids begin alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.backup.catalog import read_manifest
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.read_by_query import QueryBackups
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.errors import BackupCorruptError
from airflow_provider_ckpt.storage.store import Store


@pytest.fixture
def first(goldens, tmp_path) -> Manifest:
    """A backup; below the same root are later ones: of a query whose id begins alike, of another, and a damaged one."""
    root = Store.open(str(tmp_path))
    first = read_manifest(root, take_backup(Store.open(str(goldens["4.3.0/agg-hdfs"] / "checkpoint")), root).backup_id)
    begin = first.query_id[:8]
    for day, query_id in ((1, f"{begin}-alike"), (2, "other-query")):
        backup_id = f"2030010{day}T000000.000Z-{query_id[:8]}"
        root.write(f"{backup_id}/manifest.json", replace(first, backup_id=backup_id, query_id=query_id).encode())
    root.write(f"20300103T000000.000Z-{begin}/manifest.json", b"damaged")
    root.write(f"20300104T000000.000Z-{begin}/checkpoint/x", b"of a backup that did not end")
    root.write("by-hand/manifest.json", b"no backup has this name")
    return first


@pytest.fixture
def backups(first, tmp_path) -> QueryBackups:
    return QueryBackups(Store.open(str(tmp_path)))


def test_ids_are_those_of_the_query_the_newest_first(first, backups):
    assert [name[:8] for name in backups.ids_of(first.query_id)[:-1]] == ["20300104", "20300103", "20300101"]
    assert backups.ids_of(first.query_id)[-1] == first.backup_id
    assert backups.ids_of("nobody") == backups.ids_of("") == []


def test_of_a_query_that_nobody_knows_all_ids_are_told(first, backups):
    assert [name[:8] for name in backups.ids_of(None)[:-1]] == ["20300104", "20300103", "20300102", "20300101"]


def test_a_manifest_is_that_of_the_query_or_none(first, backups):
    no_end, damaged, alike, own = backups.ids_of(first.query_id)
    assert backups.read(own, first.query_id) == first
    assert backups.read(alike, first.query_id) is None
    assert backups.read(no_end, first.query_id) is None
    with pytest.raises(BackupCorruptError):
        backups.read(damaged, first.query_id)


def test_without_a_query_id_the_location_decides(first, backups):
    assert backups.read(first.backup_id, None, first.location) == first
    assert backups.read(first.backup_id, None, "/another/place") is None
    assert backups.read(first.backup_id, first.query_id, "/another/place") == first
