"""Reading both logs of one checkpoint."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.batches.read_logs import list_log, one_after_the_other, read_batches, read_origin
from airflow_provider_ckpt.batches.rows import Origin
from airflow_provider_ckpt.errors import CheckpointNotFoundError, MalformedEntryError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import QUERY_ID, FakeQuery


@pytest.fixture
def store(tmp_path):
    """Batches 0 to 4 committed, 5 planned; Spark has purged 0 and 1."""
    store = Store.open(str(tmp_path / "orders"))
    query = FakeQuery(store)
    for batch_id in range(5):
        query.commit(batch_id)
    query.plan(5)
    for name in ("offsets/0", "offsets/1", "commits/0", "commits/1"):
        store.delete(name)
    return store


def read(store, wanted=None, **options):
    listing = list_log(store)
    wanted = listing.batches if wanted is None else wanted
    return list(read_batches(store, listing, wanted, one_after_the_other(store), **options))


def test_batches_stand_between_their_neighbours(store):
    batches = read(store)
    assert [batch.batch_id for batch in batches] == [2, 3, 4, 5]
    assert [batch.committed for batch in batches] == [True, True, True, False]
    assert [batch.previous is None for batch in batches] == [True, False, False, False]
    assert [batch.following is None for batch in batches] == [False, False, False, True]
    assert batches[1].previous == batches[0].offsets == batches[0].offsets
    assert batches[1].offsets == batches[0].following


def test_a_part_is_what_it_is_in_the_whole(store):
    assert read(store, [3, 4]) == read(store)[1:3]
    assert read(store, []) == []


def test_across_a_gap_the_one_before_is_the_newest_before_it(store):
    store.delete("offsets/3")
    store.delete("commits/3")
    two, four, _ = read(store)
    assert two.following is None
    assert four.previous == two.offsets


def test_commits_are_read_when_asked_for(store):
    files = []
    listing = list_log(store)

    def noting(names):
        for name in names:
            files.append(name)
            yield from one_after_the_other(store)([name])

    list(read_batches(store, listing, [3, 4], noting, commits=False))
    assert files == ["offsets/2", "offsets/3", "offsets/4", "offsets/5"]
    files.clear()
    list(read_batches(store, listing, [3, 4], noting))
    assert files == ["offsets/2", "offsets/3", "commits/3", "offsets/4", "commits/4", "offsets/5"]


def test_entries_are_read_when_their_batch_is_due(store):
    """Nothing is held of a long log but the batches around the one at hand."""
    listing, files = list_log(store), []

    def noting(names):
        for name in names:
            files.append(name)
            yield from one_after_the_other(store)([name])

    next(iter(read_batches(store, listing, listing.batches, noting)))
    assert files == ["offsets/2", "commits/2", "offsets/3", "commits/3"]


def test_a_damaged_entry_is_told_of_its_own_batch_alone(store):
    store.write("offsets/3", b"nonsense")
    two, three, four, _ = read(store)
    assert [type(problem) for problem in three.problems] == [MalformedEntryError]
    assert (three.offsets, three.planned, three.committed) == (None, True, True)
    assert (two.problems, four.problems, two.following, four.previous) == ((), (), None, None)


def test_an_entry_that_is_purged_meanwhile_has_vanished(store):
    listing = list_log(store)
    store.delete("offsets/2")
    two, three, *_ = read_batches(store, listing, listing.batches, one_after_the_other(store))
    assert (two.vanished, three.vanished, three.previous) == (True, False, None)


def test_the_query_id_and_what_is_wrong_with_it(store):
    listing = list_log(store)
    assert read_origin(store, listing, Origin(store.location)).query_id == QUERY_ID
    store.write("metadata", b"nonsense")
    damaged = read_origin(store, listing, Origin(store.location))
    assert damaged.query_id is None
    assert f"{store.location}/metadata: " in damaged.problem


def test_what_is_no_checkpoint_is_refused(tmp_path):
    (tmp_path / "data.parquet").touch()
    with pytest.raises(CheckpointNotFoundError, match="this is not a checkpoint, but a directory of data files"):
        list_log(Store.open(str(tmp_path)))


def test_what_it_asks_s3(store, s3_store, s3_requests):
    """As docs/pipeline.md counts it: one listing, and each entry once; commits only when they are asked for."""
    lake = s3_store("orders")
    for name in store.find():
        lake.create(name, store.read(name))
    with s3_requests(lake) as sent:
        batches = read(lake)
        assert sent == {"ListObjectsV2": 1, "GetObject": 7}
    assert [batch.committed for batch in batches] == [True, True, True, False]
    with s3_requests(lake) as sent:
        read(lake, commits=False)
        assert sent == {"ListObjectsV2": 1, "GetObject": 4}
