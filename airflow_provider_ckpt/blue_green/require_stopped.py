"""Requires that nobody writes to the checkpoint of a query that is said to be stopped."""

from __future__ import annotations

import time

from airflow_provider_ckpt.change.guard import difference, watch_s
from airflow_provider_ckpt.checkpoint.listing import find_objects
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.errors import CheckpointBusyError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import duration_text


def require_stopped(checkpoint: Store) -> None:
    """Watch the logs as long as a change would. Raises CheckpointBusyError when somebody writes to them.

    An idle query cannot be told from a stopped one: this refutes the statement that it is stopped, and proves nothing.
    """
    before = find_objects(checkpoint)
    watched_s = watch_s(before, None)
    time.sleep(watched_s)
    expected = {name: stored.identity for name, stored in before.items()}
    found = difference(expected, find_objects(checkpoint))
    if found is not None:
        raise CheckpointBusyError(
            f"a query is running: it wrote to the checkpoint within {duration_text(watched_s * 1000)} ({found}).",
            location=checkpoint.location,
            hint="Nothing was done. Stop the old version, and run this task again.",
        )


def require_unchanged(view: CheckpointView, batch_id: int | None, in_flight: int | None) -> None:
    """Raise CheckpointBusyError when a query has run since the checkpoint was judged as that of a stopped one.

    Args:
        view: The checkpoint as it is.
        batch_id: The latest committed batch as it was judged.
        in_flight: The batch that was planned and not committed then; None when there was none.
    """
    if (view.latest_committed, view.in_flight) != (batch_id, in_flight):
        raise CheckpointBusyError(
            f"a query has run since the switch was judged: {_where(batch_id, in_flight)} then, and "
            f"{_where(view.latest_committed, view.in_flight)} now.",
            location=view.location,
            hint="Nothing was done. Stop that query and whatever starts it, and judge the switch again: in the DAG "
            "blue_green_deploy, clear the task stopped with all tasks after it.",
        )


def _where(batch_id: int | None, in_flight: int | None) -> str:
    committed = "no batch was committed" if batch_id is None else f"batch {batch_id} was the latest committed one"
    return committed if in_flight is None else f"{committed} and batch {in_flight} was in flight"
