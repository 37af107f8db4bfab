"""A start begins one run, however often it is killed, and only what is proven to be stopped."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.change import lock
from airflow_provider_ckpt.change.fence.find import find_fence, find_other_interrupted
from airflow_provider_ckpt.engines.run import Presence
from airflow_provider_ckpt.errors import (
    CheckpointBusyError,
    CheckpointLockedError,
    EngineError,
    EngineUnknownError,
    GateFailedError,
)
from airflow_provider_ckpt.query.deploy import declare
from airflow_provider_ckpt.running import start_query as module
from airflow_provider_ckpt.running.record_runs import read_events
from airflow_provider_ckpt.running.start_query import StartRequest, start_query
from airflow_provider_ckpt.running.stop_query import StopRequest, stop_query
from tests.running.simulated import BAD, GOOD, Killed, drive, newest, patience


def stop(unit, engine, **said):
    return stop_query(unit, engine, StopRequest(**said), by="ann", settle_s=0.1, patience=patience(engine))


def start(unit, engine, application=GOOD, **said):
    request = StartRequest(**{"gate": False, **said})
    return start_query(unit, engine, application, request, by="ann", patience=patience(engine))


@pytest.fixture
def stopped(run):
    def begin(**said):
        unit, engine = run(**said)
        stop(unit, engine)
        engine.log.clear()
        engine.calls = 0
        return unit, engine

    return begin


def test_what_is_stopped_starts_where_it_was_without_the_batch_of_the_fence(stopped):
    unit, engine = stopped(restarts=3)
    store = engine.stores[0]
    before, planned = newest(store, "commits"), newest(store, "offsets")
    fence = store.read(f"offsets/{planned}")
    receipt = start(unit, engine)
    assert (receipt.committed, receipt.problem, receipt.token) == (True, "", "orders-2")
    assert receipt.from_batches == {"orders0": before} and receipt.batches["orders0"] > before
    assert store.read(f"offsets/{planned}") != fence  # its batch is one of rows
    assert [call for call in engine.log if call != "look"] == ["start orders-2", "arm"]
    assert engine.is_armed


def test_what_runs_is_not_started_again(run):
    unit, engine = run()
    first = read_events(unit)[-1].started
    assert start(unit, engine) == first
    with pytest.raises(CheckpointBusyError, match="orders runs: app-0 is RUNNING, and is another one"):
        start(unit, engine, BAD)
    assert not any(call.startswith("start") for call in engine.log)


def test_what_has_ended_by_itself_is_not_taken_for_stopped(run):
    unit, engine = run()
    engine.runs[0].state = "FAILED"
    with pytest.raises(CheckpointBusyError, match="there is no proof that orders is stopped"):
        start(unit, engine)
    stop(unit, engine)
    assert start(unit, engine).committed


def test_a_run_that_came_since_the_stop_ends_the_start(stopped):
    unit, engine = stopped()
    engine.runs[0].state = "RUNNING"
    with pytest.raises(CheckpointBusyError, match="the run app-0 of orders is RUNNING"):
        start(unit, engine)
    assert find_fence(unit.members[0].stores) is not None


def test_a_batch_that_was_planned_since_the_stop_ends_the_start(stopped):
    unit, engine = stopped()
    store = engine.stores[0]
    store.delete(f"offsets/{newest(store, 'offsets')}")
    with pytest.raises(CheckpointBusyError, match="orders0 has gone on since it was stopped: its fence is not there"):
        start(unit, engine)


def test_a_held_checkpoint_is_opened(run):
    unit, engine = run(restarts=9, can_disarm=False)
    stop(unit, engine, hold=True)
    assert start(unit, engine).committed


def test_a_closed_gate_starts_nothing_and_leaves_the_fence(stopped, monkeypatch):
    unit, engine = stopped()

    def closed(unit, member):
        raise GateFailedError("the gate of orders is closed")

    monkeypatch.setattr(module, "judge", closed)
    with pytest.raises(GateFailedError):
        start(unit, engine, gate=True)
    assert find_fence(unit.members[0].stores) is not None
    assert "start" not in " ".join(engine.log)


def test_the_gate_judges_by_what_is_declared(stopped):
    from dataclasses import replace

    unit, _ = stopped()
    member = unit.members[0]
    deploy = declare(member.query.deploy, {"confs": {"spark.sql.shuffle.partitions": "9"}, "sources": 1})
    declared = replace(member, query=replace(member.query, deploy=deploy))
    with pytest.raises(GateFailedError, match="the gate of orders0 is closed"):
        module.judge(unit, declared)


def test_a_start_that_does_not_commit_says_so_and_goes_on_when_it_is_called_again(stopped):
    unit, engine = stopped()
    receipt = start(unit, engine, BAD)
    assert not receipt.committed and "no batch of every query was committed within 30 s" in receipt.problem
    for driver in engine.runs[-1].drivers:
        driver.commits = True
    again = start(unit, engine, BAD)
    assert (again.committed, again.run.id) == (True, receipt.run.id)
    assert engine.log.count("start orders-2") == 1


def test_a_run_that_ends_without_a_commit_is_not_waited_for(stopped):
    unit, engine = stopped()
    sleep = engine.sleep

    def failing(seconds: float) -> None:
        engine.runs[-1].state = "FAILED"
        sleep(seconds)

    engine.sleep = failing
    receipt = start(unit, engine)
    assert receipt.problem.startswith("the run app-1 has ended (FAILED) without a commit")


def test_a_start_whose_answer_was_lost_is_asked_of_a_person_where_no_token_is_found(stopped):
    unit, engine = stopped(finds_tokens=False)
    real = engine.start

    def killed(application, token):
        raise Killed

    engine.start = killed
    with pytest.raises(Killed):
        start(unit, engine)
    engine.start = real
    for _ in range(2):
        with pytest.raises(EngineUnknownError, match="the start orders-2 was interrupted"):
            start(unit, engine)
    assert not any(call.startswith("start") for call in engine.log)
    assert start(unit, engine, not_started=True).committed
    assert len(engine.runs) == 2


@pytest.mark.sweep
@pytest.mark.parametrize("queries", [1, 2])
@pytest.mark.parametrize("how", ["dies_at", "silent_at"])
@pytest.mark.parametrize("at", range(1, 14))
def test_killed_or_without_an_answer_anywhere_one_run_is_begun(stopped, queries, how, at):
    unit, engine = stopped(queries=queries, restarts=2)
    setattr(engine, how, frozenset({at}))
    try:
        receipt = start(unit, engine)
    except (Killed, EngineUnknownError):
        engine.sleep(1)
        receipt = start(unit, engine)
    assert receipt.committed
    assert [run.token for run in engine.runs] == ["orders-1", "orders-2"]
    assert len(engine.look(()).of(Presence.LIVE)) == 1
    assert engine.is_armed
    for member in unit.members:  # an undo of its fence that was interrupted would keep it from being fenced again
        assert find_other_interrupted(member.stores) is None


@pytest.mark.parametrize("at", range(1, 60, 3))
def test_killed_at_any_call_of_the_storage_one_run_is_begun(stopped, monkeypatch, at):
    """A stop, a start and their kills: each call of the records and of the checkpoint may be the last one."""
    from dataclasses import replace

    from airflow_provider_ckpt.change.places import Stores
    from tests.faults import Fault, FaultyStore

    class Kill(Fault):
        def hits(self, call, store):
            if super().hits(call, store):
                raise Killed
            return False

    unit, engine = stopped()
    faulty = FaultyStore.of(engine.stores[0], Kill(at * 3))
    dying = replace(unit, members=(replace(unit.members[0], stores=Stores(faulty)),))
    try:
        receipt = start(dying, engine)
    except Killed:
        engine.sleep(1)
        receipt = start(unit, engine)
    assert receipt.committed
    assert [run.token for run in engine.runs] == ["orders-1", "orders-2"]


def test_a_start_that_goes_on_asks_again_whether_the_query_is_stopped(stopped, monkeypatch):
    """It was killed before its run, and somebody has driven the query by hand meanwhile."""
    unit, engine = stopped(finds_tokens=False)
    real, engine.start = engine.start, lambda application, token: (_ for _ in ()).throw(Killed)
    with pytest.raises(Killed):
        start(unit, engine)
    drive(engine.stores[0], engine)
    engine.start = real
    with pytest.raises(CheckpointBusyError, match="orders0 has gone on since it was stopped"):
        start(unit, engine, not_started=True)
    now = newest(engine.stores[0], "commits")
    receipt = start(unit, engine, not_started=True, query_is_stopped=True)
    assert receipt.from_batches == {"orders0": now} and receipt.batches["orders0"] > now
    assert read_events(unit)[-1].from_batches == {"orders0": now}


def test_a_start_that_is_refused_was_none(stopped):
    unit, engine = stopped()
    real = engine.start

    def refuse(application, token):
        if application == BAD:
            raise EngineError("there is no spark-submit on this machine")
        return real(application, token)

    engine.start = refuse
    with pytest.raises(EngineError, match="there is no spark-submit"):
        start(unit, engine, BAD)
    assert start(unit, engine).committed
    assert [(event.number, event.verb) for event in read_events(unit)] == [(1, "start"), (2, "stop"), (4, "start")]


def test_a_corrected_application_is_not_taken_for_the_one_that_was_started(stopped):
    unit, engine = stopped()
    assert not start(unit, engine, BAD, commit_within=3.0).committed
    with pytest.raises(CheckpointBusyError, match="the start orders-2 has not committed yet, and is one of another"):
        start(unit, engine)
    stop(unit, engine, interrupt_batch=True)
    assert start(unit, engine).committed


def test_the_engine_is_armed_again_after_starts_that_have_failed(stopped):
    unit, engine = stopped(restarts=5)
    assert not start(unit, engine, BAD, commit_within=3.0).committed and not engine.is_armed
    stop(unit, engine, interrupt_batch=True)
    assert start(unit, engine).committed and engine.is_armed


def test_the_word_of_a_person_writes_off_runs_that_the_engine_has_forgotten(stopped):
    unit, engine = stopped(finds_tokens=False)
    engine.runs.clear()
    with pytest.raises(EngineUnknownError, match="the run app-0 was not found"):
        start(unit, engine)
    assert start(unit, engine, query_is_stopped=True).committed
    engine.runs[0].id = "app-9"
    with pytest.raises(EngineUnknownError, match="the run app-0 was not found"):
        stop(unit, engine)  # that of the newest start counts
    engine.runs[0].id = "app-0"
    assert stop(unit, engine).between_batches


def test_the_lock_of_a_change_that_a_person_calls_ended_is_no_hindrance(stopped):
    unit, engine = stopped()
    place, checkpoint = lock.place_of_lock(engine.stores[0], None), engine.stores[0]
    lock.make_place(place, checkpoint)
    place.create(lock.LOCK, lock.Holder("t" * 8, "bob", "plan", "another machine", 7, "8", 1).encode())
    with pytest.raises(CheckpointLockedError):
        start(unit, engine)
    request = StartRequest(gate=False)
    receipt = start_query(unit, engine, GOOD, request, by="ann", break_lock=True, patience=patience(engine))
    assert receipt.committed


@pytest.mark.parametrize("waits", [True, False], ids=["nothing unread", "something unread"])
def test_a_run_that_has_nothing_to_read_has_not_failed(stopped, monkeypatch, waits):
    """What all declared sources show at the end of the wait is why no commit was seen; else it has failed."""
    unit, engine = stopped(restarts=3)
    engine.batch_s = 1_000_000.0
    monkeypatch.setattr(module, "forecast_restart", lambda *_: (None, SimpleNamespace(waits_for_data=waits)))
    receipt = start(unit, engine, commit_within=3.0)
    assert (receipt.committed, receipt.waits_for_data, receipt.is_good) == (False, waits, waits)
    assert bool(receipt.problem) is not waits
    assert engine.is_armed is waits
    assert (read_events(unit)[-1].started is not None) is waits
