"""Waiting for the commit of a running batch, when Spark has purged what the batch before it needs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet, require
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import duration_text

Result = TypeVar("Result")
#: How long a backup waits for the commit of a running batch, when nothing else can be backed up, in seconds.
COMMIT_WAIT_S = 60.0
_LOOK_AGAIN_S = 1.0


class _PurgedError(BatchNotRestorableError):
    """The entry before that of the newest commit is gone: so it is while a batch runs that retains no more."""


class Patience:
    """Waits for the commit of a running batch when the batch before it cannot be backed up any more."""

    def __init__(self, checkpoint: Store, wait_s: float) -> None:
        self._checkpoint, self._wait_s = checkpoint, wait_s
        self._end: float | None = None

    def until_committed(self, action: Callable[[], Result]) -> Result:
        """The result of an action, tried again when a batch that is in flight was committed."""
        while True:
            try:
                return action()
            except _PurgedError as error:
                if self._end is None:  # what was copied before took its own time
                    self._end = time.monotonic() + self._wait_s
                view = observe(self._checkpoint)
                if view.in_flight is None or not self._is_committed(view, self._end):
                    error.hint = error.hint if view.in_flight is None else _hint_in_flight(view, self._wait_s)
                    raise

    def _is_committed(self, seen: CheckpointView, end: float) -> bool:
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_AGAIN_S))
            if observe(self._checkpoint).latest_committed != seen.latest_committed:
                return True
        return False


def _hint_in_flight(view: CheckpointView, wait_s: float) -> str:
    waited = duration_text(wait_s * 1000)
    return (
        f"Batch {view.in_flight} was not committed within {waited}, and Spark has purged files that a restart after "
        f"batch {view.latest_committed} needs, because the query retains too few batches. Take the backup after the "
        "batch is committed, or set spark.sql.streaming.minBatchesToRetain to 2 or more. If the query was killed, "
        "start it again."
    )


def require_restorable(chosen: RestartSet, view: CheckpointView, hint: str) -> RestartSet:
    """As :func:`require`; what Spark has purged while the next batch runs is an error of its own."""
    try:
        return require(chosen, view, hint)
    except BatchNotRestorableError as error:
        before = view.predecessor(chosen.batch_id)
        if before is not None and chosen.missing == (layout.offset_entry(before),):
            raise _PurgedError(
                error.message, location=error.location, batch_id=error.batch_id, hint=error.hint
            ) from None
        raise
