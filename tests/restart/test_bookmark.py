"""What a bookmark keeps of a query, and what is none."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.restart.bookmark import bookmark_from_dict, read_bookmark, take_bookmark
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery


def test_a_bookmark_says_where_the_checkpoint_is_without_secrets(tmp_path):
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    query.commit(0)
    view = observe(query.store)
    assert take_bookmark(view).location == str(tmp_path / "orders")
    secret = Store(query.store.fs, query.store.root, "s3://user:secret@lake/orders")
    assert "secret" not in str(take_bookmark(observe(secret)).to_dict())


def test_one_of_an_earlier_version_has_no_location():
    assert read_bookmark('{"query_id": "q", "batch_id": 4}').location is None


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"query": "x"}, "it has the key 'query'"),
        ({"query_id": "x"}, "no query_id and no batch_id"),
        ({"query_id": 5, "batch_id": 1}, "query_id is 5"),
        ({"query_id": "x" * 100_000, "batch_id": 1}, "not the id of a query"),
        ({"query_id": "x", "batch_id": -1}, "batch_id is -1"),
        ({"query_id": "x", "batch_id": 1, "in_flight": -5}, "in_flight is -5"),
        ({"query_id": "x", "batch_id": True}, "batch_id is True"),
        ({"query_id": "x", "batch_id": 1, "batch_timestamp_ms": "now"}, "batch_timestamp_ms is 'now'"),
        ({"query_id": "x", "batch_id": 1, "location": ["s3://lake"]}, "location is ['s3://lake']"),
        ({"query_id": "x", "batch_id": 1, "location": ""}, "location is ''"),
    ],
)
def test_what_is_no_bookmark_is_refused_in_a_short_sentence(fields, problem):
    with pytest.raises(CheckpointError, match="not a bookmark") as refused:
        bookmark_from_dict(fields)
    assert problem in str(refused.value) and len(str(refused.value)) < 300
