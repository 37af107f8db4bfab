"""Write the index that *Browse > Checkpoints* shows, every five minutes.

    write_index

The task finds every checkpoint below the roots, checks its logs, and writes one file with a line for each. The page
reads that file alone. `index` is a directory which has nothing else; `[ckpt] index` of Airflow's configuration names
the same one. A checkpoint that cannot be read is a row of the page, and no failure of the task.

Set these environment variables where DAGs are parsed, for the DAG processor and the workers, or for one run its params:

* `CKPT_INDEX_ROOTS`: the roots of checkpoints, separated by spaces;
* `CKPT_INDEX`: the directory of the index;
* `CKPT_INDEX_BACKUP_ROOTS`: roots of backups, separated by spaces; with them the page says when the newest backup of
  each query was made;
* `CKPT_INDEX_CONN`: the connection of type `checkpoint` that opens all of them; without it, no connection is used.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, Param

from airflow_provider_ckpt.operators.checkpoint import CheckpointIndexOperator

PARAMS = {
    "roots": Param(
        os.environ.get("CKPT_INDEX_ROOTS", "").split(),
        type="array",
        items={"type": "string"},
        description="Where checkpoints are, relative to the connection's base or any fsspec URL",
    ),
    "index": Param(os.environ.get("CKPT_INDEX", ""), type="string", description="Directory of the index"),
    "backup_roots": Param(
        os.environ.get("CKPT_INDEX_BACKUP_ROOTS", "").split(),
        type="array",
        items={"type": "string"},
        description="Roots of backups",
    ),
    "checkpoint_conn_id": Param(
        os.environ.get("CKPT_INDEX_CONN"), type=["null", "string"], description="Connection of type checkpoint"
    ),
    "deploys": Param({}, type="object", description="Sources of the queries, as under checkpoints of a deploy file"),
}

with DAG(
    "checkpoint_index",
    schedule=timedelta(minutes=5),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    params=PARAMS,
    tags=["ckpt"],
    doc_md=__doc__,
    render_template_as_native_obj=True,  # a list stays a list
) as dag:
    CheckpointIndexOperator(
        task_id="write_index",
        checkpoint_roots="{{ params.roots }}",
        index="{{ params.index }}",
        backup_roots="{{ params.backup_roots }}",
        checkpoint_conn_id="{{ params.checkpoint_conn_id }}",
        deploys="{{ params.deploys }}",
        retries=2,
        retry_delay=timedelta(minutes=1),
    )
