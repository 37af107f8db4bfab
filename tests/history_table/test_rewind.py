"""A table goes back with the checkpoint of its stream: newest epoch first, and nothing is deleted."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreError, StoreUnavailableError
from airflow_provider_ckpt.history_table.compact import compact
from airflow_provider_ckpt.history_table.manifest import GRACE_MS, Place
from airflow_provider_ckpt.history_table.read import list_places, undone_places
from airflow_provider_ckpt.history_table.rewind import rewind
from airflow_provider_ckpt.history_table.vacuum import vacuum
from airflow_provider_ckpt.storage.store import Store
from tests.faults import Fault, FaultyStore
from tests.history_table.labs import NOW_MS, data, epoch, rows

LATER_MS = NOW_MS + 1000 * GRACE_MS


@pytest.fixture
def table(tmp_path):
    table = Store.open(str(tmp_path))
    for number in range(5):
        epoch(table, number, number)
    epoch(table, 7, 70, query="other")
    return table


def test_the_epochs_after_one_are_no_rows_any_more(table):
    assert rewind(table, "q", 2, NOW_MS) == (Place("q", 3), Place("q", 4))
    assert rows(table) == [0, 1, 2, 70]
    assert list(undone_places(table, "q").values()) == [Place("q", 3), Place("q", 4)]
    assert undone_places(table, "other") == {}
    assert epoch(table, 3, 30)
    assert rows(table) == [0, 1, 2, 30, 70]


def test_to_where_it_is_nothing_happens(table):
    assert rewind(table, "q", 4) == ()
    assert not table.find("undone")


def test_before_its_first_epoch_a_query_has_no_rows(table):
    rewind(table, "q", -1)
    assert rows(table) == [70]


def test_what_was_taken_out_keeps_its_files_until_somebody_deletes_it(table, tmp_path):
    rewind(table, "q", 2, NOW_MS)
    before = data(table)
    assert vacuum(table, LATER_MS).files == ()
    for name in table.find("undone"):
        table.delete(name)
    vacuum(table, LATER_MS)
    assert len(before - data(table)) == 2
    assert rows(table) == [0, 1, 2, 70]


def test_epochs_that_are_merged_cannot_be_told_apart(table):
    compact(table, NOW_MS, least_epochs=2, kept_epochs=2)
    with pytest.raises(
        StoreError, match="epochs up to 2 of query q are merged, so the table cannot go back to epoch 1"
    ):
        rewind(table, "q", 1)
    assert rows(table) == [0, 1, 2, 3, 4, 70]
    assert rewind(table, "q", 2) == (Place("q", 3), Place("q", 4))


@pytest.mark.parametrize("to", [2, -1])
def test_a_table_that_went_back_further_than_its_stream_is_refused(table, to):
    """Somebody took it back for the error of a driver that was no longer the query's."""
    rewind(table, "q", to, NOW_MS)
    with pytest.raises(
        StoreError, match=f"epochs {to + 1} to 4 of query q were taken out of the table, and its"
    ) as lost:
        epoch(table, 5, 50)
    assert f"roll the checkpoint of the stream back to batch {to}" in (lost.value.hint or "")
    for name in table.find("undone"):
        table.create(name.removeprefix(f"undone/{NOW_MS}/"), table.read(name))
    assert epoch(table, 5, 50)
    assert rows(table) == [0, 1, 2, 3, 4, 50, 70]


def test_a_stream_that_wrote_elsewhere_meanwhile_goes_on(table):
    assert epoch(table, 8, 80)


def test_of_a_query_that_it_does_not_know_it_says_so(table):
    with pytest.raises(CheckpointNotFoundError, match="the table has no epoch of query 7"):
        rewind(table, "7", 1)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, 8))
def test_whatever_call_fails_it_is_the_table_of_some_epoch_and_goes_on(table, at, after):
    with pytest.raises(StoreUnavailableError):
        rewind(FaultyStore.of(table, Fault(at, after=after)), "q", 2, NOW_MS)
    last = max(place.epoch for place in list_places(table, "q"))
    assert rows(table) == [*range(last + 1), 70] and last >= 2
    rewind(table, "q", 2, NOW_MS + 1)
    assert rows(table) == [0, 1, 2, 70]
    assert {place.epoch for place in undone_places(table).values()} == {3, 4}
