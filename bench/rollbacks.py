"""A rollback by the size of the state."""

from __future__ import annotations

import itertools
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from measuring import Row
from samples import write_batches

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.storage.store import Store

ROLLBACK_BYTES = {"small": 10_000, "large": 200_000}


def measure(directory: Path) -> Iterator[Row]:
    """Every row of this subject."""
    yield rollback_by_state(directory)


def rollback_by_state(directory: Path) -> Row:
    """A rollback over six batches of twelve, planned and applied, where state files are small and where they are large.

    What is removed is kept by a second name on the same disk and never read. The state of the target is read, so
    that no rollback ends at a batch whose state is broken.
    """
    places = [Stores(Store.open(str(write_batches(directory / name, size)))) for name, size in ROLLBACK_BYTES.items()]
    taken: list[list[float]] = [[] for _ in places]
    for _, (stores, seconds) in itertools.product(range(5), zip(places, taken, strict=True)):
        os.sync()
        started = time.perf_counter()
        apply(make_rollback(stores, 5), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
        seconds.append(time.perf_counter() - started)
        apply(make_undo(stores), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    few, many = (statistics.median(seconds) for seconds in taken)
    name = "rollback of 6 batches, 20x the bytes of state / 1x"
    return name, f"{many * 1e3:.0f} ms", f"{few * 1e3:.0f} ms", f"{many / few:.2f}x", "<= 2x"
