"""Each hour of a stream starts its run when it is complete, and each day one more: partitions of event time.

    orders_progress ──> stream_windows ──> orders_hours ──> stream_hourly   a run for each hour
    (watches the        (adds a partition                └> stream_daily    a run for each day, when its
     checkpoint)         for each complete hour)                            24 hours are there

* ``stream_windows`` is started by the stream: the triggerer watches its checkpoint, and fires when the committed
  watermark has passed another full hour. It adds a partition for every hour since, exactly once, however often the
  triggerer, the scheduler or the stream have been restarted, and however far the watermark has jumped.
* ``stream_hourly`` and ``stream_daily`` are yours: what has to be done with an hour, or a day, that will not change any
  more. Here they sum up. Unpause them before the stream begins: a DAG that is paused gets no partitions.
* ``stream_orders`` is a stream to try it with: it writes the events of 26 hours, and runs the PySpark query of
  ``demo/streaming_job.py`` over them. Trigger it again for the next 26.

Needs Airflow 3.3. For a stream of your own set ``CKPT_STREAM_CHECKPOINT``, a location that fsspec understands, relative
to the base of the connection ``CKPT_STREAM_CONN_ID`` if you have one, and ``CKPT_STREAM_FROM`` if its partitions shall
begin earlier than with the newest hour. ``CKPT_STREAM_HOME`` is where the trial stream keeps its files.

When the watermark jumps over several hours, their runs start in no order: the SDK keeps the keys of one emission in a
set, and each of their asset events carries the extra of the whole emission. An hour that needs the one before has to
wait for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import (
    DAG,
    Asset,
    AssetWatcher,
    DayWindow,
    Param,
    PartitionedAssetTimetable,
    RollupMapper,
    StartOfDayMapper,
    StartOfHourMapper,
    task,
)

from airflow_provider_ckpt.operators.checkpoint import CheckpointWindowsOperator
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger

HOME = Path(os.environ.get("CKPT_STREAM_HOME", Path(tempfile.gettempdir()) / "ckpt-stream"))
JOB = Path(__file__).resolve().parent.parent / "demo" / "streaming_job.py"
INPUT, OUTPUT = HOME / "input", HOME / "output"
CHECKPOINT = os.environ.get("CKPT_STREAM_CHECKPOINT", str(HOME / "checkpoint"))
CONN_ID = os.environ.get("CKPT_STREAM_CONN_ID")

FIRST_HOUR = START = datetime(2026, 1, 1, tzinfo=UTC)
#: The time that the very first partition contains; without one it is the newest hour that is complete then.
FROM = os.environ.get("CKPT_STREAM_FROM", None if "CKPT_STREAM_CHECKPOINT" in os.environ else FIRST_HOUR.isoformat())

watched = CheckpointProgressTrigger(checkpoint=CHECKPOINT, checkpoint_conn_id=CONN_ID, every="PT1H", poke_interval=5)
progress = Asset("orders_progress", watchers=[AssetWatcher(name="orders_progress", trigger=watched)])
hours = Asset("orders_hours")

with DAG("stream_windows", schedule=progress, start_date=START, tags=["ckpt"], doc_md=__doc__):
    CheckpointWindowsOperator(
        task_id="windows",
        checkpoint=CHECKPOINT,
        checkpoint_conn_id=CONN_ID,
        asset=hours,
        window="PT1H",
        start=FROM,
        retries=3,
        retry_delay=timedelta(seconds=10),
    )

of_the_hour = PartitionedAssetTimetable(assets=hours, default_partition_mapper=StartOfHourMapper())
with DAG("stream_hourly", schedule=of_the_hour, start_date=START, tags=["ckpt"]):

    @task
    def sum_up(dag_run: Any = None) -> dict[str, Any]:
        """What was sold in the hour of this run."""
        return totals(dag_run.partition_key)

    sum_up()

of_the_day = PartitionedAssetTimetable(
    assets=hours,
    default_partition_mapper=RollupMapper(upstream_mapper=StartOfDayMapper(), window=DayWindow()),
)
with DAG("stream_daily", schedule=of_the_day, start_date=START, tags=["ckpt"]):

    @task(task_id="sum_up")
    def sum_up_day(dag_run: Any = None) -> dict[str, Any]:
        """What was sold on the day of this run."""
        return totals(dag_run.partition_key)

    sum_up_day()


def totals(prefix: str) -> dict[str, Any]:
    """Sums over the stream's output whose minutes begin with an hour or a date."""
    rows = [row for row in rows_of(OUTPUT) if row["minute"].isoformat().startswith(prefix)]
    return {
        "partition": prefix,
        "events": sum(row["events"] for row in rows),
        "amount": sum(row["amount"] for row in rows),
    }


def rows_of(output: Path) -> list[dict[str, Any]]:
    """The rows of the parquet sink as Spark sees them: of the files that its sink log names, no others."""
    import pyarrow.parquet

    from airflow_provider_ckpt import api

    logs = [path for path in (output / "_spark_metadata").iterdir() if not path.name.startswith(".")]
    entries = [api.decode(f"_spark_metadata/{path.name}", path.read_bytes()) for path in logs]
    files = {item.path.removeprefix("file://") for entry in entries for item in entry.entries}
    return [row for path in sorted(files) for row in pyarrow.parquet.read_table(path).to_pylist()]


# --- a stream to try it with -----------------------------------------------------------------------------------

with DAG(
    "stream_orders",
    schedule=None,
    start_date=START,
    max_active_runs=1,
    params={"hours": Param(26, type="integer", minimum=1, description="How many hours of events to write")},
    tags=["ckpt", "demo"],
):

    @task
    def write_events(params: Any = None) -> None:
        """Write the events of the next hours: a file for each."""
        INPUT.mkdir(parents=True, exist_ok=True)
        number = len(list(INPUT.glob("hour-*.json")))
        for hour in range(number, number + params["hours"]):
            at = FIRST_HOUR + timedelta(hours=hour)
            events = [
                {"at": (at + timedelta(minutes=minute)).isoformat(), "shop": shop, "cents": 100 * hour + minute}
                for minute in range(60)
                for shop in ("north", "south")
            ]
            draft = INPUT / f".hour-{hour:05d}.json"
            draft.write_text("\n".join(map(json.dumps, events)))
            draft.rename(INPUT / f"hour-{hour:05d}.json")
            time.sleep(0.01)  # the source takes the oldest file first

    @task
    def run_query() -> None:
        """Run the query in a process of its own until its input is used up; each file is a batch."""
        command = [sys.executable, str(JOB), str(INPUT), str(OUTPUT), CHECKPOINT, "--once"]
        subprocess.run(command, check=True, timeout=900, stdin=subprocess.DEVNULL)

    write_events() >> run_query()
