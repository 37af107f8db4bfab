"""The DAG ``checkpoint_reset`` in a real run, with a real broker: a person approves, and exactly that plan is applied."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.extent import offsets_of
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import ShiftBy
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import HERE, read_run, run, start
from tests.airflow.spark_jobs import CONFS, PERSON
from tests.changes.reset.kafka_query import KafkaQuery
from tests.kafka_lab import Broker

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.kafka, pytest.mark.exhaustive]


TASKS = ("stop", "plan", "ask", "approve", "reset", "start", "restarts", "restart", "wait")


def moved_query(broker: Broker, place: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[KafkaQuery, str]:
    """Batches 0 to 3 of a query that is at 40 in both partitions of its topic, which hold 0 to 60; and the topic."""
    topic = broker.create(2)
    for partition in (0, 1):
        broker.produce(topic, 60, partition)
    monkeypatch.setattr(KafkaQuery, "TOPICS", (topic,))
    query = KafkaQuery(Store.open(str(place)))
    for batch_id in range(4):
        query.commit(batch_id)
    return query, topic


def asking_for(query: KafkaQuery, broker: Broker, topic: str) -> list[str]:
    """The command that runs the DAG, which is to move one partition by 5."""
    conf = {
        "checkpoint": query.store.location,
        "source": f"0=kafka:{broker.bootstrap}",
        "shift_by": -5,
        "topics": [f"{topic}:0"],
        "sink": "kafka",
        "application": str(HERE / "jobs" / "commit_next.py"),
        "application_args": [query.store.location],
        "confs": CONFS,
    }
    return ["dags", "test", "checkpoint_reset", "--conf", json.dumps(conf)]


@contextmanager
def a_person(env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Somebody who approves."""
    answering = subprocess.Popen([sys.executable, "-c", PERSON], env=env, stdout=subprocess.PIPE, text=True)
    try:
        yield answering
    finally:
        answering.terminate()


def run_with(
    env: dict[str, str], arguments: list[str], before_the_answer: Callable[[], object]
) -> tuple[dict[str, str], dict[str, Any], str]:
    """States and values of a run, in which something happens between the plan and its approval; and what it said."""
    command, deadline = start(arguments, env), time.monotonic() + 600
    while not (command.has_ended() or read_run(env, "checkpoint_reset")[0].get("approve") == "awaiting_input"):
        assert time.monotonic() < deadline, "nobody was asked"
        time.sleep(0.2)
    before_the_answer()
    with a_person(env):
        done = command.result()
    return *read_run(env, "checkpoint_reset"), done.stdout + done.stderr


def positions(query: KafkaQuery, batch_id: int) -> list[int]:
    return list(offsets_of(observe(query.store).offset_seq(batch_id).offset("0")).values())


def test_the_plan_that_a_person_approved_is_applied(spark_env, kafka, tmp_path, monkeypatch):
    query, topic = moved_query(kafka, tmp_path / "orders", monkeypatch)
    with a_person(spark_env) as answering:
        done = run(asking_for(query, kafka, topic), spark_env, check=False)
    asked = answering.communicate()[0]
    states, values = read_run(spark_env, "checkpoint_reset")
    said = done.stdout[-4000:] + done.stderr[-4000:]
    assert states == dict.fromkeys(TASKS, "success"), said
    assert "Sink effect: **duplicated**. To approve is to accept that." in asked
    assert "Source 0 goes to the committed offsets -5" in asked
    assert values["reset"]["plan_id"] == values["plan"]["plan_id"], "what was approved is what ran"
    (change,) = history(query.store)
    assert (change.approved_by, change.accepted_sink) == ("admin", ("duplicated",))
    assert observe(query.store).latest_committed == values["wait"]["batch_id"] == 4
    assert positions(query, 3) == [35, 40]


def test_a_broker_that_is_gone_by_then_is_not_asked_again(spark_env, tmp_path, monkeypatch):
    """The plan holds the offsets that a person has approved."""
    broker = Broker(tmp_path)
    query, topic = moved_query(broker, tmp_path / "orders", monkeypatch)
    states, _, said = run_with(spark_env, asking_for(query, broker, topic), broker.stop)
    assert states == dict.fromkeys(TASKS, "success"), said[-4000:]
    assert positions(query, 3) == [35, 40]


@pytest.mark.parametrize("what", ["the query runs", "another reset"])
def test_a_position_that_has_moved_since_is_not_moved_by_the_old_plan(spark_env, kafka, tmp_path, monkeypatch, what):
    query, topic = moved_query(kafka, tmp_path / "orders", monkeypatch)

    def reset() -> None:
        stores = Stores(query.store)
        aim = KafkaAim(KafkaBroker(kafka.bootstrap, {}), ShiftBy(10))
        plan = make_reset(stores, "0", aim, sink=parse_sink("noop"))
        apply(plan, stores, query_is_stopped=True, quiet_s=0)

    happens = reset if what == "another reset" else lambda: query.commit(4)
    states, _, said = run_with(spark_env, asking_for(query, kafka, topic), happens)
    expected = dict.fromkeys(("stop", "plan", "ask", "approve"), "success") | {"reset": "failed"}
    assert states == {**expected, **dict.fromkeys(("start", "restarts", "restart", "wait"), "upstream_failed")}, said[
        -4000:
    ]
    assert "Nothing was done" in said and "expected" in said
    assert positions(query, 3) == ([50, 50] if what == "another reset" else [40, 40])
