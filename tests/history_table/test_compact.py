"""Merging changes no row, deletes nothing, and may run twice at once."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_provider_ckpt import clock
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.history_table.compact import compact
from airflow_provider_ckpt.history_table.manifest import COMMIT_WITHIN_MS, GRACE_MS, Place, Written, merged_schema
from airflow_provider_ckpt.history_table.publish import commit
from airflow_provider_ckpt.history_table.read import list_places, read_table
from airflow_provider_ckpt.history_table.vacuum import vacuum
from airflow_provider_ckpt.history_table.write_rows import write_rows
from airflow_provider_ckpt.storage.store import Store
from tests.history_table.labs import NOW_MS, data, epoch, rows, struct, task


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


def test_files_of_other_columns_are_left_apart_and_no_column_is_lost(table):
    """The schema of the last epoch alone would hide what a column held that later epochs have no more."""
    letters = [pa.record_batch({"letter": ["a"]})]
    for number in (5, 6):
        written = [Written("q", tuple(write_rows(table, letters)), NOW_MS)]
        commit(table, number, written, struct(letter="string"), NOW_MS)
    wanted = merged_schema(read_table(table).schemas, table.location)
    compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
    found = read_table(table)
    assert [file.rows for file in found.files] == [10, 2]
    assert merged_schema(found.schemas, table.location) == wanted
    assert [field["name"] for field in wanted["fields"]] == ["number", "letter"]


def test_columns_keep_their_order_where_a_merged_manifest_is_younger_than_the_epochs_after_it(table):
    """What ``history()`` shows does not change by merging, and an error says which of two types came later."""
    for number in (5, 6, 7):
        commit(table, number, [task(table, [number])], struct(letter="string", number="long"), NOW_MS + number)
    wanted = merged_schema(read_table(table).schemas, table.location)
    assert compact(table, NOW_MS + 100, least_epochs=2, kept_epochs=3) == (Place("q", 4, compact=True),)
    found = read_table(table)
    assert len(found.manifests) == 4 and found.manifests[0].created_at_ms > found.manifests[1].created_at_ms
    assert merged_schema(found.schemas, table.location) == wanted
    assert [field["name"] for field in wanted["fields"]] == ["number", "letter"]
    commit(table, 8, [task(table, [8])], struct(number="string"), NOW_MS + 8)
    with pytest.raises(StoreError, match='the type "long" in some epochs and "string" in later ones'):
        merged_schema(read_table(table).schemas, table.location)


def test_epochs_in_which_a_column_has_two_types_are_not_merged(table):
    """Or nobody would be told, and readers would fail at some file."""
    commit(table, 5, [task(table, [5])], struct(number="string"), NOW_MS)
    places = list_places(table)
    with pytest.raises(StoreError, match='the column \'number\' has the type "long" in some epochs and "string"'):
        compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
    assert list_places(table) == places


@pytest.mark.parametrize("late_ms", [COMMIT_WITHIN_MS, COMMIT_WITHIN_MS + 1])
def test_of_a_machine_that_slept_while_it_merged_nothing_is_published(table, monkeypatch, late_ms):
    """A vacuum elsewhere may delete what no manifest names yet, and what it was made of, once the merge is there."""
    clocks = iter([0, 0, late_ms])
    monkeypatch.setattr(clock, "now_ms", lambda: next(clocks))
    before = rows(table)
    if late_ms > COMMIT_WITHIN_MS:
        with pytest.raises(StoreError, match="merged files of epochs up to 4 were begun more than 12 hours ago"):
            compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
        assert not any(place.compact for place in list_places(table))
    else:
        assert compact(table, NOW_MS, least_epochs=2, kept_epochs=0)
        # the day in which readers may still be at what was replaced begins when it is replaced
        assert vacuum(table, NOW_MS + late_ms + GRACE_MS, dry_run=True).manifests == ()
        assert len(vacuum(table, NOW_MS + late_ms + GRACE_MS + 1, dry_run=True).manifests) == 5
    assert rows(table) == before


def test_merged_files_that_a_vacuum_has_taken_by_a_wrong_clock_are_not_published(table):
    class Vacuumed(Store):
        def create(self, name, data):
            super().create(name, data)
            self.delete(name)

    before = rows(table)
    with pytest.raises(StoreError, match="the merged files of epochs up to 4 are deleted in part, and the epochs were"):
        compact(Vacuumed(table.fs, table.root, table.location), NOW_MS, least_epochs=2, kept_epochs=0)
    assert rows(table) == before


def test_large_files_are_not_written_again(table):
    large = {file.name for file in read_table(table).files}
    compact(table, NOW_MS, least_epochs=2, kept_epochs=0, most_bytes=600)
    assert {file.name for file in read_table(table).files} == large
