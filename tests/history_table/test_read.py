"""Readers read manifests alone."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointNotFoundError, MalformedEntryError
from airflow_provider_ckpt.history_table.compact import compact
from airflow_provider_ckpt.history_table.read import read_table
from airflow_provider_ckpt.storage.store import Store
from tests.history_table.labs import NOW_MS, epoch, rows, task


def test_what_no_manifest_names_is_no_part_of_the_table(tmp_path):
    table = Store.open(str(tmp_path))
    epoch(table, 0, 1)
    task(table, [2])
    (tmp_path / "data/notes.parquet").write_bytes(b"no parquet")
    (tmp_path / "epochs/q/.1.3f.tmp").write_bytes(b"no manifest")
    assert rows(table) == [1]


def test_a_place_without_an_epoch_says_what_is_missing(tmp_path):
    with pytest.raises(CheckpointNotFoundError, match="no epoch was committed here"):
        read_table(Store.open(str(tmp_path)))


def test_a_damaged_manifest_is_an_error_and_not_a_gap(tmp_path):
    table = Store.open(str(tmp_path))
    epoch(table, 0, 1)
    (tmp_path / "epochs/q/0").write_bytes(b"{")
    with pytest.raises(MalformedEntryError, match="epochs/q/0"):
        read_table(table)


def test_a_manifest_that_was_merged_is_not_read(tmp_path):
    table = Store.open(str(tmp_path))
    epoch(table, 0, 1)
    epoch(table, 1, 2)
    compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
    (tmp_path / "epochs/q/0").write_bytes(b"{")
    assert rows(table) == [1, 2]


def test_schemas_are_told_once_the_oldest_first(tmp_path):
    from airflow_provider_ckpt.history_table.publish import commit

    table = Store.open(str(tmp_path))
    for number, schema in enumerate(["old", "new", "new", "old"]):
        commit(table, number, [task(table, [number], since_ms=NOW_MS + number)], schema, NOW_MS + number)
    assert read_table(table).schemas == ("old", "new")
