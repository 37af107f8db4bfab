"""Reading the rows of a fleet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from airflow_provider_ckpt.batches.read_logs import one_after_the_other
from airflow_provider_ckpt.batches.read_rows import Reading, read_rows, read_with
from airflow_provider_ckpt.batches.selection import DeclaredTypes, Selection
from airflow_provider_ckpt.errors import CheckpointError, MalformedEntryError
from airflow_provider_ckpt.storage.store import Store
from tests.batches.fleet_story import FleetStory
from tests.fake_query import timestamp_ms


@pytest.fixture
def store(tmp_path):
    story = FleetStory(tmp_path)
    story.commit("orders", 6)
    return Store.open(story.location("orders"))


def read(store, **fields):
    return list(read_rows(store, Reading(**fields), one_after_the_other(store)))


def test_the_batches_that_are_asked_for(store):
    assert [row.batch_id for row in read(store)] == [0, 1, 2, 3, 4, 5]
    assert [row.batch_id for row in read(store, selection=Selection(last_batches=2))] == [4, 5]
    times = Selection(from_ms=timestamp_ms(2), until_ms=timestamp_ms(4))
    assert [row.batch_id for row in read(store, selection=times)] == [2, 3]


def test_a_part_has_the_rows_of_the_whole(store):
    assert read(store, selection=Selection(3, 4)) == read(store)[3:5]


def test_what_is_not_asked_for_is_not_read(store):
    calls = store.calls.count
    read(store)
    whole = store.calls.count - calls
    rows = read(store, commits=False, query_ids=False)
    assert store.calls.count - calls - whole == whole - 7
    assert {(row.commit_log_version, row.query_id, row.committed) for row in rows} == {(None, None, True)}


def test_types_are_declared_by_location(store):
    declared = DeclaredTypes.parse({"*/orders": {"0": "rate-micro-batch"}})
    assert [row.source.total for row in read(store, declared=declared)] == [10] * 6


def test_a_problem_is_a_row_or_an_error(store):
    store.write("offsets/2", b"nonsense")
    assert [row.batch_id for row in read(store) if row.problem] == [2]
    with pytest.raises(MalformedEntryError):
        read(store, fails_fast=True)


def test_what_is_no_checkpoint_is_a_row_or_an_error(tmp_path):
    nothing = Store.open(str(tmp_path / "nothing"))
    [row] = read(nothing)
    with pytest.raises(CheckpointError) as error:
        read(nothing, fails_fast=True)
    assert (row.batch_id, row.problem) == (None, str(error.value))
    assert "does not exist" in row.problem


def test_files_are_read_ahead_where_each_is_a_request(store, s3_store):
    lake = s3_store("orders")
    for name in store.find():
        lake.create(name, store.read(name))
    with ThreadPoolExecutor(4) as pool:
        rows = list(read_rows(lake, Reading(), read_with(lake, pool)))
    same = ("batch_id", "planned", "committed", "confs_digest", "source")
    assert [[getattr(row, name) for name in same] for row in rows] == [
        [getattr(row, name) for name in same] for row in read(store)
    ]
