"""Operators and sensors that take the name of a query."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from airflow.sdk import Asset

from airflow_provider_ckpt.operators import checkpoint as operators
from airflow_provider_ckpt.sensors import checkpoint as sensors

KINDS = {name: getattr(room, name) for room in (operators, sensors) for name in room.__all__}
#: Arguments that no query file declares, of the classes that need some.
BESIDE: dict[str, dict[str, Any]] = {
    "CheckpointCompareOperator": {"fork": "/fork", "shadow_sink": "kafka", "batches": {}},
    "CheckpointStageOperator": {"fork": "/fork"},
    "CheckpointPublishOffsetsOperator": {"group": "{name}"},
    "CheckpointWindowsOperator": {"asset": Asset("hours"), "window": "PT1H"},
    "CheckpointDataLossSensor": {"will_lose_data_within": "1h"},
    "CheckpointLagSensor": {"most": 0},
    "CheckpointPruneOperator": {"keep_last": 1},
}
#: Those of one query; an index is of many.
ONE = sorted(KINDS.keys() - {"CheckpointIndexOperator", "CheckpointQueriesOperator"})


def task(name: str, **given: Any) -> Any:
    """One of them, with what no query file declares."""
    return KINDS[name](task_id="t", **BESIDE.get(name, {}), **given)


def events(trigger: Any) -> list[dict[str, Any]]:
    """What a trigger fires, made again as a triggerer does."""

    async def run() -> list[dict[str, Any]]:
        path, arguments = trigger.serialize()
        assert path.endswith(type(trigger).__name__)
        return [event.payload async for event in type(trigger)(**json.loads(json.dumps(arguments))).run()]

    return asyncio.run(run())
