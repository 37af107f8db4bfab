"""A checkpoint's life on one machine: wait, gate, back up, a bad deploy, roll back, and proof that it is right again.

Run it with ``make demo``. It needs nothing but PySpark: the query of ``demo/streaming_job.py`` runs in processes of its
own, on local disk, below the directory in ``CKPT_DEMO_HOME``. On a slow machine raise the param ``timeout_s``, how long
each of these processes may take; ``CKPT_DEMO_RETRIES`` is how often a task that can be repeated is tried again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, Param, get_current_context, task

from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointGateOperator,
    CheckpointRollbackOperator,
)
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

HOME = Path(os.environ.get("CKPT_DEMO_HOME", Path(tempfile.gettempdir()) / "ckpt-demo"))
JOB = Path(__file__).resolve().parent.parent / "demo" / "streaming_job.py"
INPUT, OUTPUT, CHECKPOINT, BACKUPS = (HOME / name for name in ("input", "output", "checkpoint", "backups"))

RETRIES = int(os.environ.get("CKPT_DEMO_RETRIES", "1"))
FIRST_MINUTE = datetime(2026, 1, 1, tzinfo=UTC)
GOOD_BATCHES, BAD_BATCHES = 6, 3
#: Each file holds one minute, so the watermark is ten seconds short of the end of the last one.
WATERMARK = FIRST_MINUTE + timedelta(minutes=GOOD_BATCHES - 2)


def write_minute(number: int) -> None:
    """Write the events of one minute: one file, one batch."""
    INPUT.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "at": (FIRST_MINUTE + timedelta(minutes=number, seconds=second)).isoformat(),
            "shop": shop,
            "cents": (number + 1) * 100 + second,
        }
        for second in range(0, 60, 5)
        for shop in ("north", "south")
    ]
    draft = INPUT / f".minute-{number:03d}.json"
    draft.write_text("\n".join(map(json.dumps, rows)))
    draft.rename(INPUT / f"minute-{number:03d}.json")
    time.sleep(0.01)  # the source takes the oldest file first


def run_job(*arguments: str, output: Path = OUTPUT, checkpoint: Path = CHECKPOINT) -> None:
    """Run the query until its input is used up, in its own process."""
    command = [sys.executable, str(JOB), str(INPUT), str(output), str(checkpoint), "--once", *arguments]
    seconds = get_current_context()["params"]["timeout_s"]
    subprocess.run(command, check=True, timeout=seconds, stdin=subprocess.DEVNULL)


with DAG(
    "checkpoint_lifecycle",
    schedule=None,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    params={"timeout_s": Param(300, type="integer", minimum=1, description="How long a run of the query may take")},
    default_args={"retries": RETRIES, "retry_delay": timedelta(seconds=5)},
    tags=["ckpt", "demo"],
    doc_md=__doc__,
) as dag:

    @task(retries=0)  # a second try would start a second query
    def start_query() -> int:
        """Start the query in its own process; it runs until it is stopped."""
        for number in range(GOOD_BATCHES):
            write_minute(number)
        log = (HOME / "query.log").open("wb")
        command = [sys.executable, str(JOB), str(INPUT), str(OUTPUT), str(CHECKPOINT)]
        # whoever holds the standard input of a task keeps the task's slot until it ends
        streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        return subprocess.Popen(command, **streams, start_new_session=True).pid

    wait_for_stream = CheckpointProgressSensor(
        task_id="wait_for_stream",
        checkpoint=str(CHECKPOINT),
        batch_id=GOOD_BATCHES - 1,
        watermark=WATERMARK.isoformat(),
        deferrable=True,
        poke_interval=1,
        timeout=timedelta(minutes=10),
    )

    @task
    def stop_query(pid: int) -> None:
        """Stop the query and wait until its process is gone."""
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 60
        while Path(f"/proc/{pid}/stat").exists() and not is_zombie(pid):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the query (process {pid}) does not stop")
            time.sleep(0.2)

    def is_zombie(pid: int) -> bool:
        """Whether a process has ended and only its parent does not know it yet."""
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"

    gate_with_more_partitions = CheckpointGateOperator(
        task_id="gate_with_more_partitions",
        checkpoint=str(CHECKPOINT),
        confs={"spark.sql.shuffle.partitions": "8"},
        sources=1,
        on_block="branch",
        branch_pass="gate_was_open",
        branch_block="gate_was_closed",
    )

    @task
    def gate_was_closed() -> str:
        """The gate was asked, and has stopped the deploy with other shuffle partitions."""
        return "blocked"

    @task(retries=0)
    def gate_was_open() -> None:
        """The gate should not have let that deploy pass."""
        raise AirflowFailException("the gate let a deploy pass that Spark would ignore a conf of")

    gate = CheckpointGateOperator(
        task_id="gate",
        checkpoint=str(CHECKPOINT),
        confs={"spark.sql.shuffle.partitions": "2"},
        sources=1,
    )

    backup = CheckpointBackupOperator(task_id="backup", checkpoint=str(CHECKPOINT), backup_root=str(BACKUPS))

    @task
    def bad_deploy() -> int:
        """Deploy a query that multiplies all amounts by 100, and let it run over three more minutes."""
        for number in range(GOOD_BATCHES, GOOD_BATCHES + BAD_BATCHES):
            write_minute(number)
        run_job("--factor", "100")
        return len(wrong_rows(rows_of(OUTPUT)))

    rollback_plan = CheckpointRollbackOperator(
        task_id="rollback_plan",
        checkpoint=str(CHECKPOINT),
        to_batch="{{ ti.xcom_pull(task_ids='backup')['batch_id'] }}",
        sink=f"file:{OUTPUT}",
        trim_sink_log=True,
        plan_only=True,
    )

    rollback = CheckpointRollbackOperator(
        task_id="rollback",
        checkpoint=str(CHECKPOINT),
        plan=rollback_plan.output["plan"],
        query_is_stopped=True,
    )

    @task
    def restart_query() -> int:
        """Deploy the repaired query; it catches up."""
        run_job()
        return len(rows_of(OUTPUT))

    @task
    def compare(blocked: str, wrong: int, taken: dict, planned: dict, applied: dict) -> None:
        """Row by row against a run over the same input that never had the bad deploy; then a summary."""
        run_job(output=HOME / "clean_output", checkpoint=HOME / "clean_checkpoint")
        result, clean = rows_of(OUTPUT), rows_of(HOME / "clean_output")
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

    def rows_of(output: Path) -> list[tuple]:
        """The rows of the parquet sink as Spark sees them: the files that its sink log names, no others."""
        import pyarrow.parquet

        rows = []
        for path in sorted(sink_files(output)):
            rows += [tuple(row.values()) for row in pyarrow.parquet.read_table(path).to_pylist()]
        return rows

    def sink_files(output: Path) -> set[str]:
        """Files that the file sink's log names."""
        from airflow_provider_ckpt import api

        logs = [path for path in (output / "_spark_metadata").iterdir() if not path.name.startswith(".")]
        entries = [api.decode(f"_spark_metadata/{path.name}", path.read_bytes()) for path in logs]
        return {item.path.removeprefix("file://") for entry in entries for item in entry.entries}

    def wrong_rows(rows: list[tuple]) -> list[tuple]:
        """Rows with amounts that only the bad deploy can have made."""
        return [row for row in rows if row[2] >= 100_000]

    pid, blocked, wrong = start_query(), gate_was_closed(), bad_deploy()
    pid >> wait_for_stream >> stop_query(pid) >> gate_with_more_partitions >> [blocked, gate_was_open()]
    blocked >> gate >> backup >> wrong
    compared = compare(blocked, wrong, backup.output, rollback_plan.output, rollback.output)
    wrong >> rollback_plan >> rollback >> restart_query() >> compared
