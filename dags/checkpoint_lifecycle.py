"""A checkpoint's life on one machine: wait, gate, back up, a bad deploy, roll back, and proof that it is right again.

Run it with ``make demo``. It needs nothing but PySpark: the query of ``demo/streaming_job.py`` runs in processes of its
own, on local disk, below the directory in ``CKPT_DEMO_HOME``. On a slow machine raise the param ``timeout_s``, how long
each of these processes may take; ``CKPT_DEMO_RETRIES`` is how often a task that can be repeated is tried again.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, Param, get_current_context, task

from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointGateOperator,
    CheckpointRollbackOperator,
)
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

sys.path.append(str(Path(__file__).resolve().parent.parent / "demo"))
import trial

HOME = Path(os.environ.get("CKPT_DEMO_HOME", Path(tempfile.gettempdir()) / "ckpt-demo"))
#: A query file says where its checkpoint, its backups and its sink are; the first task writes it.
QUERY = {"query": "trial", "query_file": str(HOME / "ckpt.yaml")}
GOOD_BATCHES, BAD_BATCHES = 6, 3
#: Each file holds one minute, so the watermark is ten seconds short of the end of the last one.
WATERMARK = trial.FIRST_MINUTE + timedelta(minutes=GOOD_BATCHES - 2)


def run_job(*arguments: str, **places: str) -> None:
    """Run the query until its input is used up."""
    trial.run(str(HOME), *arguments, timeout_s=get_current_context()["params"]["timeout_s"], **places)


with DAG(
    "checkpoint_lifecycle",
    schedule=None,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    params={"timeout_s": Param(300, type="integer", minimum=1, description="How long a run of the query may take")},
    default_args={"retries": int(os.environ.get("CKPT_DEMO_RETRIES", "1")), "retry_delay": timedelta(seconds=5)},
    tags=["ckpt", "demo"],
    doc_md=__doc__,
) as dag:

    @task(retries=0)  # a second try would start a second query
    def start_query() -> int:
        """Start the query in its own process; it runs until it is stopped."""
        trial.declare(HOME, QUERY["query"])
        trial.write_minutes(HOME, range(GOOD_BATCHES))
        return trial.start(HOME)

    wait_for_stream = CheckpointProgressSensor(
        **{"task_id": "wait_for_stream", "batch_id": GOOD_BATCHES - 1, "watermark": WATERMARK.isoformat(), **QUERY},
        deferrable=True,
        poke_interval=1,
        timeout=timedelta(minutes=10),
    )
    closed = CheckpointGateOperator(
        task_id="gate_with_more_partitions",
        confs={"spark.sql.shuffle.partitions": "8"},
        on_block="branch",
        branch_pass="gate_was_open",
        branch_block="gate_was_closed",
        **QUERY,
    )
    gate = CheckpointGateOperator(task_id="gate", confs={"spark.sql.shuffle.partitions": "2"}, **QUERY)

    @task
    def gate_was_closed() -> str:
        """The gate was asked, and has stopped the deploy with other shuffle partitions."""
        return "blocked"

    @task(retries=0)
    def gate_was_open() -> None:
        """The gate should not have let that deploy pass."""
        raise AirflowFailException("the gate let a deploy pass that Spark would ignore a conf of")

    backup = CheckpointBackupOperator(task_id="backup", **QUERY)

    @task
    def bad_deploy() -> int:
        """Deploy a query that multiplies amounts by 100, over three more minutes; how many rows it has made."""
        trial.write_minutes(HOME, range(GOOD_BATCHES, GOOD_BATCHES + BAD_BATCHES))
        run_job("--factor", "100")
        return sum(row["amount"] >= 100_000 for row in trial.rows(HOME / "output"))

    plan = CheckpointRollbackOperator(
        task_id="rollback_plan",
        to_batch="{{ ti.xcom_pull(task_ids='backup')['batch_id'] }}",
        trim_sink_log=True,
        plan_only=True,
        **QUERY,
    )
    rollback = CheckpointRollbackOperator(task_id="rollback", plan=plan.output["plan"], query_is_stopped=True, **QUERY)

    @task
    def restart_query() -> None:
        """Deploy the repaired query; it catches up."""
        run_job()

    @task
    def compare(
        blocked: str, wrong: int, taken: dict[str, Any], planned: dict[str, Any], applied: dict[str, Any]
    ) -> None:
        """Row by row against a run over the same input that never had the bad deploy; then a summary."""
        run_job(output="clean_output", checkpoint="clean_checkpoint")
        result, clean = (sorted(map(repr, trial.rows(HOME / name))) for name in ("output", "clean_output"))
        summary = {
            "gate with 8 shuffle partitions": blocked,
            "backup": f"{taken['backup_id']}, batch {taken['batch_id']}, {taken['objects']} objects",
            "bad deploy": f"{wrong} wrong rows in the sink",
            "rollback planned": f"to batch {planned['batch_id']}, {planned['actions']} steps",
            "rollback applied": f"{applied['receipt']['actions']} steps, sink {applied['sink_effects'][0]['effect']}",
            "rows after the restart": len(result),
            "rows of the clean run": len(clean),
            "rows that differ": len(set(result) ^ set(clean)) + abs(len(result) - len(clean)),
        }
        (HOME / "summary.json").write_text(json.dumps(summary))
        if summary["rows that differ"] or not clean or not wrong:
            raise ValueError(f"the results are not what they should be: {summary}")

    pid, blocked, wrong = start_query(), gate_was_closed(), bad_deploy()
    pid >> wait_for_stream >> task(task_id="stop_query")(trial.stop)(pid) >> closed >> [blocked, gate_was_open()]
    blocked >> gate >> backup >> wrong
    compared = compare(blocked, wrong, backup.output, plan.output, rollback.output)
    wrong >> plan >> rollback >> restart_query() >> compared
