"""The records of stops and starts: whichever query of an application has one, it counts for all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.engines.run import Presence, Run
from airflow_provider_ckpt.errors import EngineUnknownError, StoreError
from airflow_provider_ckpt.running.receipt import StoppedQuery, StopReceipt
from airflow_provider_ckpt.running.record_runs import (
    Event,
    begin,
    finish,
    known_runs,
    next_number,
    note_run,
    read_events,
)
from airflow_provider_ckpt.storage.store import Store
from tests.running.simulated import GOOD, unit_of, with_batches

START = Event(1, "start", "ann", 5, generation=1, runs=("old",), application=GOOD, from_batches={"a": None})
RUN = Run("app-1", Presence.LIVE, "RUNNING", 1)


@pytest.fixture
def stores(tmp_path) -> list[Store]:
    return [with_batches(Store.open(str(tmp_path / name))) for name in ("a", "b")]


def test_what_one_query_of_an_application_has_counts_for_all(stores):
    unit, alone = unit_of(*stores), unit_of(stores[0])
    begin(alone, START)
    begin(unit, Event(1, "start", "bob", 9))  # the same start, by a command that goes on
    note_run(unit, START, RUN)
    (event,) = read_events(unit)
    assert (event.by, event.run, event.application, event.from_batches) == ("ann", RUN, GOOD, {"a": None})
    assert known_runs((event,)) == ("old", "app-1")


def test_runs_before_a_stop_are_over_but_for_those_that_it_has_ended(stores):
    unit = unit_of(*stores)
    begin(unit, START)
    stop = Event(2, "stop", "ann", 6, runs=("app-1",))
    begin(unit, stop)
    finish(unit, stop, StopReceipt("orders", 2, (), (RUN,), disarmed=False, by="ann", stopped_at_ms=7))
    events = read_events(unit)
    assert [event.verb for event in events] == ["start", "stop"]
    assert known_runs(events) == ("app-1",)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"by": 1, "at_ms": "x"}'])
def test_a_record_that_is_damaged_is_told(stores, data):
    unit = unit_of(*stores)
    begin(unit, START)
    place = stores[0].sibling("_ckpt_undo").child("a").child("runs")
    place.write("00000001-start.json", data)
    with pytest.raises(StoreError, match="this record of a stop or a start is damaged"):
        read_events(unit)


def test_queries_that_have_run_apart_are_together_once_each_was_stopped(stores):
    """Each has a start of its own with the same number: the run of neither is passed over."""
    group = unit_of(*stores)
    for store, run in zip(stores, ("appA", "appB"), strict=True):
        alone = replace(unit_of(store), name=store.base_name)
        begin(alone, START)
        note_run(alone, START, replace(RUN, id=run))
    with pytest.raises(EngineUnknownError, match="a has run alone, not in the application orders"):
        read_events(group)
    stop = Event(2, "stop", "ann", 6)
    for number, (store, run) in enumerate(zip(stores, ("appA", "appB"), strict=True)):
        alone = replace(unit_of(store), name=store.base_name)
        ended = replace(RUN, id=run, presence=Presence.ENDED)
        begin(alone, stop)
        query = StoppedQuery(store.base_name, store.location, 2, None)
        finish(alone, stop, StopReceipt(alone.name, 2, (query,), (ended,), disarmed=False, by="ann", stopped_at_ms=7))
        if not number:
            with pytest.raises(EngineUnknownError, match="b has run alone"):
                read_events(group)
    (event,) = read_events(group)
    assert event.stopped is not None and [query.query for query in event.stopped.queries] == ["a", "b"]
    assert known_runs((event,)) == ("appA", "appB")
    begin(group, replace(START, number=next_number(group)))
    assert [(each.number, each.name) for each in read_events(group)] == [(3, "orders")]


def test_another_root_of_the_records_of_changes_forgets_no_run(stores, tmp_path):
    unit = unit_of(stores[0])
    begin(unit, START)
    moved = replace(unit.members[0], stores=replace(unit.members[0].stores, undo=Store.open(str(tmp_path / "undo"))))
    assert read_events(replace(unit, members=(moved,))) == read_events(unit) != ()
