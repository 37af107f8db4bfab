"""Connections of type ``kafka``, and what a task does whose broker refuses or does not answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.hooks.kafka import kafka_config
from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointGateOperator,
    CheckpointPublishOffsetsOperator,
    CheckpointResetOffsetsOperator,
)
from airflow_provider_ckpt.sensors.checkpoint import (
    CheckpointDataLossSensor,
    CheckpointLagSensor,
    CheckpointProgressSensor,
)
from airflow_provider_ckpt.waiting import SourceEndReached
from tests.kafka_query import KafkaQuery
from tests.kafka_security import PASSWORDS
from tests.operators.task import Task

pytestmark = pytest.mark.timeout(180)
WRONG = "wrong-hunter2"


def token(asked: str) -> tuple[str, float]:
    """A function that a connection may name."""
    raise AssertionError(asked)


@pytest.fixture
def connect(monkeypatch) -> Callable[..., None]:
    """Give the connection an extra."""

    def to(**extra: Any) -> None:
        named = {key.replace("_", "."): value for key, value in extra.items() if key != "oauth_cb"}
        named |= {key: value for key, value in extra.items() if key == "oauth_cb"}
        monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps({"conn_type": "kafka", "extra": named}))

    return to


def test_without_a_connection_nothing_is_configured():
    assert kafka_config(None) == {}


def test_the_extra_is_the_configuration(connect):
    connect(bootstrap_servers="127.0.0.1:1", sasl_password="hunter2hunter2")
    assert kafka_config("kafka_default") == {"bootstrap.servers": "127.0.0.1:1", "sasl.password": "hunter2hunter2"}


@pytest.mark.parametrize(
    ("allowed", "name", "said"),
    [
        ("", "tests.hooks.test_kafka.token", "a function that Airflow does not allow to be called"),
        ("other.token", "tests.hooks.test_kafka.token", "a function that Airflow does not allow to be called"),
        ("no.such.module", "no.such.module", "cannot be imported"),
        ("token", "token", "cannot be imported"),
        ("tests.hooks.test_kafka.no_such", "tests.hooks.test_kafka.no_such", "cannot be imported"),
    ],
)
def test_a_function_is_called_that_airflow_allows_and_no_other(connect, monkeypatch, allowed, name, said):
    monkeypatch.setenv("AIRFLOW__APACHE_KAFKA__CALLBACK_ALLOWLIST", allowed)
    connect(oauth_cb=name)
    with pytest.raises(StoreError, match=said):
        kafka_config("kafka_default")


def test_an_allowed_function_is_the_callback(connect, monkeypatch):
    monkeypatch.setenv("AIRFLOW__APACHE_KAFKA__CALLBACK_ALLOWLIST", "a.b, tests.hooks.test_kafka.token")
    connect(oauth_cb="tests.hooks.test_kafka.token")
    assert kafka_config("kafka_default")["oauth_cb"] is token
    connect(bootstrap_servers="127.0.0.1:1", oauth_cb="tests.hooks.test_kafka.token")
    assert CheckpointHook().access("/data/orders", "kafka_default").kafka_config["oauth_cb"] is token


TASKS: dict[str, Callable[[str, str], Any]] = {
    "publish": lambda checkpoint, place: CheckpointPublishOffsetsOperator(
        task_id="t", checkpoint=checkpoint, group="g-{name}", kafka_conn_id="kafka_default"
    ),
    "reset": lambda checkpoint, place: CheckpointResetOffsetsOperator(
        task_id="t",
        checkpoint=checkpoint,
        source="0=kafka",
        kafka_conn_id="kafka_default",
        to_earliest=True,
        sink="kafka",
        accept_sink="duplicated",
        query_is_stopped=True,
    ),
    "lag": lambda checkpoint, place: CheckpointLagSensor(
        task_id="t", checkpoint=checkpoint, sources={"0": "kafka"}, kafka_conn_id="kafka_default", most=0
    ),
    "data loss": lambda checkpoint, place: CheckpointDataLossSensor(
        task_id="t",
        checkpoint=checkpoint,
        sources={"0": "kafka"},
        kafka_conn_id="kafka_default",
        will_lose_data_within="PT1H",
    ),
    "progress": lambda checkpoint, place: CheckpointProgressSensor(
        task_id="t",
        checkpoint=checkpoint,
        condition=SourceEndReached(),
        sources={"0": "kafka"},
        kafka_conn_id="kafka_default",
    ),
    "gate": lambda checkpoint, place: CheckpointGateOperator(
        task_id="t", checkpoint=checkpoint, sources={"0": f"kafka:{place}"}, kafka_conn_id="kafka_default"
    ),
}


@pytest.mark.parametrize("name", TASKS)
def test_a_task_fails_for_good_where_it_is_refused_and_is_tried_again_where_nobody_answers(
    kafka, connect, tmp_path, capfd, caplog, name
):
    topic, query = kafka.create(), KafkaQuery(tmp_path / "orders")
    query.commit({topic: {"0": 0}})
    before = {path: path.read_bytes() for path in query.checkpoint.rglob("*") if path.is_file()}
    sasl = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-256", "sasl_username": "reader"}

    def act(place: str) -> None:
        task = TASKS[name](str(query.checkpoint), place)
        said.append(repr(task))
        getattr(task, "poke", task.execute)({"ti": Task()})

    said: list[str] = []
    connect(bootstrap_servers=kafka.at("SASL_PLAINTEXT"), **sasl, sasl_password=WRONG)
    with pytest.raises(AirflowFailException, match="the broker refuses the credentials") as refused:
        act(kafka.at("SASL_PLAINTEXT"))
    connect(bootstrap_servers="127.0.0.1:1", **sasl, sasl_password=PASSWORDS["reader"], socket_timeout_ms="500")
    with pytest.raises(AirflowException, match="the broker did not answer") as unavailable:
        act("127.0.0.1:1")
    assert not isinstance(unavailable.value, AirflowFailException)
    said += (str(refused.value), str(unavailable.value), caplog.text, *capfd.readouterr())
    assert not any("hunter2" in text for text in said)
    assert {path: path.read_bytes() for path in before} == before
