"""Deferred waits that end badly: a deadline, and a checkpoint that is damaged."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow.sdk import DAG

from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

with DAG("waits_too_long", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)) as dag:
    CheckpointProgressSensor(
        task_id="wait",
        checkpoint="{{ dag_run.conf['checkpoint'] }}",
        batch_id=1_000_000,
        deferrable=True,
        poke_interval=1,
        timeout=3,
    )

with DAG("waits_for_watermark", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)):
    CheckpointProgressSensor(
        task_id="wait",
        checkpoint="{{ dag_run.conf['checkpoint'] }}",
        watermark="2030-01-01T00:00:00Z",
        deferrable=True,
        poke_interval=1,
        timeout=30,
    )
