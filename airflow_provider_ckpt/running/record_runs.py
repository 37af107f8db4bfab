"""The records of stops and starts: what was meant, written before it is done, and what became of it.

They are in ``runs/`` among the records of the changes of each query of an application: ``00000007-start.json`` is the
intent, ``00000007-start.run.json`` the run that it has begun, ``00000007-start.done.json`` the receipt. What one query
of an application has counts for all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from airflow_provider_ckpt.change.lock import RUNS
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.run import Run
from airflow_provider_ckpt.errors import ObjectExistsError, StoreError
from airflow_provider_ckpt.running.find_unit import Member, Unit
from airflow_provider_ckpt.running.receipt import (
    StartReceipt,
    StopReceipt,
    run_from,
    start_receipt_from,
    stop_receipt_from,
)
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.limits import MIB

Verb = Literal["stop", "start"]
_NAME = re.compile(r"(\d{8})-(stop|start)(\.run|\.done|)\.json")
_MOST_BYTES = 4 * MIB


@dataclass(frozen=True, slots=True)
class Event:
    """A stop or a start that was begun.

    Args:
        number: Its number among them.
        verb: What it is.
        by: Who began it.
        begun_at_ms: When, epoch milliseconds.
        generation: The number of the start by which the run is marked; 0 for a stop.
        runs: Ids of the runs that there were when it began.
        disarmed: Whether a stop was to keep the engine from starting a run again.
        application: What was started.
        from_batches: The newest committed batches before a start, by query.
        run: The run that a start has begun.
        stopped: The receipt of a stop that was completed.
        started: The receipt of a start that was completed, or has failed.
    """

    number: int
    verb: Verb
    by: str
    begun_at_ms: int
    generation: int = 0
    runs: tuple[str, ...] = ()
    disarmed: bool = False
    application: Application | None = None
    from_batches: Mapping[str, int | None] | None = None
    run: Run | None = None
    stopped: StopReceipt | None = None
    started: StartReceipt | None = None


def read_events(unit: Unit) -> tuple[Event, ...]:
    """The stops and starts of an application, oldest first. Raises StoreError for a record that is damaged."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for member in unit.members:
        place = _place(member)
        for name in sorted(place.ls()[0]):
            if matched := _NAME.fullmatch(name):
                parts = found.setdefault((int(matched[1]), matched[2]), {})
                if matched[3] not in parts:
                    parts[matched[3]] = _read(place, name)
    return tuple(_event(unit, *key, parts) for key, parts in sorted(found.items()) if "" in parts)


def begin(unit: Unit, event: Event) -> None:
    """Write down what is meant, with each query of the application."""
    said = {
        "by": event.by,
        "at_ms": event.begun_at_ms,
        "generation": event.generation,
        "runs": list(event.runs),
        "disarmed": event.disarmed,
        "application": None if event.application is None else event.application.to_dict(),
        "from_batches": None if event.from_batches is None else dict(event.from_batches),
    }
    _write(unit, event, "", said)


def note_run(unit: Unit, event: Event, run: Run) -> None:
    """Write down which run a start has begun."""
    _write(unit, event, ".run", run.to_dict())


def finish(unit: Unit, event: Event, receipt: StopReceipt | StartReceipt) -> None:
    """Write down what became of it."""
    _write(unit, event, ".done", receipt.to_dict())


def known_runs(events: tuple[Event, ...]) -> tuple[str, ...]:
    """Ids of the runs that have to be accounted for: those since the newest stop, and those that it has ended."""
    known: dict[str, None] = {}
    for event in events:
        if event.stopped is not None:
            known = dict.fromkeys(run.id for run in event.stopped.runs)
        else:
            known |= dict.fromkeys(event.runs)
        if event.run is not None:
            known[event.run.id] = None
    return tuple(known)


def _place(member: Member) -> Store:
    return records_of(member.checkpoint, member.stores.undo).child(RUNS)


def _write(unit: Unit, event: Event, what: str, said: Mapping[str, Any]) -> None:
    data = json.dumps({"format_version": FORMAT_VERSION, **said}).encode()
    for member in unit.members:
        with suppress(ObjectExistsError):  # this one, by a run of the command that was killed
            _place(member).create(f"{event.number:08}-{event.verb}{what}.json", data)


def _read(place: Store, name: str) -> Any:
    try:
        return parse_json(place.read_up_to(name, _MOST_BYTES))
    except ValueError:
        raise _damaged(place, name) from None


def _event(unit: Unit, number: int, verb: str, parts: Mapping[str, Any]) -> Event:
    try:
        said, done = parts[""], parts.get(".done")
        is_stop = verb == "stop"
        application = said["application"]
        return Event(
            number=number,
            verb="stop" if is_stop else "start",
            by=str(said["by"]),
            begun_at_ms=int(said["at_ms"]),
            generation=int(said["generation"]),
            runs=tuple(map(str, said["runs"])),
            disarmed=bool(said["disarmed"]),
            application=None if application is None else Application.from_dict(application),
            from_batches=said["from_batches"],
            run=run_from(parts[".run"]) if ".run" in parts else None,
            stopped=stop_receipt_from(done) if done is not None and is_stop else None,
            started=start_receipt_from(done) if done is not None and not is_stop else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _damaged(_place(unit.members[0]), f"{number:08}-{verb}.json") from None


def _damaged(place: Store, name: str) -> StoreError:
    return StoreError(
        "this record of a stop or a start is damaged, so it is not known which runs there are.",
        location=place.location,
        name=name,
        hint="Nothing was done. See in the engine itself that nothing runs, and move the file away.",
    )
