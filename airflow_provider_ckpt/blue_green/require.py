"""Requirements of a blue-green deploy: places apart, a fork without a start, and a live query that is stopped."""

from __future__ import annotations

import time

from airflow_provider_ckpt.blue_green.stage_range import Opened
from airflow_provider_ckpt.change.guard import difference, watch_s
from airflow_provider_ckpt.checkpoint.listing import find_objects
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.errors import CheckpointBusyError, PlanError
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import duration_text


def require_unstarted(fork: Store, first_batch: int, shadow: Opened | None) -> None:
    """Raise PlanError when an application has committed the first batch of a fork, or has given it to its sink.

    Spark does not run a committed batch again, and a file sink or a table drops a batch that it has: whatever
    application is started next, the rows that are compared would be those of the first one.

    Args:
        fork: The fork.
        first_batch: The batch that was staged.
        shadow: The sink that the new version writes to, and its store.
    """
    view = observe(fork)
    committed = view.latest_committed
    has_batch = _has_batch(view.query_id, first_batch, shadow)
    if has_batch or (committed is not None and committed >= first_batch):
        raise PlanError(
            f"an application has run on the fork already: batch {first_batch} is "
            f"{'in its output' if has_batch else 'committed'}, so another one would not write it, and the rows of the "
            "first would be compared.",
            location=fork.location,
            batch_id=first_batch,
            hint="Nothing was done. Begin a new run, with a new fork and a new shadow sink.",
        )


def _has_batch(fork_id: str | None, first_batch: int, shadow: Opened | None) -> bool:
    """True if a sink would drop the first batch of a fork. Raises StoreError for a table that cannot be read."""
    sink, store = shadow or (None, None)
    if sink is None or store is None:
        return False
    if sink.kind == "file":
        return bool(read_file_sink(store).objects)
    known = read_marker(sink, store, fork_id, first_batch).last_batch if any(store.ls()) else None
    return known is not None and known >= first_batch


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


def require_apart(location: str, live: Opened, shadow: Opened) -> None:
    """Raise PlanError when the shadow sink is the live one, or one is inside the other.

    Args:
        location: The checkpoint of the live query.
        live: The sink of the live query, and its store.
        shadow: The sink of the new version, and its store.
    """
    ours, theirs = shadow[1], live[1]
    inside = ours is not None and theirs is not None and (ours.is_within(theirs) or theirs.is_within(ours))
    if inside or live[0] == shadow[0]:
        raise PlanError(
            f"the shadow sink {shadow[0].at(ours).name} is the sink of the live query, or one is inside the other.",
            location=location,
            hint="Let the new version write to a sink of its own.",
        )
