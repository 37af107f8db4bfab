"""Whether a query runs, as the engine says that the file declares for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from airflow_provider_ckpt.engines.open_engine import Connect, from_environment, open_engine
from airflow_provider_ckpt.engines.run import Presence, Run
from airflow_provider_ckpt.query.query_file import Query, QueryFile
from airflow_provider_ckpt.running.find_unit import find_unit
from airflow_provider_ckpt.running.record_runs import known_runs, read_events
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class Running:
    """What an engine says of a query.

    Args:
        runs: Whether it runs; None when the engine does not say that.
        why: Why that is not known.
        said: The words of the engine, for each run that it knows.
    """

    runs: bool | None
    why: str | None = None
    said: str | None = None


def ask_engine(
    file: QueryFile, query: Query, opener: Callable[[str], Store], connect: Connect = from_environment
) -> Running:
    """Whether a query runs. An engine that knows no run of it does not say that it does not run.

    Args:
        file: The query file.
        query: The query, which declares an engine.
        opener: Opens locations.
        connect: Gives the connection with an id.

    Raises:
        CheckpointError: The engine does not answer, or the records of the runs cannot be read.
    """
    unit = find_unit(file, query.name, opener)
    known = known_runs(read_events(unit))
    seen = open_engine(unit.declared, unit.name, connect).look(known)
    said = "; ".join(map(_said, seen.runs)) or None
    if seen.of(Presence.LIVE):
        return Running(True, said=said)
    why = seen.unknown(known)
    if why is None and not seen.runs:
        why = f"the engine {unit.declared.name} knows no run of {unit.name}"
    return Running(None if why is not None else False, why, said)


def _said(run: Run) -> str:
    return f"run {run.id} is {run.native or run.presence.value}"
