"""Two batches of one checkpoint: what was read between them, and what is said when one of them is not there."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.batches.compare import read_between, source_ids
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery


@pytest.fixture
def store(tmp_path) -> Store:
    store = Store.open(str(tmp_path / "checkpoint"))
    query = FakeQuery(store)
    for batch_id in range(4):
        query.commit(batch_id)
    return store


def test_the_sources_and_the_batches_after_each_are_known(store):
    between = read_between(store, 1, 3)
    assert between.source_ids == source_ids([between.start]) and between.source_ids
    assert between.later[0] is not None and between.later[1] is None
    assert [item.source_id for item in between.advance({})] == list(between.source_ids)


@pytest.mark.parametrize(("first", "second", "missing"), [(1, 9, 9), (8, 3, 8), (8, 9, 8)])
def test_a_batch_that_is_not_there_is_named(store, first, second, missing):
    with pytest.raises(CheckpointNotFoundError, match="the offset log does not have an entry of this batch") as refused:
        read_between(store, first, second)
    assert refused.value.batch_id == missing and refused.value.name == f"offsets/{missing}"


@pytest.mark.parametrize(("name", "stops"), [("offsets/1", True), ("commits/3", True), ("offsets/2", False)])
def test_damage_stops_only_in_an_entry_of_the_two(store, name, stops):
    store.delete(name)
    store.create(name, b"no entry")
    if not stops:
        assert read_between(store, 1, 3).later[0] is None
        return
    with pytest.raises(CheckpointFormatError):
        read_between(store, 1, 3)
