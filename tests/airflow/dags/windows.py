"""One asset for each story about windows; each DAG looks once, whenever it is run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, Asset

from airflow_provider_ckpt.operators.checkpoint import CheckpointWindowsOperator


def dag_of(name: str, story: str, **arguments: Any) -> DAG:
    """A DAG that emits the windows of the checkpoint in its run's conf."""
    with DAG(f"windows_{name}", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)) as dag:
        CheckpointWindowsOperator(
            task_id="windows",
            checkpoint="{{ dag_run.conf['checkpoint'] }}",
            asset=Asset(f"windows_of_{story}"),
            **{"window": "PT1H", **arguments},
        )
    return dag


for story in ("hours", "queued", "purged"):
    globals()[story] = dag_of(story, story)
start = dag_of("start", "start", start="{{ dag_run.conf['start'] }}")
flood = dag_of("flood", "flood", max_windows=24)
hours_as_days = dag_of("hours_as_days", "hours", window="P1D")
days = dag_of("days", "days", window="P1D", timezone="Europe/Berlin")
