"""The Kafka clusters of a query file: each configures the client of its own servers, of several queries and of one."""

from __future__ import annotations

import json
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ckpt.errors import CheckpointError, StoreError
from airflow_provider_ckpt.notifications import checkpoint as notifications
from airflow_provider_ckpt.sources.kafka import ask, ask_brokers
from airflow_provider_ckpt.sources.kafka import publish as publish_offsets
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


def test_a_notifier_configures_the_client_of_each_cluster(asked, monkeypatch):
    log = SimpleNamespace(lines=["java.lang.IllegalStateException: batch 0 doesn't exist"], notes=[])
    monkeypatch.setattr(notifications, "read_task_log", lambda *_, **__: log)
    notifications.ExplainNotifier(query="both").alert({})
    assert asked["b1:9092"] == MAIN and asked.get("b2:9092", OTHER) == OTHER


@pytest.fixture
def published(asked, monkeypatch, tmp_path):
    """The clients that publish, with the queries that each is asked to publish."""
    monkeypatch.setenv(
        "AIRFLOW_CONN_KAFKA_DEFAULT", '{"conn_type": "kafka", "extra": {"bootstrap.servers": "b0:9092"}}'
    )
    (tmp_path / "ckpt.yaml").write_text(
        f"{CLUSTERS}  plain: {{checkpoint: lake/plain, sources: ['kafka:b3:9092/plain']}}\n"
    )
    taken: list[tuple[str, dict[str, Any], list[str]]] = []

    def publish(stores, broker, group, **how):
        names = [store.location.rpartition("/")[2] for store in stores]
        taken.append((*broker, names))
        return [CheckpointError(f"{name} is not published") for name in names]

    monkeypatch.setattr(ask, "KafkaBroker", lambda servers, config: (servers, config))
    monkeypatch.setattr(publish_offsets, "publish_all", publish)
    return taken


@pytest.mark.parametrize("form", ["query", "checkpoint"])
def test_each_query_is_published_to_its_own_cluster(form, published, tmp_path):
    names = ["orders", "plain", "totals", "orders"]
    given = names if form == "query" else [f"{tmp_path}/lake/{name}" for name in names]
    with pytest.raises(AirflowException, match="orders is not published"):
        task("CheckpointPublishOffsetsOperator", **{form: given}).execute({"ti": Task()})
    assert published == [
        ("b1:9092", MAIN, ["orders", "orders"]),
        ("b3:9092", {"bootstrap.servers": "b0:9092"}, ["plain"]),
        ("b2:9092", OTHER, ["totals"]),
    ]


def test_the_source_that_is_named_has_the_cluster(published):
    with pytest.raises(AirflowException):
        task("CheckpointPublishOffsetsOperator", query="both", source_id=1).execute({"ti": Task()})
    assert published == [("b2:9092", OTHER, ["both"])]


def test_names_are_published_besides_locations_and_a_connection_is_for_all(published, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_MINE", '{"conn_type": "kafka", "extra": {"bootstrap.servers": "mine:9092"}}')
    made = task(
        "CheckpointPublishOffsetsOperator",
        checkpoint=[f"{tmp_path}/x"],
        query=["orders", "totals"],
        kafka_conn_id="mine",
    )
    for _ in range(2):
        with pytest.raises(AirflowException):
            made.execute({"ti": Task()})
    assert published == 2 * [("", {"bootstrap.servers": "mine:9092"}, ["x", "orders", "totals"])]


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
