"""Gates of every kind before an open and a closed deploy of the checkpoint of the run's conf."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, task

from airflow_provider_ckpt.operators.checkpoint import CheckpointContinuityOperator, CheckpointGateOperator

PARTITIONS = "spark.sql.shuffle.partitions"
CLOSED, OPEN = "8", "2"

with DAG("gates", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)) as dag:
    common = {"checkpoint": "{{ dag_run.conf['checkpoint'] }}"}

    def after(name: str, **arguments: object) -> EmptyOperator:
        """A task that does nothing."""
        return EmptyOperator(task_id=name, **arguments)

    submit = SparkSubmitOperator(task_id="submit", conf={PARTITIONS: "{{ dag_run.conf['partitions'] }}"})
    fails = CheckpointGateOperator(task_id="fails", spark_task=submit, **common)
    fails >> submit

    @task.pyspark(config_kwargs={PARTITIONS: CLOSED})
    def session() -> None:
        """Never runs."""

    skips = CheckpointGateOperator(task_id="skips", spark_task="session", on_block="skip", **common)
    skips >> session() >> [after("cleanup", trigger_rule="all_done"), after("teardown").as_teardown()]

    for name, partitions in (("closed", CLOSED), ("open", OPEN)):
        gate = CheckpointGateOperator(
            task_id=name,
            confs={PARTITIONS: partitions},
            on_block="branch",
            branch_pass=f"{name}_pass",
            branch_block=f"{name}_block",
            **common,
        )
        gate >> [after(f"{name}_pass"), after(f"{name}_block")]

    passes = CheckpointGateOperator(task_id="passes", confs=f"{PARTITIONS}: {OPEN}", **common)
    earlier = {"query_id": None, "batch_id": 5, "offsets": {"0": '{"logOffset":4}'}, "watermark_ms": 1767225620000}
    CheckpointContinuityOperator(task_id="continued", bookmark=earlier, sources=["file"], **common)
    CheckpointContinuityOperator(task_id="pending", bookmark=passes.output["bookmark"], **common)
