"""The records of stops and starts: what was meant, written before it is done, and what became of it.

They are in ``runs/`` beside the lock of the checkpoint of each query of an application: ``00000007-start.json`` is the
intent, ``00000007-start.run.json`` the run that it has begun, ``00000007-start.done.json`` the receipt. What one query
of an application has counts for all of them; where they have run apart before, each has to have been stopped since.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

from airflow_provider_ckpt.change.lock import RUNS, place_of_lock
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.run import Run
from airflow_provider_ckpt.errors import EngineUnknownError, ObjectExistsError, StoreError
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

Verb = Literal["stop", "start", "deploy"]
_NAME = re.compile(r"(\d{8})-(stop|start|deploy)(\.run|\.done|)\.json")
_MOST_BYTES = 4 * MIB
#: The parts of the records of one query, by number and verb.
_Records = Mapping[tuple[int, str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Event:
    """A stop, a start or a deploy that was begun.

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
        ended: Whether a deploy has come to its end.
        name: The query, or the group of queries of one application.
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
    ended: bool = False
    name: str = ""

    @property
    def is_refused(self) -> bool:
        """True for a start that the engine has refused: nothing was begun, and nothing has changed."""
        return self.started is not None and not self.started.run.id


def read_events(unit: Unit) -> tuple[Event, ...]:
    """The stops and starts of an application, oldest first, without the starts that its engine has refused.

    Raises:
        StoreError: A record is damaged.
        EngineUnknownError: Its queries have run apart, and not each was stopped since.
    """
    records = [_records(member) for member in unit.members]
    apart = _last_apart(records)
    events = tuple(event for event in _merged(unit, records) if event.number > apart)
    if apart and not any(_are_together(records, event.number) for event in events):
        events = (_stopped_apart(unit, records),)
    return tuple(event for event in events if event.verb != "deploy" and not event.is_refused)


def newest_deploy(unit: Unit) -> Event | None:
    """The deploy that was begun last; None without one."""
    events = _merged(unit, [_records(member) for member in unit.members])
    return next((event for event in reversed(events) if event.verb == "deploy"), None)


def next_number(unit: Unit) -> int:
    """The number of the next stop, start or deploy."""
    names = [name for member in unit.members for name in _place(member).ls()[0]]
    return 1 + max((int(matched[1]) for name in names if (matched := _NAME.fullmatch(name))), default=0)


def begin(unit: Unit, event: Event) -> None:
    """Write down what is meant, with each query of the application."""
    said = {
        "name": unit.name,
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
    """Write down which run a start has begun, and behind which batches."""
    batches = None if event.from_batches is None else dict(event.from_batches)
    _write(unit, event, ".run", {**run.to_dict(), "from_batches": batches})


def finish(unit: Unit, event: Event, receipt: StopReceipt | StartReceipt | None) -> None:
    """Write down what became of it; of a deploy, that it has ended."""
    _write(unit, event, ".done", {} if receipt is None else receipt.to_dict())


def known_runs(events: tuple[Event, ...]) -> tuple[str, ...]:
    """Ids of the runs that have to be accounted for: those since the newest stop, and those that it has ended.

    A start begins with those that it has accounted for itself: a person's word has written off the others.
    """
    known: dict[str, None] = {}
    for event in events:
        if event.stopped is not None:
            known = dict.fromkeys(run.id for run in event.stopped.runs)
        elif event.verb == "start":
            known = dict.fromkeys(event.runs)
        else:
            known |= dict.fromkeys(event.runs)
        if event.run is not None:
            known[event.run.id] = None
    return tuple(known)


# --- queries of one application ------------------------------------------------------------------------------------


def _records(member: Member) -> _Records:
    place, found = _place(member), dict[tuple[int, str], dict[str, Any]]()
    for name in sorted(place.ls()[0]):
        if matched := _NAME.fullmatch(name):
            found.setdefault((int(matched[1]), matched[2]), {})[matched[3]] = _read(place, name)
    return found


def _merged(unit: Unit, records: Sequence[_Records]) -> tuple[Event, ...]:
    """The events of an application; of one that a kill has left with some of its queries, what these have."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for each in records:
        for key, parts in each.items():
            found[key] = {**parts, **found.get(key, {})}
    return tuple(_event(unit, *key, parts) for key, parts in sorted(found.items()) if "" in parts)


def _of_number(records: Sequence[_Records], number: int) -> list[tuple[str, str]]:
    """What each query says that an event was, and of which application."""
    return [
        (verb, str(parts[""].get("name", "")))
        for each in records
        for (at, verb), parts in each.items()
        if at == number and isinstance(parts.get(""), dict)
    ]


def _are_together(records: Sequence[_Records], number: int) -> bool:
    return len(_of_number(records, number)) > 1


def _last_apart(records: Sequence[_Records]) -> int:
    """The newest number that is of different events: until then the queries have run apart. 0 where none is."""
    numbers = sorted({number for each in records for number, _ in each}, reverse=True) if len(records) > 1 else []
    return next((number for number in numbers if len(set(_of_number(records, number))) > 1), 0)


def _stopped_apart(unit: Unit, records: Sequence[_Records]) -> Event:
    """The stops of queries that have run apart so far, as one. Raises EngineUnknownError where one was not stopped."""
    newest = []
    for member, each in zip(unit.members, records, strict=True):
        own = [event for event in _merged(unit, [each]) if event.verb != "deploy" and not event.is_refused]
        if own and own[-1].stopped is None:
            raise EngineUnknownError(
                f"{member.query.name} has run alone, not in the application {unit.name}, and was not stopped since.",
                location=member.checkpoint.location,
                hint="Nothing was done. Take application_group out of the query file, stop each of its queries by "
                "itself, and put it in again.",
            )
        newest += own[-1:]
    receipts = [event.stopped for event in newest if event.stopped is not None]
    receipt = replace(
        receipts[0],
        name=unit.name,
        queries=tuple(query for each in receipts for query in each.queries),
        runs=tuple({run.id: run for each in receipts for run in each.runs}.values()),
        disarmed=any(each.disarmed for each in receipts),
        stopped_at_ms=min(each.stopped_at_ms for each in receipts),
    )
    return replace(
        max(newest, key=lambda event: event.number),
        stopped=receipt,
        disarmed=any(event.disarmed for event in newest),
        name=unit.name,
    )


# --- files ---------------------------------------------------------------------------------------------------------


def _place(member: Member) -> Store:
    return place_of_lock(member.checkpoint, member.stores.undo).child(RUNS)


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
        is_stop, run = verb == "stop", parts.get(".run")
        application = said["application"]
        return Event(
            number=number,
            verb="stop" if is_stop else "start" if verb == "start" else "deploy",
            by=str(said["by"]),
            begun_at_ms=int(said["at_ms"]),
            generation=int(said["generation"]),
            runs=tuple(map(str, said["runs"])),
            disarmed=bool(said["disarmed"]),
            application=None if application is None else Application.from_dict(application),
            from_batches=said["from_batches"] if run is None else run.get("from_batches", said["from_batches"]),
            run=None if run is None else run_from(run),
            stopped=stop_receipt_from(done) if done is not None and is_stop else None,
            started=start_receipt_from(done) if done is not None and verb == "start" else None,
            ended=done is not None,
            name=str(said.get("name", "")),
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
