"""One query by its name: backed up, a rollback planned by one task and carried out by another, and waited for."""

from __future__ import annotations

from airflow.sdk import DAG

from airflow_provider_ckpt.hooks.query_file import configured_file, queries
from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointGateOperator,
    CheckpointRollbackOperator,
)
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

for query in queries() if configured_file() else ():
    with DAG(f"by_name_{query.name}", params={"query": query.name}) as dag:
        name = "{{ params.query }}"
        wait = CheckpointProgressSensor(task_id="wait", query=name, batch_id=7)
        gate = CheckpointGateOperator(task_id="gate", query=name)
        backup = CheckpointBackupOperator(task_id="backup", query=name)
        plan = CheckpointRollbackOperator(task_id="plan", query=name, to_batch=5, plan_only=True)
        rollback = CheckpointRollbackOperator(
            task_id="rollback",
            query=name,
            plan="{{ ti.xcom_pull(task_ids='plan', key='plan') }}",
            query_is_stopped=True,
            quiet_period=0,
            accept_sink=["duplicated"],
        )
        wait >> gate >> backup >> plan >> rollback
    globals()[dag.dag_id] = dag
