"""Two rollbacks and an undo. On its first try a task dies where the params of the run say."""

from __future__ import annotations

import os
import runpy
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG

from airflow_provider_ckpt.operators.checkpoint import CheckpointRollbackOperator, CheckpointUndoOperator

die_at = runpy.run_path(str(Path(__file__).resolve().parents[2] / "dying.py"))["die_at"]


def dies(context: Any) -> int:
    """The write before which a task dies; 0 for after its last one, and -1 for never."""
    ti = context["ti"]
    return context["params"]["dies"].get(ti.task_id, -1) if ti.try_number == 1 else -1


def before(context: Any) -> None:
    """Let it die before one of its writes."""
    if dies(context) > 0:
        die_at(dies(context), context["params"]["home"])


def after(context: Any, result: Any = None) -> None:
    """Let it die when it has written its receipt, and Airflow does not know."""
    if dies(context) == 0:
        os._exit(137)


with DAG(
    "changed",
    schedule=None,
    params={"home": "/none", "checkpoint": "changed", "dies": {}},
    default_args={
        "checkpoint": "{{ params.checkpoint }}",
        "checkpoint_conn_id": "streams",
        "query_is_stopped": True,
        "quiet_period": 0,
        "accept_sink": "unknown",
        "retries": 1,
        "retry_delay": timedelta(seconds=1),
        "pre_execute": before,
        "post_execute": after,
    },
):
    first = CheckpointRollbackOperator(task_id="first", to_batch=5)
    second = CheckpointRollbackOperator(task_id="second", to_batch=3)
    first >> second >> CheckpointUndoOperator(task_id="undo")
