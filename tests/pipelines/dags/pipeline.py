"""A run of a pipeline between its gate and its check of continuity."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from airflow.providers.apache.spark.operators.spark_pipelines import SparkPipelinesOperator
from airflow.sdk import DAG

from airflow_provider_ckpt.operators.checkpoint import CheckpointContinuityOperator, CheckpointGateOperator

with DAG("pipeline", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)) as dag:
    gate = CheckpointGateOperator(task_id="gate", query="shop")
    run = SparkPipelinesOperator(
        task_id="run", pipeline_spec=f"{os.environ['PIPELINE']}/spark-pipeline.yml", conn_id="spark_connect"
    )
    gone_on = CheckpointContinuityOperator(task_id="gone_on", query="shop", bookmark=gate.output["bookmark"])
    gate >> run >> gone_on
