"""No change begins while a process of an earlier one may still write: a Spark whose command was killed.

Such a Spark ends by itself right after the one who asked it; on this machine its end can be seen, and is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record import journal
from airflow_provider_ckpt.engines.find_processes import life_of, this_machine
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointNotFoundError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

#: In the record of a change: the machine and the processes that were let to write, each with its life.
PROCESSES = "spark.json"
WAIT_S = 30.0


def require_alone(stores: Stores, wait_s: float = WAIT_S) -> None:
    """Wait for the end of every process that an interrupted change has left on this machine.

    Raises:
        CheckpointBusyError: One is still there after ``wait_s`` seconds.
    """
    found, _ = journal.survey(stores.checkpoint, stores.undo)
    until = time.monotonic() + wait_s
    for change in found:
        if change.plan.rules.adds_batch and change.state == "interrupted":
            _wait_for(stores.record(change.plan.plan_id), stores.checkpoint.location, until)


def _wait_for(record: Store, location: str, until: float) -> None:
    if alive := wait_for_end(_left_by(record), until):
        raise CheckpointBusyError(
            f"the Spark of an interrupted repartition is still there (process {alive[0]}).",
            location=location,
            hint="Nothing was done. End that process, and run the same command again.",
        )


def wait_for_end(processes: Iterable[tuple[int, str]], until: float) -> list[int]:
    """Wait for the end of processes until a moment of the monotonic clock; returns those that still run."""
    left = list(processes)
    while alive := [pid for pid, life in left if life and life_of(pid) == life]:
        if time.monotonic() > until:
            return alive
        time.sleep(0.02)
    return []


def _left_by(record: Store) -> list[tuple[int, str]]:
    """The processes of a change, with the life that tells each from a later one of the same id."""
    try:
        noted = parse_json(record.read(PROCESSES))
        own = noted["processes"] if noted["machine"] == this_machine() else []
        return [(int(pid), str(life)) for pid, life in own]
    except (CheckpointNotFoundError, ValueError, KeyError, TypeError):
        return []
