"""The sensors of positions: when they succeed, and what they return."""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred
from airflow.sdk.exceptions import AirflowRescheduleException

from airflow_provider_ckpt.documents.tasks import LagResultDocument, LossResultDocument
from airflow_provider_ckpt.sensors.checkpoint import CheckpointDataLossSensor, CheckpointLagSensor
from airflow_provider_ckpt.triggers.position_polls import LagPoll, Queries
from airflow_provider_ckpt.triggers.positions import CheckpointDataLossTrigger, CheckpointLagTrigger
from tests.json_documents import problems
from tests.kafka_checkpoint import commit_batch

HOUR_AGO_S = time.time() - 3_600
pytestmark = [pytest.mark.airflow, pytest.mark.timeout(180)]


@pytest.fixture
def waits(tmp_path):
    """Makes the lag sensor of a query of two directories' files and one source without an end."""
    commit_batch(tmp_path / "checkpoint", 3, '{"logOffset":-1}', "5")
    (tmp_path / "in").mkdir()
    for name in "ab":
        (tmp_path / "in" / name).write_bytes(b"12345")
        os.utime(tmp_path / "in" / name, (HOUR_AGO_S, HOUR_AGO_S))
    sources = {"0": f"file:{tmp_path}/in", "1": "rate"}

    def make(**given):
        given.setdefault("sources", sources)
        return CheckpointLagSensor(task_id="t", checkpoint=str(tmp_path / "checkpoint"), **given)

    return make


@pytest.fixture
def lag(waits):
    """What one poke of it says."""
    return lambda **given: waits(**given).poke({})


@pytest.mark.parametrize(
    ("limits", "is_done"),
    [
        ({"most": 2}, True),
        ({"most": "2"}, True),
        ({"most": 1}, False),
        ({"max_age": "P1D"}, True),
        ({"max_age": timedelta(hours=2)}, True),
        ({"max_age": 7200}, True),
        ({"max_age": 7.5}, False),
        ({"max_age": "PT30M"}, False),
        ({"most": 1, "max_age": "P1D"}, False),
    ],
)
def test_a_lag_within_all_limits_ends_the_wait(lag, limits, is_done):
    poked = lag(**limits)
    assert poked.is_done == is_done
    assert list(problems(poked.xcom_value, LagResultDocument)) == []
    assert [source["total"] for source in poked.xcom_value["checkpoints"][0]["sources"]] == [2, None]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"most": "many"}, "most must be a whole number"),
        ({"max_age": "soon"}, "max_age: 'soon' is not a duration"),
        ({"most": 1, "sources": {"1": "rate"}}, "source 0 was not declared"),
        ({"most": 0, "sources": {"0": "kakfa:b:9092", "1": "rate"}}, "'kakfa:b:9092' is not a source"),
    ],
)
def test_what_makes_no_sense_fails_for_good(lag, given, says):
    with pytest.raises(AirflowFailException, match=says):
        lag(**given)


def test_a_limit_is_needed(lag):
    with pytest.raises(ValueError, match="give most, max_age, or both"):
        lag()


# --- waiting in the triggerer, and between two pokes ------------------------------------------------------------------


def test_a_lag_that_is_small_enough_never_defers(waits):
    result = waits(most=2, deferrable=True).execute({})
    assert list(problems(result, LagResultDocument)) == []
    assert [source["total"] for source in result["checkpoints"][0]["sources"]] == [2, None]


def test_any_other_is_left_to_the_trigger_with_all_that_it_needs(waits, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "checkpoint"}))
    monkeypatch.setenv("AIRFLOW_CONN_BROKER", json.dumps({"conn_type": "kafka"}))
    more = {"kafka_conn_id": "broker", "checkpoint_conn_id": "lake", "poke_interval": 7.5, "timeout": 60}
    more |= {"source_options": {"0.minOffsetsPerTrigger": 5}, "trigger": "availableNow"}
    waiting = waits(most="1", max_age=timedelta(minutes=5), deferrable=True, **more)
    before_ms = int(time.time() * 1000)
    with pytest.raises(TaskDeferred) as deferred:
        waiting.execute({})
    path, arguments = deferred.value.trigger.serialize()
    assert path == "airflow_provider_ckpt.triggers.positions.CheckpointLagTrigger"
    assert before_ms + 60_000 <= arguments.pop("deadline_ms") <= before_ms + 120_000
    assert json.loads(json.dumps(arguments)) == {
        "checkpoint": waiting.checkpoint,
        "sources": waiting.sources,
        "most": "1",
        "source_options": {"0.minOffsetsPerTrigger": 5},
        "trigger": "availableNow",
        "max_age": 300.0,
        "kafka_conn_id": "broker",
        "checkpoint_conn_id": "lake",
        "storage_options": None,
        "kafka_options": None,
        "kafka_clusters": None,
        "query": None,
        "query_file": None,
        "poke_interval": 7.5,
    }


def test_what_the_trigger_has_found_is_what_the_task_returns(waits):
    waiting = waits(most=2, deferrable=True)
    result = waiting.poke({}).xcom_value
    assert waiting.execute_complete({}, {"status": "reached", "result": result}) == result


def test_in_reschedule_mode_it_comes_back_later(waits):
    first = SimpleNamespace(get_first_reschedule_date=lambda context: None)
    with pytest.raises(AirflowRescheduleException):
        waits(most=1, mode="reschedule").execute({"ti": first})
    assert waits(most=2, mode="reschedule").execute({"ti": first})["checkpoints"][0]["sources"][0]["total"] == 2


def test_the_scheduler_is_told_what_the_trigger_needs(waits):
    more = {"checkpoint_conn_id": "lake", "timeout": 60, "poke_interval": 7.5, "start_from_trigger": True}
    given = waits(most="{{ params.most }}", max_age=timedelta(hours=1), **more).start_trigger_args
    assert (given.next_method, given.timeout) == ("execute_complete", timedelta(seconds=60))
    trigger = CheckpointLagTrigger(**given.trigger_kwargs)
    assert trigger.serialize()[0] == given.trigger_cls
    assert (trigger.most, trigger.max_age, trigger.deadline_ms) == ("{{ params.most }}", 3600.0, None)
    rendered = {*CheckpointLagSensor.template_fields} & given.trigger_kwargs.keys()
    assert rendered == {*CheckpointLagSensor.template_fields}, "which the triggerer renders"


def test_a_sensor_of_losses_tells_its_trigger_as_much():
    options = {"0.failOnDataLoss": False}
    waiting = CheckpointDataLossSensor(
        task_id="t",
        checkpoint="orders",
        sources={"0": "kafka:{{ params.broker }}"},
        will_lose_data_within=timedelta(hours=6),
        source_options=options,
        start_from_trigger=True,
    )
    given = waiting.start_trigger_args
    trigger = CheckpointDataLossTrigger(**given.trigger_kwargs)
    assert trigger.serialize()[0] == given.trigger_cls
    assert (trigger.will_lose_data_within, trigger.source_options) == (21_600.0, options)
    assert {*CheckpointDataLossSensor.template_fields} == {*waiting.template_fields} & given.trigger_kwargs.keys()


# --- losses -----------------------------------------------------------------------------------------------------------


def test_a_loss_ends_the_wait(kafka, tmp_path):
    topic = kafka.create()
    kafka.produce(topic, 30)
    commit_batch(tmp_path / "checkpoint", 0, {topic: {0: 10}})

    def poke(within: str = "PT6H"):
        sources = {"0": f"kafka:{kafka.bootstrap}/{topic}"}
        place = str(tmp_path / "checkpoint")
        return CheckpointDataLossSensor(
            task_id="t", checkpoint=place, sources=sources, will_lose_data_within=within
        ).poke({})

    assert not poke().is_done
    kafka.delete_before(topic, 15)
    lost = poke()
    assert lost.is_done
    assert list(problems(lost.xcom_value, LossResultDocument)) == []
    assert [finding["code"] for finding in lost.xcom_value["checkpoints"][0]["findings"]] == ["CKPT250"]
    with pytest.raises(AirflowFailException, match="will_lose_data_within: 'soon' is not a duration"):
        poke("soon")


def test_the_lag_sensor_says_what_the_next_batch_reads_and_what_stays_unread(kafka, tmp_path):
    topic = kafka.create()
    kafka.produce(topic, 30)
    commit_batch(tmp_path / "checkpoint", 0, {topic: {0: 0}})
    query = Queries(str(tmp_path / "checkpoint"), {"0": f"kafka:{kafka.bootstrap}/{topic}"})
    limits = {"0.maxOffsetsPerTrigger": 25, "0.minOffsetsPerTrigger": 20}
    said = LagPoll(query, 0, None, limits, "availableNow").poll().text
    assert said == ("source 0 is behind by 30 offsets (next batch: 25 offsets; leaves at most 5 offsets unread)")
    assert LagPoll(query, 0).poll().text == "source 0 is behind by 30 offsets"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"0.failOnDataLoss": False}, "no source was declared that can be asked"),
        ({"0.maxOffsets": "1"}, "source_options: "),
    ],
)
def test_source_options_are_read_as_those_of_a_deploy(tmp_path, options, says):
    commit_batch(tmp_path / "checkpoint", 0, "5")
    sensor = CheckpointDataLossSensor(
        task_id="t",
        checkpoint=str(tmp_path / "checkpoint"),
        sources={"0": "rate"},
        will_lose_data_within="PT6H",
        source_options=options,
    )
    with pytest.raises(AirflowFailException, match=says):
        sensor.poke({})
