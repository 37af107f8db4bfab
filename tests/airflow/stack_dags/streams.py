"""What a real scheduler and a real triggerer run: waits, a DAG that a stream schedules, and partitions of its windows.

The connection ``streams`` is where the checkpoints are.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import (
    DAG,
    Asset,
    AssetWatcher,
    DayWindow,
    PartitionedAssetTimetable,
    RollupMapper,
    StartOfDayMapper,
    StartOfHourMapper,
    task,
)

from airflow_provider_ckpt.operators.checkpoint import CheckpointWindowsOperator
from airflow_provider_ckpt.sensors.checkpoint import CheckpointLagSensor, CheckpointProgressSensor
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger

START = datetime(2026, 1, 1, tzinfo=UTC)
#: LocalExecutor fails a deferred task that is resumed before the process of its first half has ended; a retry helps.
RETRIES = {"retries": 3, "retry_delay": timedelta(0)}


def wait(dag_id: str, **arguments: Any) -> None:
    """A DAG with one deferred wait."""
    with DAG(dag_id, schedule=None, start_date=START):
        CheckpointProgressSensor(
            task_id="wait",
            checkpoint="{{ dag_run.conf['checkpoint'] }}",
            checkpoint_conn_id="streams",
            batch_id="{{ dag_run.conf['batch_id'] }}",
            deferrable=True,
            poke_interval=1,
            **RETRIES,
            **arguments,
        )


def watcher(checkpoint: str, every: str) -> AssetWatcher:
    """Watches a checkpoint below the connection's base."""
    trigger = CheckpointProgressTrigger(
        checkpoint=checkpoint, checkpoint_conn_id="streams", every=every, poke_interval=1
    )
    return AssetWatcher(name=f"{checkpoint}_{every}", trigger=trigger)


wait("wait", timeout=600)
wait("wait_from_trigger", timeout=600, start_from_trigger=True)
wait("wait_40_seconds", timeout=40)


def lag(dag_id: str, **arguments: Any) -> None:
    """A DAG that waits in the triggerer until a query has read all files of a directory."""
    with DAG(dag_id, schedule=None, start_date=START):
        CheckpointLagSensor(
            task_id="wait",
            checkpoint="{{ dag_run.conf['checkpoint'] }}",
            checkpoint_conn_id="streams",
            sources={"0": "file:{{ dag_run.conf['directory'] }}"},
            most="{{ dag_run.conf['most'] }}",
            deferrable=True,
            poke_interval=1,
            timeout=600,
            **RETRIES,
            **arguments,
        )


lag("lag")
lag("lag_from_trigger", start_from_trigger=True)

batches = Asset("batches", watchers=[watcher("watched", "batch")])

with DAG("on_batch", schedule=batches, start_date=START):

    @task
    def batch_ids(triggering_asset_events: Any = None) -> list[int]:
        """The batches that have started this run."""
        return [event.extra["payload"]["batch_id"] for event in triggering_asset_events[batches]]

    batch_ids()

hour_passed = Asset("hour_passed", watchers=[watcher("windowed", "PT1H")])
hours = Asset("hours")

with DAG("windows", schedule=hour_passed, start_date=START):
    CheckpointWindowsOperator(
        task_id="windows", checkpoint="windowed", checkpoint_conn_id="streams", asset=hours, window="PT1H", **RETRIES
    )

hourly_schedule = PartitionedAssetTimetable(assets=hours, default_partition_mapper=StartOfHourMapper())
with DAG("hourly", schedule=hourly_schedule, start_date=START, max_active_runs=50):
    EmptyOperator(task_id="done")

of_the_day = RollupMapper(upstream_mapper=StartOfDayMapper(), window=DayWindow())
daily_schedule = PartitionedAssetTimetable(assets=hours, default_partition_mapper=of_the_day)
with DAG("daily", schedule=daily_schedule, start_date=START):
    EmptyOperator(task_id="done")
