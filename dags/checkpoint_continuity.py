"""Alert when a stream rescans, skips, is rolled back, or becomes another one.

    look_back (one for each checkpoint)

Every ten minutes each checkpoint is compared with where its query stood the last time. ``look_back`` fails when the
query did not go on from there, and names the batch, the source and the partition; give it an ``on_failure_callback``,
or whatever else you do about failed tasks. It tells of a break once: the next run compares with what is there now.

Where each query stood is kept in an Airflow Variable, ``ckpt_bookmark_<number>_of_<name>``. Delete it to begin anew.
Set the checkpoints in ``CKPT_CONTINUITY_CHECKPOINTS``, separated by spaces, or for one run in the params.
"""

from __future__ import annotations

import os
import zlib
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_provider_ckpt.operators.checkpoint import CheckpointContinuityOperator

PARAMS = {
    "checkpoints": Param(
        os.environ.get("CKPT_CONTINUITY_CHECKPOINTS", "").split(),
        type="array",
        items={"type": "string"},
        description="Checkpoints, relative to the connection's base or any fsspec URL",
    ),
    "checkpoint_conn_id": Param(None, type=["null", "string"], description="Connection of type checkpoint"),
}

with DAG(
    "checkpoint_continuity",
    schedule="*/10 * * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    params=PARAMS,
    tags=["ckpt"],
    doc_md=__doc__,
) as dag:

    @task
    def checkpoints(params: Any = None) -> list[dict[str, str | None]]:
        """What to look at, and the Variable of each."""
        return [
            {
                "checkpoint": location,
                "checkpoint_conn_id": params["checkpoint_conn_id"],
                "bookmark_variable": f"ckpt_bookmark_{zlib.crc32(location.encode())}_of_{location.rsplit('/', 1)[-1]}",
            }
            for location in (checkpoint.rstrip("/") for checkpoint in params["checkpoints"])
        ]

    CheckpointContinuityOperator.partial(task_id="look_back", map_index_template="{{ task.checkpoint }}").expand_kwargs(
        checkpoints()
    )
