"""Where a source was after a committed batch."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.sources.read_position import read_position
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_query import KafkaQuery


@pytest.fixture
def query(tmp_path) -> KafkaQuery:
    """Three committed batches of two sources, and one in flight."""
    query = KafkaQuery(tmp_path / "orders")
    for end in (10, 20, 30):
        query.commit({"t": {"0": end}}, {"u": {"0": end + 1}})
    query.plan({"t": {"0": 40}}, {"u": {"0": 41}})
    return query


@pytest.mark.parametrize(
    ("source_id", "batch_id", "batch", "offset"),
    [("0", None, 2, '{"t": {"0": 30}}'), ("1", None, 2, '{"u": {"0": 31}}'), ("1", 0, 0, '{"u": {"0": 11}}')],
)
def test_a_planned_batch_does_not_count(query, source_id, batch_id, batch, offset):
    position = read_position(Store.open(str(query.checkpoint)), source_id, batch_id)
    assert (position.source_id, position.batch_id, position.offset.json) == (source_id, batch, offset)
    assert position.query_id.startswith("7f0c")
    assert position.entry == f"offsets/{batch}"


def test_the_only_source_need_not_be_named(tmp_path):
    query = KafkaQuery(tmp_path / "one")
    query.commit({"t": {"0": 5}})
    assert read_position(Store.open(str(query.checkpoint))).source_id == "0"


@pytest.mark.parametrize(
    ("source_id", "batch_id", "kind", "problem"),
    [
        (None, None, CheckpointError, "the query has several sources, and none was named. Its sources are: 0, 1."),
        ("2", None, CheckpointError, "the query has no source '2'. Its sources are: 0, 1."),
        ("0", 3, CheckpointNotFoundError, "commits/3: the commit log does not have this batch. The oldest committed "
                                          "batch is 0, the newest one 2."),
        ("0", 9, CheckpointNotFoundError, "commits/9: the commit log does not have this batch"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said(query, source_id, batch_id, kind, problem):
    with pytest.raises(kind) as error:
        read_position(Store.open(str(query.checkpoint)), source_id, batch_id)
    assert problem in str(error.value)


def test_a_query_that_has_committed_nothing_has_no_position(tmp_path):
    query = KafkaQuery(tmp_path / "new")
    query.plan({"t": {"0": 5}})
    with pytest.raises(CheckpointError, match="no batch is committed, so the query has no position yet"):
        read_position(Store.open(str(query.checkpoint)))


def test_a_source_without_an_offset_is_named(tmp_path):
    query = KafkaQuery(tmp_path / "void")
    query.commit({"t": {"0": 5}}, {})
    entry = query.checkpoint / "offsets/0"
    entry.write_text(entry.read_text().rpartition("\n")[0] + "\n-")
    with pytest.raises(CheckpointError, match="source 1 had no offset yet when batch 0 was committed"):
        read_position(Store.open(str(query.checkpoint)), "1")
