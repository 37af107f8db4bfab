"""Merging changes no row, deletes nothing, and may run twice at once."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_provider_ckpt.epochs.compact import compact
from airflow_provider_ckpt.epochs.manifest import Place, Written
from airflow_provider_ckpt.epochs.publish import commit
from airflow_provider_ckpt.epochs.read import list_places, read_table
from airflow_provider_ckpt.epochs.write_rows import write_rows
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.store import Store
from tests.epochs.labs import NOW_MS, data, epoch, rows


@pytest.fixture
def table(tmp_path):
    table = Store.open(str(tmp_path))
    for number in range(5):
        epoch(table, number, number, 10 + number)
    return table


def test_many_epochs_become_one_manifest_and_one_file(table):
    before = rows(table)
    assert compact(table, NOW_MS, least_epochs=5, kept_epochs=0) == (Place("q", 4, compact=True),)
    assert len(read_table(table).files) == 1
    assert rows(table) == before


def test_epochs_after_it_are_merged_the_next_time(table):
    compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
    epoch(table, 5, 100)
    epoch(table, 6, 101)
    assert rows(table)[-2:] == [100, 101]
    assert compact(table, NOW_MS, least_epochs=2, kept_epochs=0) == (Place("q", 6, compact=True),)
    assert rows(table)[-2:] == [100, 101] and len(read_table(table).files) == 1


def test_few_epochs_are_left_as_they_are(table):
    assert compact(table, NOW_MS, least_epochs=6, kept_epochs=0) == ()
    assert compact(Store.open(table.location + "/nowhere"), NOW_MS) == ()


def test_the_newest_epochs_are_left_so_that_the_table_can_go_back(table):
    assert compact(table, NOW_MS, least_epochs=2) == ()
    assert compact(table, NOW_MS, least_epochs=2, kept_epochs=3) == (Place("q", 1, compact=True),)
    assert rows(table) == sorted([*range(5), *range(10, 15)])


def test_it_holds_the_plan_of_its_last_epoch(table):
    epoch(table, 5, 5, plan="a" * 64)
    compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
    table.delete("epochs/q/5")  # as a vacuum does a day later
    assert not epoch(table, 5, 5, plan="a" * 64)
    with pytest.raises(StoreError, match="with other rows"):
        epoch(table, 5, 5, plan="b" * 64)


def test_nothing_is_deleted(table):
    before = data(table), list_places(table)
    compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
    assert before[0] < data(table) and set(before[1]) < set(list_places(table))


def test_an_epoch_that_is_committed_again_after_it_was_merged_adds_no_row(table):
    compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
    table.delete("epochs/q/4")  # as a vacuum does a day later
    epoch(table, 4, 4, 14)
    assert rows(table) == sorted([*range(5), *range(10, 15)])


def test_of_two_that_merge_the_same_one_wins_and_the_other_cleans_up(table):
    late = Store.open(table.location)
    places = [place for place in list_places(late) if not place.compact]
    compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
    files = data(table)

    class Late(Store):
        """It has listed before the other one was done."""

        def find(self, directory=""):
            return {place.name: None for place in places}

    assert compact(Late(late.fs, late.root, late.location), NOW_MS, least_epochs=2, kept_epochs=0) == ()
    assert data(table) == files


def test_files_of_other_columns_are_left_apart(table):
    more = [pa.record_batch({"number": [77], "letter": ["a"]})]
    for number in (5, 6):
        commit(table, number, [Written("q", tuple(write_rows(table, more)), NOW_MS)], '{"more": 1}', NOW_MS)
    compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
    found = read_table(table)
    assert [file.rows for file in found.files] == [10, 2]
    assert found.manifests[0].schema == '{"more": 1}'


def test_large_files_are_not_written_again(table):
    large = {file.name for file in read_table(table).files}
    compact(table, NOW_MS, least_epochs=2, kept_epochs=0, most_bytes=600)
    assert {file.name for file in read_table(table).files} == large
