"""Two rollbacks, and an undo of the second whose process is killed at its first try."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param

from airflow_provider_ckpt.operators.checkpoint import CheckpointRollbackOperator, CheckpointUndoOperator
from tests.dying import die_at

HOW: dict[str, Any] = {
    "checkpoint": "{{ params.checkpoint }}",
    "query_is_stopped": True,
    "quiet_period": 0,
    "accept_sink": "unknown",
}


class KilledUndoOperator(CheckpointUndoOperator):
    """An undo whose first try is killed before the write that the run names, or after its receipt."""

    def execute(self, context: Any) -> Any:
        """Undo, unless killed."""
        if context["ti"].try_number > 1:
            return super().execute(context)
        if write := context["params"]["dies_at"]:
            die_at(write, str(Path(self.checkpoint).parent))
        super().execute(context)
        return os.kill(os.getpid(), signal.SIGKILL)


with DAG(
    "back_and_forth",
    schedule=None,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    params={"checkpoint": Param("", type="string"), "dies_at": Param(0, type="integer")},
) as dag:
    first = CheckpointRollbackOperator(task_id="first", to_batch=5, **HOW)
    second = CheckpointRollbackOperator(task_id="second", to_batch=3, **HOW)
    undo = KilledUndoOperator(task_id="undo", retries=1, retry_delay=timedelta(0), **HOW)
    first >> second >> undo
