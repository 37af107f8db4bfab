"""Resets of the Kafka source of a query that has committed four batches, with a forged broker."""

from __future__ import annotations

from typing import Any

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sources.kafka.extent import offsets_of
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import Strategy, parse_scope
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import KafkaQuery, broker_of

STOPPED: dict[str, Any] = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "duplicated skipped unknown"}
KAFKA = parse_sink("kafka")
LAST = 3


def query_at(tmp_path, **options: Any) -> KafkaQuery:
    """Batches 0 to 3, all committed."""
    query = KafkaQuery(Store.open(str(tmp_path / "orders")), **options)
    for batch_id in range(LAST + 1):
        query.commit(batch_id)
    return query


def plan_of(query: KafkaQuery, strategy: Strategy, *topics: str, source_id: str = "0", **options: Any) -> Plan:
    aim = KafkaAim(options.pop("broker", None) or broker_of(query), strategy, parse_scope(topics))
    return make_reset(Stores(query.store), source_id, aim, **{"sink": KAFKA, **options})


def positions(query: KafkaQuery, source_id: str = "0") -> dict[tuple[str, int], int]:
    """What the newest committed entry says of a source."""
    return offsets_of(observe(query.store).offset_seq(LAST).offset(source_id))
