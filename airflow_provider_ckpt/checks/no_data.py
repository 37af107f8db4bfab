"""Results that wait for new data: what a watermark has closed, and no batch has given yet.

Spark gives them in a batch without data, which it runs only right after another batch of the same start. A query that
is stopped between the two, or goes back there, runs nothing until there is new data.
"""

from __future__ import annotations

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.logs import newest_commit, newest_entry
from airflow_provider_ckpt.times import time_text


def why_waiting(view: CheckpointView) -> str | None:
    """Why nothing runs until there is new data, as the end of a sentence; None where nothing waits for that.

    The commit of the newest batch has moved the watermark past the one that its entry has, and the query has state.
    """
    entry, commit, batch_id = newest_entry(view), newest_commit(view), view.latest_committed
    if entry is None or entry.metadata is None or commit is None or not view.stateful:
        return None
    closed_ms = commit.next_batch_watermark_ms
    if view.in_flight is not None or batch_id != view.latest_planned or closed_ms <= entry.metadata.batch_watermark_ms:
        return None
    return (
        f"batch {batch_id} has moved the watermark to {time_text(closed_ms)}, and Spark runs a batch without data, "
        "which gives what a watermark has closed, only right after a batch with data"
    )


def reads_nothing_between(now: CheckpointView, after: CheckpointView) -> bool:
    """True if the batches that a change drops have read no data, judged by the two newest entries."""
    newest, kept = newest_entry(now), newest_entry(after)
    return newest is not None and kept is not None and dict(newest.offsets) == dict(kept.offsets)
