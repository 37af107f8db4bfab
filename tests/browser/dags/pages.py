"""A task with a checkpoint, one that is mapped, and one without."""

from __future__ import annotations

import os

from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG

from airflow_provider_ckpt.operators.checkpoint import CheckpointCheckOperator

ROOTS = os.environ.get("CKPT_ROOTS", "")

with DAG("pages", schedule=None) as dag:
    CheckpointCheckOperator(task_id="check", checkpoint=f"{ROOTS}/team/orders", fail_on="never")
    CheckpointCheckOperator.partial(task_id="check_each", fail_on="never").expand(
        checkpoint=[f"{ROOTS}/team/orders", f"{ROOTS}/team/damaged"]
    )
    PythonOperator(task_id="hello", python_callable=print)
