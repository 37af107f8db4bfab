"""A query whose state gets another number of partitions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.approval import approve, carry_out, text_of
from airflow_provider_ckpt.dags.rollback import start_or_restart, stop_where_declared
from airflow_provider_ckpt.dags.subject import OF_PARAMS, dag_of
from airflow_provider_ckpt.operators.backup import CheckpointBackupOperator
from airflow_provider_ckpt.operators.changes.repartition import CheckpointRepartitionOperator

PARAMS: dict[str, Param] = {
    **params.QUERY,
    "partitions": Param(type="integer", minimum=1, description="How many partitions the state is to have"),
    "sink": params.SINK,
    "backup_root": params.BACKUP_ROOT,
    "spark_confs": Param(
        {},
        type="object",
        description="Of the Spark that repartitions: its memory, and what it needs to reach the state",
    ),
    **params.START,
}

_ABOUT = """Plan `{{ plan['plan_id'] }}` gives the state of `QUERY` to {{ params.partitions }} partitions. Before
that, a backup is taken; `ckpt undo` takes the repartition back."""


def repartition_dag(dag_id: str = "checkpoint_repartition", **dag: Any) -> DAG:
    """The DAG that gives the state of the query of its params another number of partitions, when a person approves."""
    subject = OF_PARAMS
    with dag_of(dag_id, PARAMS, **dag) as made:
        plan = CheckpointRepartitionOperator(
            task_id="plan", plan_only=True, **params.arguments_of("partitions", "sink"), **subject.arguments
        )
        text = text_of(plan.task_id, _ABOUT, subject)
        approving = approve(subject, "Repartition the state of QUERY", text)
        backup = CheckpointBackupOperator(task_id="backup", **params.arguments_of("backup_root"), **subject.arguments)
        repartition = carry_out(
            CheckpointRepartitionOperator,
            "repartition",
            subject,
            plan,
            approving,
            confs="{{ params.spark_confs }}",
            retries=3,
            retry_delay=timedelta(minutes=1),
        )
        stop_where_declared() >> plan >> approving >> backup >> repartition
        start_or_restart(repartition, plan)
    return made
