"""The operator that publishes positions, with a real broker and a connection of type ``kafka``."""

from __future__ import annotations

import json

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents.tasks import PublishResultDocument
from airflow_provider_ckpt.operators.checkpoint import CheckpointPublishOffsetsOperator
from airflow_provider_ckpt.sources.kafka import ask as ask_kafka
from airflow_provider_ckpt.sources.kafka.publish import ConsumerGroup
from tests.json_documents import problems
from tests.kafka_query import KafkaQuery

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def connect(monkeypatch):
    """Make the connection lead to a broker."""

    def to(bootstrap: str) -> None:
        extra = {"bootstrap.servers": bootstrap}
        monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps({"conn_type": "kafka", "extra": extra}))

    return to


@pytest.fixture
def queries(kafka, connect, tmp_path) -> tuple[str, list[str]]:
    """Two queries over one topic, which have read 1 and 2 of 5 records; and the topic."""
    connect(kafka.bootstrap)
    topic, found = kafka.create(), []
    kafka.produce(topic, 5)
    for end, name in enumerate(("a", "b"), 1):
        query = KafkaQuery(tmp_path / name)
        query.commit({topic: {"0": end}})
        found.append(str(query.checkpoint))
    return topic, found


def publish(checkpoint: object, group: str, **more: object) -> object:
    return CheckpointPublishOffsetsOperator(task_id="publish", checkpoint=checkpoint, group=group, **more).execute({})


def committed(kafka, group: str) -> list[int]:
    broker = ask_kafka.KafkaBroker(kafka.bootstrap, {})
    return [at.offset for at in ConsumerGroup(broker, group).committed().values()]


def test_a_fleet_is_published_in_one_task(kafka, queries):
    topic, checkpoints = queries
    document = publish(checkpoints, f"{topic}-{{name}}", source_id=0)
    assert list(problems(document, PublishResultDocument)) == []
    assert document["publish_again_before_ms"] > now_ms() + 6 * 24 * 3_600_000, "by default a broker keeps them 7 days"
    assert [(item["group"], item["lag"]) for item in document["published"]] == [(f"{topic}-a", 4), (f"{topic}-b", 3)]
    assert (committed(kafka, f"{topic}-a"), committed(kafka, f"{topic}-b")) == ([1], [2])


def test_the_task_fails_after_the_others_were_published(kafka, queries, tmp_path):
    topic, checkpoints = queries
    with pytest.raises(AirflowFailException, match="NOT_FOUND: .*nowhere: the location does not exist"):
        publish([str(tmp_path / "nowhere"), checkpoints[0]], f"{topic}-{{name}}")
    assert committed(kafka, f"{topic}-a") == [1]


def test_a_broker_that_does_not_answer_is_tried_again(queries, connect, monkeypatch):
    monkeypatch.setattr(ask_kafka, "TIMEOUT_S", 0.5)
    connect("127.0.0.1:1")
    with pytest.raises(AirflowException, match="STORE_UNAVAILABLE") as failed:
        publish(queries[1][0], "g")
    assert not isinstance(failed.value, AirflowFailException)
