"""The plan of a rollback that was asked for is the plan of the API."""

from __future__ import annotations

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.goal import ToBatch
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.changes.rollback.make_asked import make_rollback_asked
from airflow_provider_ckpt.changes.rollback.request import RollbackRequest
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery


def test_it_is_made_with_all_that_was_said(tmp_path):
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(4):
        query.commit(batch_id)
    sink, stores = parse_sink("kafka"), Stores(query.store)
    asked = RollbackRequest(to_batch=1, sink=sink, sources=parse_by_id({"0": "file"}), trigger="availableNow")
    made = make_rollback_asked(asked, asked.target(), stores)
    wanted = make_rollback(stores, ToBatch(1), sink=sink, sources={"0": "file"}, trigger="availableNow")
    assert (made.actions, made.effects, made.trigger) == (wanted.actions, wanted.effects, "availableNow")
