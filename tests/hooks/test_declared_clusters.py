"""The Kafka clusters of a query file: each configures the client of its own servers, of several queries and of one."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.sources.kafka import ask_brokers
from airflow_provider_ckpt.triggers.positions import CheckpointLagTrigger
from tests.hooks.named_tasks import events, task
from tests.kafka_checkpoint import commit_batch
from tests.operators.task import Task

pytestmark = pytest.mark.airflow

CLUSTERS = """\
format_version: 1
kafka:
  main: {bootstrap.servers: "b1:9092", conn_id: kafka_main, security.protocol: SSL}
  other: {bootstrap.servers: "b2:9092", client.id: reader}
queries:
  orders: {checkpoint: lake/orders, sources: ["kafka:main/orders"]}
  totals: {checkpoint: lake/totals, sources: ["kafka:other/totals"]}
  both: {checkpoint: lake/both, sources: ["kafka:main/orders", "kafka:other/totals"]}
"""
MAIN, OTHER = {"sasl.username": "me", "security.protocol": "SSL"}, {"client.id": "reader"}


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Two clusters of a query file, neither of which lets anybody in; takes what their clients are configured with."""
    (tmp_path / "ckpt.yaml").write_text(CLUSTERS)
    monkeypatch.setenv("AIRFLOW__CKPT__FILE", f"{tmp_path}/ckpt.yaml")
    extra = '{"sasl.username": "me"}'
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_MAIN", f'{{"conn_type": "kafka", "extra": {extra}}}')
    for name, topics in {"orders": ["orders"], "totals": ["totals"], "both": ["orders", "totals"]}.items():
        commit_batch(tmp_path / "lake" / name, 0, *({topic: {"0": 1}} for topic in topics))
    taken: dict[str, Any] = {}

    def refuse(servers, config):
        taken[servers] = {key: value for key, value in config.items() if key != "socket.timeout.ms"}
        raise StoreError(f"{servers} lets nobody in")

    monkeypatch.setattr(ask_brokers, "KafkaBroker", refuse)
    return taken


@pytest.mark.parametrize("query", [["orders", "totals"], ["both"], "both"])
@pytest.mark.parametrize(
    "name", ["CheckpointGateOperator", "CheckpointIndexOperator", "CheckpointQueriesOperator", "CheckpointLagSensor"]
)
def test_each_cluster_of_several_configures_its_own_client(name, query, asked, tmp_path):
    made = task(name, query=query, **({"index": f"{tmp_path}/index"} if name == "CheckpointIndexOperator" else {}))
    with suppress(AirflowException):
        made.execute({"ti": Task()})
    assert asked.get("b2:9092", OTHER) == OTHER and asked["b1:9092"] == MAIN
    assert made.hook.access("/c", made.kafka_conn_id).kafka_config_of("b2:9092") == OTHER


def test_a_trigger_is_told_of_each_cluster_without_a_secret(asked):
    made = task("CheckpointLagSensor", query=["orders", "totals"])
    made.declare()
    told = made.options_for_trigger()
    assert json.loads(json.dumps(told["kafka_clusters"])) == {
        "b1:9092": {"options": {"security.protocol": "SSL"}, "conn_id": "kafka_main"},
        "b2:9092": {"options": {"client.id": "reader"}, "conn_id": None},
    }
    trigger = CheckpointLagTrigger(checkpoint=made.checkpoint, sources=made.sources, most=0, **told)
    assert events(trigger)[0]["status"] == "error"
    assert asked["b1:9092"] == MAIN


def test_a_connection_that_is_given_is_for_all_clusters(asked, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_MINE", '{"conn_type": "kafka", "extra": {"client.id": "mine"}}')
    made = task("CheckpointGateOperator", query="both", kafka_conn_id="mine")
    made.declare()
    access = made.hook.access("/c", made.kafka_conn_id)
    assert access.kafka_config_of("b1:9092") == {"security.protocol": "SSL", "client.id": "mine"}
    assert access.kafka_config_of("b2:9092") == {"client.id": "mine"}
