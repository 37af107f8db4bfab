"""The sensor: when it defers, when it must not, and how it ends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSensorTimeout,
    TaskDeferred,
)

from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger

pytestmark = pytest.mark.airflow


@pytest.fixture
def checkpoint(golden) -> str:
    """Eight committed batches, watermark 2026-01-01T00:00:40Z, file source at log entry 5."""
    return str(golden("agg-hdfs"))


def sensor(checkpoint: str, **arguments: object) -> CheckpointProgressSensor:
    return CheckpointProgressSensor(
        task_id="wait", checkpoint=checkpoint, **{"poke_interval": 0.1, "timeout": 1, **arguments}
    )


REACHED = [
    {"batch_id": 7},
    {"batch_id": "3"},
    {"watermark": "2026-01-01T00:00:40Z"},
    {"watermark": datetime(2026, 1, 1, tzinfo=UTC)},
    {"watermark": 1767225640000},
    {"watermark": "2026-01-01"},
    {"offsets": {"0": {"logOffset": 5}}, "sources": {"0": "file"}},
    {"offsets": '{"0": {"logOffset": 2}}', "sources": {"0": "file"}},
    {"batch_id": 7, "watermark": "2026-01-01T00:00:40Z"},
]
NOT_REACHED = [
    {"batch_id": 8},
    {"watermark": "2026-01-01T00:00:40.001Z"},
    {"offsets": {"0": {"logOffset": 6}}, "sources": {"0": "file"}},
    {"batch_id": 7, "watermark": "2030-01-01"},
]


@pytest.mark.parametrize("deferrable", [False, True])
@pytest.mark.parametrize("target", REACHED)
def test_a_reached_target_never_defers(checkpoint, target, deferrable):
    assert sensor(checkpoint, deferrable=deferrable, **target).execute({}) == {
        "batch_id": 7,
        "watermark_ms": 1767225640000,
    } or (set(target) == {"batch_id"})


@pytest.mark.parametrize("target", NOT_REACHED)
def test_a_non_deferrable_sensor_never_defers(checkpoint, target):
    with pytest.raises(AirflowSensorTimeout):
        sensor(checkpoint, deferrable=False, **target).execute({})


@pytest.mark.parametrize("target", NOT_REACHED)
def test_a_deferrable_sensor_defers_with_all_that_the_trigger_needs(checkpoint, target):
    with pytest.raises(TaskDeferred) as deferred:
        sensor(checkpoint, deferrable=True, checkpoint_conn_id=None, **target).execute({})
    trigger = deferred.value.trigger
    path, arguments = trigger.serialize()
    assert path == "airflow_provider_ckpt.triggers.checkpoint.CheckpointProgressTrigger"
    assert arguments["checkpoint"] == checkpoint and arguments["poke_interval"] == 0.1
    assert arguments["deadline_ms"] > 0, "a wall-clock deadline, which survives a restart of the triggerer"
    assert CheckpointProgressTrigger(**arguments).serialize() == (path, arguments)
    assert deferred.value.method_name == "execute_complete"


def test_a_checkpoint_that_does_not_exist_yet_is_waited_for(tmp_path):
    with pytest.raises(TaskDeferred):
        sensor(str(tmp_path / "later"), batch_id=0, deferrable=True).execute({})


@pytest.mark.parametrize(("arguments", "message"), [
    ({}, "waits for nothing"), ({"batch_id": "five"}, "five"), ({"watermark": "soon"}, "no time"),
    ({"watermark": datetime(2026, 1, 1)}, "no time zone"), ({"offsets": "{"}, "wait"),
    ({"offsets": {"0": 5}}, "type is not known"), ({"offsets": {"7": 5}}, "no source '7'"),
    ({"offsets": {"0": 5}, "sources": {"0": "nokind"}}, "unknown source type"),
])  # fmt: skip
def test_arguments_that_make_no_sense_fail_at_once(checkpoint, arguments, message):
    for deferrable in (False, True):
        with pytest.raises(AirflowFailException, match=message):
            sensor(checkpoint, deferrable=deferrable, **arguments).execute({})


def test_the_end_of_a_deferral(checkpoint):
    waiting = sensor(checkpoint, batch_id=8, deferrable=True)
    reached = {"status": "reached", "batch_id": 8, "watermark_ms": 5}
    assert waiting.execute_complete({}, reached) == {"batch_id": 8, "watermark_ms": 5}
    with pytest.raises(AirflowSensorTimeout):
        waiting.execute_complete({}, {"status": "timeout", "batch_id": 7, "watermark_ms": 5})
    error = {
        "status": "error",
        "code": "X",
        "message": "m",
        "location": "l",
        "name": "n",
        "hint": "h",
        "batch_id": None,
    }
    with pytest.raises(AirflowFailException, match="X: l/n: m h"):
        waiting.execute_complete({}, {**error, "retryable": False})
    with pytest.raises(AirflowException):
        waiting.execute_complete({}, {**error, "retryable": True})


def test_templated_fields_are_attributes(checkpoint):
    for name in CheckpointProgressSensor.template_fields:
        assert hasattr(sensor(checkpoint, batch_id=1), name)
