"""Waits for what a real broker holds, as users write them: the command, the sensor, the trigger."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSensorTimeout, TaskDeferred

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger
from airflow_provider_ckpt.waiting import LagAtMost, SourceEndReached
from tests.kafka_query import KafkaQuery

pytestmark = pytest.mark.timeout(180)

NOW = ("--timeout", "0.2", "--poll-interval", "0.1")


class Reader(KafkaQuery):
    """A query that reads one partition."""

    def __init__(self, checkpoint: Path, topic: str) -> None:
        super().__init__(checkpoint)
        self.topic = topic

    def read_to(self, offset: int) -> None:
        self.commit({self.topic: {"0": offset}})


@pytest.fixture
def reader(kafka, tmp_path) -> Reader:
    """A query that has read 10 of 15 records."""
    reader = Reader(tmp_path / "checkpoint", kafka.create())
    kafka.produce(reader.topic, 15)
    reader.read_to(10)
    return reader


def test_the_command_waits_for_what_was_there_and_for_a_lag(kafka, reader, capsys):
    source = ("--source", f"0=kafka:{kafka.bootstrap}")

    def wait(*options: str) -> int:
        return run(["wait", str(reader.checkpoint), *options, *NOW])

    assert wait("--caught-up", *source) == 1
    assert (wait("--lag", "4", *source), wait("--lag", "5", *source)) == (1, 0)
    assert wait("--caught-up", "--source", "0=kafka", "--kafka-config", f"bootstrap.servers={kafka.bootstrap}") == 1
    reader.read_to(15)
    assert wait("--caught-up", *source) == 0
    assert wait("--caught-up") == 2
    assert "no source was declared" in capsys.readouterr().err


@pytest.fixture
def broker_connection(kafka, monkeypatch) -> str:
    extra = {"bootstrap.servers": kafka.bootstrap}
    monkeypatch.setenv("AIRFLOW_CONN_BROKER", json.dumps({"conn_type": "kafka", "extra": extra}))
    return "broker"


def test_the_sensor_takes_the_end_once(kafka, reader, broker_connection):
    sensor = CheckpointProgressSensor(
        task_id="wait",
        checkpoint=str(reader.checkpoint),
        condition=SourceEndReached(),
        sources={"0": "kafka"},
        kafka_conn_id=broker_connection,
    )
    assert not sensor.poke({})
    kafka.produce(reader.topic, 5)
    reader.read_to(15)
    assert sensor.poke({}).xcom_value["met"] == ["offsets"], "what came later is not waited for"


TAIL = "ends with at most 5 offsets of source 0 unread, until its next start"
LEAVES = {"source_options": {"0.minOffsetsPerTrigger": 20, "0.maxOffsetsPerTrigger": 25}, "trigger": "availableNow"}


@pytest.mark.parametrize("deferrable", [False, True])
def test_the_sensor_names_the_tail_that_the_query_leaves(kafka, reader, broker_connection, deferrable):
    def sensor(**more: object) -> CheckpointProgressSensor:
        place = {"checkpoint": str(reader.checkpoint), "sources": {"0": "kafka"}, "kafka_conn_id": broker_connection}
        given = {**place, **LEAVES, "condition": SourceEndReached(), "poke_interval": 0.1, "timeout": 0.3, **more}
        return CheckpointProgressSensor(task_id="wait", deferrable=deferrable, **given)

    with pytest.raises(AirflowFailException, match=TAIL):
        sensor(fail_fast=True).execute({})
    if not deferrable:
        with pytest.raises(AirflowSensorTimeout, match=TAIL):
            sensor().execute({})
        return
    with pytest.raises(TaskDeferred) as deferred:
        sensor().execute({})
    _, arguments = deferred.value.trigger.serialize()
    trigger = CheckpointProgressTrigger(**json.loads(json.dumps(arguments)))

    async def event() -> dict:
        return (await asyncio.wait_for(anext(trigger.run()), 60)).payload

    with pytest.raises(AirflowSensorTimeout, match=TAIL):
        sensor().execute_complete({}, asyncio.run(event()))


def test_the_trigger_asks_again_how_far_behind_the_query_is(kafka, reader, broker_connection):
    trigger = CheckpointProgressTrigger(
        checkpoint=str(reader.checkpoint),
        condition=LagAtMost(lag_units=3).to_dict(),
        sources={"0": f"kafka:/{reader.topic}"},
        kafka_conn_id=broker_connection,
        poke_interval=0.1,
    )

    async def first_event() -> dict:
        event = asyncio.ensure_future(anext(trigger.run()))
        await asyncio.sleep(1)
        kafka.produce(reader.topic, 5)
        reader.read_to(15)
        await asyncio.sleep(1)
        assert not event.done(), "5 records are behind again"
        reader.read_to(17)
        return (await asyncio.wait_for(event, 30)).payload

    assert asyncio.run(first_event())["batch_id"] == 2
