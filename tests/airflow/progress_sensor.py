"""Sensors as a DAG has them, with a short pause and a short patience."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor


def sensor(checkpoint: str, **arguments: object) -> CheckpointProgressSensor:
    return CheckpointProgressSensor(
        task_id="wait", checkpoint=checkpoint, **{"poke_interval": 0.1, "timeout": 1, **arguments}
    )


def deferred(waiting: CheckpointProgressSensor) -> TaskDeferred:
    with pytest.raises(TaskDeferred) as raised:
        waiting.execute({})
    return raised.value
