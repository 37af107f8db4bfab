"""Every operator once, on the checkpoint of the run's conf, through a connection."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow.sdk import DAG

from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointCheckOperator,
    CheckpointGateOperator,
    CheckpointRestoreOperator,
    CheckpointRollbackOperator,
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
