"""Operators once each: those that look, on a checkpoint through a connection; those that change, on a home of their own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, Param

from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointCheckOperator,
    CheckpointFenceOperator,
    CheckpointGateOperator,
    CheckpointRepairOperator,
    CheckpointResetOffsetsOperator,
    CheckpointRestoreOperator,
    CheckpointRollbackOperator,
    CheckpointSalvageOperator,
    CheckpointSeedOperator,
    CheckpointSourcesOperator,
    CheckpointUndoOperator,
    CheckpointVerifyOperator,
)
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

with DAG("all_operators", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)) as dag:
    common = {"checkpoint": "{{ dag_run.conf['checkpoint'] }}", "checkpoint_conn_id": "lake"}
    (
        CheckpointProgressSensor(
            task_id="poke", batch_id="{{ dag_run.conf['batch'] }}", poke_interval=1, timeout=600, **common
        )
        >> CheckpointProgressSensor(
            task_id="reschedule",
            watermark="{{ dag_run.conf['watermark'] }}",
            mode="reschedule",
            poke_interval=1,
            timeout=600,
            **common,
        )
        >> CheckpointProgressSensor(
            task_id="deferred",
            offsets="{{ dag_run.conf['offsets'] }}",
            sources={"0": "file"},
            deferrable=True,
            poke_interval=1,
            timeout=600,
            **common,
        )
        >> CheckpointGateOperator(task_id="gate", confs={"spark.sql.shuffle.partitions": "2"}, sources=1, **common)
        >> CheckpointCheckOperator(task_id="check", deep=True, fail_on="warning", **common)
        >> CheckpointBackupOperator(task_id="backup", backup_root="backups", **common)
        >> CheckpointVerifyOperator(
            task_id="verify",
            checkpoint_conn_id="lake",
            backup_root="backups",
            backup_id="{{ ti.xcom_pull(task_ids='backup')['backup_id'] }}",
        )
        >> CheckpointRollbackOperator(
            task_id="rollback",
            to_batch="{{ dag_run.conf['to_batch'] }}",
            query_is_stopped=True,
            accept_sink="unknown",
            quiet_period=0,
            **common,
        )
        >> CheckpointRestoreOperator(
            task_id="restore",
            checkpoint="restored",
            accept_sink="unknown",
            checkpoint_conn_id="lake",
            backup_root="backups",
            backup_id="{{ ti.xcom_pull(task_ids='backup')['backup_id'] }}",
        )
    )


def ask_a_forged_broker(context: Any) -> None:
    """Let the task of a reset ask no real broker."""
    from airflow_provider_ckpt.sources.kafka import ask
    from tests.changes.reset.kafka_query import ForgedBroker, KafkaQuery

    broker = ForgedBroker({topic: {0: (0, 100), 1: (0, 100)} for topic in KafkaQuery.TOPICS})
    ask.KafkaBroker = lambda servers, config: broker


with DAG(
    "changes_once",
    schedule=None,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    params={"home": Param("/none", type="string")},
):

    def in_place(name: str, **more: Any) -> dict[str, Any]:
        """What a change in place is told."""
        return {"task_id": name, "checkpoint": f"{{{{ params.home }}}}/{name}/orders", "accept_sink": "unknown", **more}

    stopped = {"query_is_stopped": True, "quiet_period": 0}
    fenced = {"fence": True, "wait_for_batch": "30s", "quiet_period": "1s"}
    (
        CheckpointFenceOperator(
            task_id="fence", checkpoint="{{ params.home }}/fence/orders", wait_for_batch=timedelta(seconds=30)
        )
        >> CheckpointUndoOperator(**{**in_place("undo", **stopped), "checkpoint": "{{ params.home }}/fence/orders"})
        >> CheckpointSalvageOperator(**in_place("salvage", **stopped))
        >> CheckpointRepairOperator(**in_place("repair", sink="file:{{ params.home }}/repair/out", **stopped))
        >> CheckpointSeedOperator(
            task_id="seed",
            checkpoint="{{ params.home }}/seed/orders",
            origin="{{ params.home }}/seed/live/orders",
            sources="{'0': 'kafka'}",
            accept_sink="unknown",
        )
        >> CheckpointSourcesOperator(**in_place("sources", continued="{'0': '1', '1': '0'}", **fenced))
        >> CheckpointRollbackOperator(**in_place("rollback", to_batch="3", **fenced))
        >> CheckpointResetOffsetsOperator(
            **in_place("reset", source="0=kafka:forged:9092", shift_by="-10", **fenced),
            pre_execute=ask_a_forged_broker,
        )
    )
