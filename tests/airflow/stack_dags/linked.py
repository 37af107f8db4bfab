"""A task that defers, one that is mapped, and one that fails: where their buttons lead, and what OpenLineage is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG

from airflow_provider_ckpt.operators.checkpoint import CheckpointGateOperator
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

with DAG("linked", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)):
    CheckpointProgressSensor(
        task_id="deferred",
        checkpoint="linked_1",
        checkpoint_conn_id="streams",
        batch_id=1,
        deferrable=True,
        poke_interval=1,
        retries=3,  # LocalExecutor fails a deferred task that is resumed before the process of its first half has ended
        retry_delay=timedelta(0),
    )
    CheckpointGateOperator.partial(task_id="mapped", checkpoint_conn_id="streams").expand(
        checkpoint=["linked_1", "linked_2"]
    )
    CheckpointGateOperator(
        task_id="failed", checkpoint="{{ 'linked_2' }}", checkpoint_conn_id="streams", fail_on="warn"
    )
