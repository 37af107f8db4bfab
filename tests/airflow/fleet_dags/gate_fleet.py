"""The gates of a deploy of many queries: a mapped task, each of which leaves the bookmark of its query."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_provider_ckpt.operators.checkpoint import CheckpointGateOperator

with DAG(
    "gate_fleet",
    schedule=None,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    params={"checkpoints": Param([], type="array")},
) as dag:

    @task
    def checkpoints(params: Any = None) -> list[str]:
        """The queries of the deploy."""
        return params["checkpoints"]

    CheckpointGateOperator.partial(task_id="gate", quick=True, on_block="skip").expand(checkpoint=checkpoints())
