"""Partitions of event time: a run for each window that a stream has completed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, Asset, AssetWatcher

from airflow_provider_ckpt.dags.subject import subject_of
from airflow_provider_ckpt.operators.windows import CheckpointWindowsOperator
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger


def windows_dag(
    query: Any = None,
    *,
    asset: Asset,
    watched: str,
    dag_id: str = "stream_windows",
    window: str = "PT1H",
    start: str | None = None,
    poke_interval: float = 5,
    checkpoint: str | None = None,
    checkpoint_conn_id: str | None = None,
    query_file: str | None = None,
    **dag: Any,
) -> DAG:
    """The DAG that a stream starts when it has completed a window, and that adds a partition for each such window.

    Needs Airflow 3.3.

    Args:
        query: Its name in the query file, one of ``queries()``, or its checkpointLocation.
        asset: The asset that gets the partitions.
        watched: Name of the asset whose watcher starts the DAG.
        dag_id: Its id.
        window: The length of a window, such as ``PT1H``.
        start: A time in the very first partition; without one it is the newest window that is complete then.
        poke_interval: How often the triggerer polls, in seconds.
        checkpoint: The checkpointLocation, in place of ``query``.
        checkpoint_conn_id: Connection of type ``checkpoint``.
        query_file: The query file, in place of that of Airflow.
        **dag: Arguments of the DAG.
    """
    access = {"checkpoint": checkpoint, "checkpoint_conn_id": checkpoint_conn_id, "query_file": query_file}
    arguments = subject_of(query, **access).arguments
    trigger = CheckpointProgressTrigger(every=window, poke_interval=poke_interval, **arguments)
    progress = Asset(watched, watchers=[AssetWatcher(name=watched, trigger=trigger)])
    made = {"schedule": progress, "start_date": datetime(2026, 1, 1, tzinfo=UTC), "tags": ["ckpt"]}
    with DAG(dag_id, **{**made, **dag}) as windows:
        CheckpointWindowsOperator(
            task_id="windows",
            asset=asset,
            window=window,
            start=start,
            retries=3,
            retry_delay=timedelta(seconds=10),
            **arguments,
        )
    return windows
