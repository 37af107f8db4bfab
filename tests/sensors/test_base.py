"""What holds for each sensor: how it defers, how it ends, and what Airflow's flags of sensors make of that."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)

from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.sensors.checkpoint import (
    CheckpointDataLossSensor,
    CheckpointLagSensor,
    CheckpointProgressSensor,
)
from tests.operators.task import Task

pytestmark = pytest.mark.airflow

#: Each sensor and what it waits for.
SENSORS = {
    "progress": (CheckpointProgressSensor, {"batch_id": 99}),
    "lag": (CheckpointLagSensor, {"sources": {"0": "file:/nowhere"}, "most": 0}),
    "loss": (CheckpointDataLossSensor, {"sources": {"0": "kafka:localhost:1"}, "will_lose_data_within": "1h"}),
}
ERROR = {"code": "X", "message": "m", "location": "l", "name": "n", "hint": "h", "batch_id": None}


@pytest.fixture(params=SENSORS.values(), ids=SENSORS)
def make(request, tmp_path):
    """Makes each of the sensors, of a checkpoint that is not there."""
    kind, needed = request.param

    def made(**arguments: Any) -> Any:
        given = {"checkpoint": str(tmp_path / "orders"), "poke_interval": 0.1, "timeout": 1, **needed}
        return kind(task_id="t", **{**given, **arguments})

    return made


@pytest.fixture
def away(monkeypatch):
    """A storage that does not answer."""

    def fail(self: Any, location: str) -> Any:
        raise StoreUnavailableError("away", location=location)

    monkeypatch.setattr(CheckpointHook, "store", fail)


def test_a_storage_that_is_away_is_left_to_the_trigger(make, away):
    with pytest.raises(TaskDeferred) as deferred:
        make(deferrable=True).execute({})
    assert deferred.value.method_name == "execute_complete"
    assert deferred.value.trigger.poke_interval == 0.1 and deferred.value.trigger.deadline_ms


def test_a_storage_that_is_away_fails_a_poke_in_a_way_that_can_be_tried_again(make, away):
    with pytest.raises(AirflowException) as failed:
        make(deferrable=False).poke({})
    assert not isinstance(failed.value, AirflowFailException)


def test_the_end_of_a_deferral_in_time_out(make):
    with pytest.raises(AirflowSensorTimeout, match="was not met in time"):
        make(deferrable=True).execute_complete({}, {"status": "timeout", "text": "source 0 is behind"})


@pytest.mark.parametrize(("retryable", "kind"), [(False, AirflowFailException), (True, AirflowException)])
def test_the_end_of_a_deferral_with_an_error(make, retryable, kind):
    with pytest.raises(kind, match=r"X: l/n: m\. h") as failed:
        make(deferrable=True).execute_complete({}, {"status": "error", "retryable": retryable, **ERROR})
    assert isinstance(failed.value, AirflowFailException) == (not retryable)


@pytest.mark.parametrize("flag", ["soft_fail", "never_fail"])
@pytest.mark.parametrize("event", [{"status": "timeout"}, {"status": "error", "retryable": False, **ERROR}], ids=str)
def test_a_sensor_that_must_not_fail_skips_when_the_trigger_has_failed(make, flag, event):
    with pytest.raises(AirflowSkipException):
        make(deferrable=True, **{flag: True}).resume_execution("execute_complete", {"event": event}, {})


@pytest.mark.parametrize("flag", ["soft_fail", "never_fail"])
@pytest.mark.parametrize("deferrable", [False, True])
def test_a_sensor_that_must_not_fail_skips_when_its_poke_fails_for_good(make, flag, deferrable):
    task = Task()
    with pytest.raises(AirflowSkipException):
        make(deferrable=deferrable, checkpoint=5, **{flag: True}).execute({"ti": task})
    assert "not 5" in task.pushed["error"]["error"]["message"]


def test_the_fields_that_are_templates_are_attributes(make):
    sensor = make()
    assert {"checkpoint", "sources", "checkpoint_conn_id", "kafka_conn_id"} < {*sensor.template_fields}
    assert [name for name in sensor.template_fields if not hasattr(sensor, name)] == []
