"""The sensors of positions: when they succeed, and what they return."""

from __future__ import annotations

import os
import time

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.documents.tasks import LagResultDocument, LossResultDocument
from airflow_provider_ckpt.sensors.checkpoint import CheckpointDataLossSensor, CheckpointLagSensor
from tests.json_documents import problems
from tests.kafka_checkpoint import commit_batch

HOUR_AGO_S = time.time() - 3_600
pytestmark = [pytest.mark.airflow, pytest.mark.timeout(180)]


@pytest.fixture
def lag(tmp_path):
    """The lag sensor of a query of two directories' files and one source without an end."""
    commit_batch(tmp_path / "checkpoint", 3, '{"logOffset":-1}', "5")
    (tmp_path / "in").mkdir()
    for name in "ab":
        (tmp_path / "in" / name).write_bytes(b"12345")
        os.utime(tmp_path / "in" / name, (HOUR_AGO_S, HOUR_AGO_S))
    sources = {"0": f"file:{tmp_path}/in", "1": "rate"}

    def poke(**given):
        given.setdefault("sources", sources)
        return CheckpointLagSensor(task_id="t", checkpoint=str(tmp_path / "checkpoint"), **given).poke({})

    return poke


@pytest.mark.parametrize(
    ("limits", "is_done"),
    [
        ({"most": 2}, True),
        ({"most": "2"}, True),
        ({"most": 1}, False),
        ({"max_age": "P1D"}, True),
        ({"max_age": "PT30M"}, False),
        ({"most": 1, "max_age": "P1D"}, False),
    ],
)
def test_a_lag_within_all_limits_ends_the_wait(lag, limits, is_done):
    poked = lag(**limits)
    assert poked.is_done == is_done
    assert list(problems(poked.xcom_value, LagResultDocument)) == []
    assert [source["total"] for source in poked.xcom_value["sources"]] == [2, None]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"most": "many"}, "most and max_age of t"),
        ({"max_age": "soon"}, "most and max_age of t"),
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
    assert [finding["code"] for finding in lost.xcom_value["findings"]] == ["CKPT250"]
    with pytest.raises(AirflowFailException, match="will_lose_data_within of t"):
        poke("soon")


@pytest.mark.parametrize(
    ("options", "says"),
    [({"0.failOnDataLoss": False}, "no Kafka source was declared"), ({"0.maxOffsets": "1"}, "source_options of t: ")],
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
