"""``dags/kafka_lag_publish.py`` with a real ``airflow dags test`` run and a real broker."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.publish import ConsumerGroup, GroupOffset
from tests.airflow.conftest import ROOT, run
from tests.kafka_query import QUERY_ID, KafkaQuery

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]


def test_the_lag_of_a_fleet_is_published(airflow_env, kafka, tmp_path):
    topic = kafka.create()
    kafka.produce(topic, 5)
    for end, name in ((4, "a"), (5, "b")):
        KafkaQuery(tmp_path / name).commit({topic: {"0": end}})
    env = {
        **airflow_env,
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW_CONN_LAKE": json.dumps({"conn_type": "checkpoint", "host": str(tmp_path)}),
        "AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps(
            {"conn_type": "kafka", "extra": {"bootstrap.servers": kafka.bootstrap}}
        ),
    }
    conf = {"checkpoints": ["a", "b"], "checkpoint_conn_id": "lake", "group": f"{topic}-{{name}}"}
    run(["dags", "test", "kafka_lag_publish", "--conf", json.dumps(conf)], env)
    broker = KafkaBroker(kafka.bootstrap, {})
    found = {name: ConsumerGroup(broker, f"{topic}-{name}").committed() for name in ("a", "b")}
    assert found == {
        "a": {(topic, 0): GroupOffset(4, f"ckpt batch 0 of query {QUERY_ID}")},
        "b": {(topic, 0): GroupOffset(5, f"ckpt batch 0 of query {QUERY_ID}")},
    }
