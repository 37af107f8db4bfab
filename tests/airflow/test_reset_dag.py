"""The DAG ``checkpoint_reset`` in a real run, with a real broker: a person approves, and exactly that plan is applied."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from airflow_provider_ckpt.change.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.positions.extent import offsets_of
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import HERE, read_run, run
from tests.airflow.spark_jobs import CONFS, PERSON
from tests.reset.kafka_query import KafkaQuery

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.kafka, pytest.mark.exhaustive]


def test_the_plan_that_a_person_approved_is_applied(spark_env, kafka, tmp_path, monkeypatch):
    topic = kafka.create(2)
    for partition in (0, 1):
        kafka.produce(topic, 60, partition)
    monkeypatch.setattr(KafkaQuery, "TOPICS", (topic,))
    query = KafkaQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(4):
        query.commit(batch_id)
    conf = {
        "checkpoint": query.store.location,
        "source": f"0=kafka:{kafka.bootstrap}",
        "shift_by": -5,
        "topics": [f"{topic}:0"],
        "sink": "kafka",
        "application": str(HERE / "jobs" / "commit_next.py"),
        "application_args": [query.store.location],
        "confs": CONFS,
    }
    answering = subprocess.Popen([sys.executable, "-c", PERSON], env=spark_env, stdout=subprocess.PIPE, text=True)
    try:
        done = run(["dags", "test", "checkpoint_reset", "--conf", json.dumps(conf)], spark_env, check=False)
    finally:
        answering.terminate()
    asked = answering.communicate()[0]
    states, values = read_run(spark_env, "checkpoint_reset")
    said = done.stdout[-4000:] + done.stderr[-4000:]
    assert states == dict.fromkeys(("plan", "ask", "approve", "reset", "restart", "wait"), "success"), said
    assert "Sink effect: **duplicated**. To approve is to accept that." in asked
    assert "Source 0 goes to the committed offsets -5" in asked
    assert values["reset"]["plan_id"] == values["plan"]["plan_id"], "what was approved is what ran"
    (change,) = history(query.store)
    assert (change.approved_by, change.accepted_sink) == ("admin", ("duplicated",))
    view = observe(query.store)
    assert view.latest_committed == values["wait"]["batch_id"] == 4
    assert offsets_of(view.offset_seq(3).offset("0")) == {(topic, 0): 35, (topic, 1): 40}
