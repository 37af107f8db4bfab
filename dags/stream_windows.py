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

Needs Airflow 3.3. For a stream of your own set ``CKPT_STREAM_QUERY``, its name in the query file, or
``CKPT_STREAM_CHECKPOINT``, a location that fsspec understands, relative to the base of the connection
``CKPT_STREAM_CONN_ID`` if you have one; and ``CKPT_STREAM_FROM`` if its partitions shall begin earlier than with the
newest hour. ``CKPT_STREAM_HOME`` is where the trial stream keeps its files.

When the watermark jumps over several hours, their runs start in no order: the SDK keeps the keys of one emission in a
set, and each of their asset events carries the extra of the whole emission. An hour that needs the one before has to
wait for it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import (
    DAG,
    Asset,
    DayWindow,
    Param,
    PartitionedAssetTimetable,
    RollupMapper,
    StartOfDayMapper,
    StartOfHourMapper,
    task,
)

from airflow_provider_ckpt.dags import windows_dag

sys.path.append(str(Path(__file__).resolve().parent.parent / "demo"))
import trial

HOME = Path(os.environ.get("CKPT_STREAM_HOME", Path(tempfile.gettempdir()) / "ckpt-stream"))
START = datetime(2026, 1, 1, tzinfo=UTC)
hours = Asset("orders_hours")

query = os.environ.get("CKPT_STREAM_QUERY")
is_own = bool(query) or "CKPT_STREAM_CHECKPOINT" in os.environ
windows_dag(
    query,
    checkpoint=os.environ.get("CKPT_STREAM_CHECKPOINT", None if query else str(HOME / "checkpoint")),
    checkpoint_conn_id=os.environ.get("CKPT_STREAM_CONN_ID"),
    asset=hours,
    watched="orders_progress",
    start=os.environ.get("CKPT_STREAM_FROM", None if is_own else START.isoformat()),
    doc_md=__doc__,
)


def sum_up(dag_run: Any = None) -> dict[str, Any]:
    """What was sold in the hour, or on the day, of this run."""
    key = dag_run.partition_key
    rows = [row for row in trial.rows(HOME / "output") if row["minute"].isoformat().startswith(key)]
    sums = {name: sum(row[name] for row in rows) for name in ("events", "amount")}
    return {"partition": key, **sums}


each_hour = PartitionedAssetTimetable(assets=hours, default_partition_mapper=StartOfHourMapper())
with DAG("stream_hourly", schedule=each_hour, start_date=START, tags=["ckpt"]):
    task(sum_up)()

day = RollupMapper(upstream_mapper=StartOfDayMapper(), window=DayWindow())
each_day = PartitionedAssetTimetable(assets=hours, default_partition_mapper=day)
with DAG("stream_daily", schedule=each_day, start_date=START, tags=["ckpt"]):
    task(sum_up)()

count = Param(26, type="integer", minimum=1, description="How many hours of events to write")
with DAG("stream_orders", schedule=None, start_date=START, max_active_runs=1, params={"hours": count}, tags=["ckpt"]):

    @task
    def write_events(params: Any = None) -> None:
        """Write the events of the next hours: a file for each."""
        first = len(list((HOME / "input").glob("hour-*.json")))
        for hour in range(first, first + params["hours"]):
            at = START + timedelta(hours=hour)
            trial.write(
                HOME / "input" / f"hour-{hour:05d}.json",
                [
                    {"at": (at + timedelta(minutes=minute)).isoformat(), "shop": shop, "cents": 100 * hour + minute}
                    for minute in range(60)
                    for shop in ("north", "south")
                ],
            )

    write_events() >> task(task_id="run_query")(trial.run)(str(HOME))
