"""Back up every checkpoint under some roots, prune by a retention policy, and rehearse a restore once a week.

    find ── back_up (one for each checkpoint) ── prune ── is_rehearsal_day ── rehearse (one for each backup)

* ``find`` walks the roots. A directory that cannot be read fails the run after everything else was backed up.
* ``back_up`` takes a backup of a checkpoint, also while its query runs; what an earlier backup has is referred to.
  One that fails is tried again, and stops none of the others.
* ``prune`` runs when all backups are taken or have failed: a backup that fails must not fill the disk. Of each query
  what the rules below want is kept, and ``min_redundancy`` backups whatever happens.
* ``rehearse`` reads each backup back that this run has taken, restores it to a scratch place and lets a real Spark open
  it there. It needs PySpark and Java; without them, set the param ``rehearsal_weekday`` to none.

All backups live under one root; each says which checkpoint it is of. Set the roots in ``CKPT_BACKUP_ROOTS``, separated
by spaces, and where backups go in ``CKPT_BACKUP_TO``, or both for one run in its params.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, Param, get_current_context, task

from airflow_provider_ckpt import api
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors
from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointPruneOperator,
    CheckpointVerifyOperator,
)

PARAMS = {
    "roots": Param(
        os.environ.get("CKPT_BACKUP_ROOTS", "").split(),
        type="array",
        items={"type": "string"},
        description="Where checkpoints are, relative to the connection's base or any fsspec URL",
    ),
    "backup_root": Param(os.environ.get("CKPT_BACKUP_TO", ""), type="string", description="Where backups live"),
    "checkpoint_conn_id": Param(None, type=["null", "string"], description="Connection of type checkpoint"),
    "depth": Param(api.DEPTH, type="integer", minimum=0, description="How many levels below a root to look"),
    "tags": Param([], type="array", items={"type": "string"}, description="Names for the backups of this run"),
    "rehearsal_weekday": Param(7, type=["null", "integer"], description="ISO weekday (1 is Monday), or none"),
}

log = logging.getLogger("airflow.task")

with DAG(
    "checkpoint_backup",
    schedule="@daily",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    params=PARAMS,
    render_template_as_native_obj=True,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=1)},
    tags=["ckpt"],
    doc_md=__doc__,
) as dag:

    @task
    def find(params: Any = None) -> list[str]:
        """The locations of all checkpoints."""
        if not params["roots"] or not params["backup_root"]:
            raise AirflowFailException("Set CKPT_BACKUP_ROOTS and CKPT_BACKUP_TO, or the params roots and backup_root.")
        hook = CheckpointHook(params["checkpoint_conn_id"])
        with airflow_errors():
            found = list(api.find_checkpoints([hook.store(root) for root in params["roots"]], depth=params["depth"]))
        unreadable = [row for row in found if isinstance(row, api.FleetRow) and row.error]
        get_current_context()["ti"].xcom_push("unreadable", [f"{row.location}: {row.error}" for row in unreadable])
        return [item.store.location for item in found if isinstance(item, api.Found)]

    locations = find()

    back_up = CheckpointBackupOperator.partial(
        task_id="back_up",
        checkpoint_conn_id="{{ params.checkpoint_conn_id }}",
        backup_root="{{ params.backup_root }}",
        tags="{{ params.tags }}",
    ).expand(checkpoint=locations)

    prune = CheckpointPruneOperator(
        task_id="prune",
        checkpoint_conn_id="{{ params.checkpoint_conn_id }}",
        backup_root="{{ params.backup_root }}",
        keep_last=3,
        keep_daily=7,
        keep_weekly=4,
        keep_monthly=12,
        keep_tags=("keep",),
        min_redundancy=2,
        trigger_rule="all_done",
    )

    @task.short_circuit(ignore_downstream_trigger_rules=False)
    def is_rehearsal_day(params: Any = None) -> bool:
        """Whether backups are rehearsed by this run."""
        run_after = get_current_context()["dag_run"].run_after
        return bool(run_after.isoweekday() == params["rehearsal_weekday"])

    rehearse = CheckpointVerifyOperator.partial(
        task_id="rehearse",
        checkpoint_conn_id="{{ params.checkpoint_conn_id }}",
        backup_root="{{ params.backup_root }}",
        rehearse=True,
    ).expand(backup_id=back_up.output.map(lambda backup: backup["backup_id"]))

    @task(trigger_rule="none_failed", retries=0)
    def nothing_was_left_out(unreadable: list[str]) -> None:
        """Fail when there may be checkpoints that were not found; a backup or a prune that failed is one by itself."""
        if unreadable:
            raise AirflowFailException("\n".join(["Could not be looked into:", *unreadable]))

    back_up >> prune >> is_rehearsal_day() >> rehearse
    [back_up, prune] >> nothing_was_left_out(locations["unreadable"])
