"""The gate of a query that reads Kafka: what it asks the broker, and what it remembers from run to run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.operators.checkpoint import CheckpointGateOperator
from airflow_provider_ckpt.operators.gate import topic_ids_of
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch
from tests.operators.task import Task

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(180)]


@pytest.mark.parametrize("given", [{"t": "1"}, '{"t": "1"}', "t: '1'"])
def test_topic_ids_are_a_mapping_or_its_text(given):
    assert topic_ids_of(given) == {"t": "1"}


@pytest.mark.parametrize("given", [None, "", {}, "{}"])
def test_no_topic_ids_are_none(given):
    assert topic_ids_of(given) == {}


@pytest.mark.parametrize("given", ["[1]", "{", 7])
def test_what_is_no_mapping_is_refused(given):
    with pytest.raises(CheckpointError, match="topic_ids"):
        topic_ids_of(given)


def test_a_topic_that_was_created_again_closes_the_gate_of_the_next_run(kafka, tmp_path, monkeypatch):
    topic = kafka.create()
    kafka.produce(topic, 12)
    commit_batch(tmp_path / "checkpoint", 0, {topic: {0: 10}})
    config = {"bootstrap.servers": kafka.bootstrap}
    monkeypatch.setenv("AIRFLOW_CONN_BROKER", json.dumps({"conn_type": "kafka", "extra": config}))

    def gate(**given: Any) -> Task:
        pushed = Task()
        CheckpointGateOperator(
            task_id="gate",
            checkpoint=str(tmp_path / "checkpoint"),
            sources=[f"kafka:/{topic}"],
            kafka_conn_id="broker",
            quick=True,
            **given,
        ).execute({"ti": pushed})
        return pushed

    first = gate().pushed["topic_ids"]
    assert first.keys() == {f"0/{topic}"}
    assert gate(topic_ids=first).pushed["topic_ids"] == first
    kafka.recreate(topic)
    kafka.produce(topic, 12)
    assert gate().pushed["topic_ids"] != first, "without memory nothing is noticed"
    with pytest.raises(AirflowFailException, match="was created again"):
        gate(topic_ids=json.dumps(first))


@pytest.mark.parametrize(("place", "opened"), [("memory://lake/d.conf", ["memory://lake"]), ("{tmp}/d.conf", [])])
def test_what_opens_the_checkpoint_opens_a_conf_file_beside_it(place, opened, tmp_path, monkeypatch):
    place = place.replace("{tmp}", str(tmp_path))
    directory, _, name = place.rpartition("/")
    Store.open(directory).write(name, b"spark.a 1\n")
    taken = []
    monkeypatch.setattr(CheckpointHook, "store", lambda _, at: taken.append(at) or Store.open(at))
    task = CheckpointGateOperator(task_id="gate", checkpoint="memory://lake/orders", conf_file=place)
    assert task._read_confs(task.checkpoint) == {"spark.a": "1"} and taken == opened
