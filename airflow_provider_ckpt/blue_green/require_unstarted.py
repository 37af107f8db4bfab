"""Requires that a new version can still write the first batch of a fork: output of an earlier one stays."""

from __future__ import annotations

from airflow_provider_ckpt.blue_green.stage_range import Opened
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sinks.file import read_file_sink
from airflow_provider_ckpt.sinks.read_marker import read_marker
from airflow_provider_ckpt.storage.store import Store


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
