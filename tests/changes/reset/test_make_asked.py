"""The plan of a reset that was asked for is the plan of the API."""

from __future__ import annotations

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.changes.reset.make_asked import reset_asked
from airflow_provider_ckpt.changes.reset.request import ResetRequest
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import parse_item
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery, broker_of


def test_it_is_made_with_all_that_was_said(tmp_path):
    query = KafkaQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(3):
        query.commit(batch_id)
    sink, stores = parse_sink("kafka"), Stores(query.store)
    asked = ResetRequest(source=parse_item("0=kafka:h:9092"), shift_by=-5, sink=sink, trigger="availableNow")
    aim = KafkaAim(broker_of(query), asked.goal(), asked.scope())
    made, wanted = reset_asked(asked, stores, aim)(False), make_reset(stores, "0", aim, sink=sink)
    assert (made.actions, made.effects, made.trigger) == (wanted.actions, wanted.effects, "availableNow")
