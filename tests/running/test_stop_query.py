"""A stop falls between two batches, or says that it does not: whatever the engine does, wherever it is killed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.fence.find import find_fence
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run, Seen
from airflow_provider_ckpt.errors import (
    CheckpointBusyError,
    CheckpointLockedError,
    EngineUnknownError,
    NotBetweenBatchesError,
)
from airflow_provider_ckpt.query.engine import StopRule
from airflow_provider_ckpt.query.query_file import Query
from airflow_provider_ckpt.running import stop_query as module
from airflow_provider_ckpt.running.record_runs import read_events
from airflow_provider_ckpt.running.require_stopped import require_stopped
from airflow_provider_ckpt.running.stop_query import StopRequest, stop_query
from tests.running.simulated import GOOD, Killed, newest, patience, unit_of


def stop(unit, engine, tell=lambda text: None, **said):
    request = StopRequest(**{"wait_for_batch": 10.0, **said})
    return stop_query(unit, engine, request, by="ann", settle_s=0.1, patience=patience(engine), tell=tell)


def assert_stopped(unit, engine, receipt):
    """Nothing is live, and nothing goes on: what the receipt says is so, now and later."""
    before = [(newest(store, "offsets"), newest(store, "commits")) for store in engine.stores]
    engine.sleep(60)
    assert before == [(newest(store, "offsets"), newest(store, "commits")) for store in engine.stores]
    assert not engine.look(()).of(Presence.LIVE)
    for said, (planned, committed) in zip(receipt.queries, before, strict=True):
        assert said.batch_id == committed
        assert said.between_batches == (planned == committed or said.fence != "")
    assert require_stopped(unit, engine) == receipt


@pytest.mark.parametrize("queries", [1, 2])
@pytest.mark.parametrize("batch_s", [0.3, 2.0, 7.0])
@pytest.mark.parametrize(("restarts", "can_disarm"), [(0, True), (9, True), (1, False), (2, False)])
def test_a_stop_falls_between_two_batches(run, queries, batch_s, restarts, can_disarm):
    unit, engine = run(queries, restarts=restarts, can_disarm=can_disarm, batch_s=batch_s)
    receipt = stop(unit, engine)
    assert receipt.between_batches and all(query.fence for query in receipt.queries)
    assert [query.query for query in receipt.queries] == [member.query.name for member in unit.members]
    assert_stopped(unit, engine, receipt)


def test_the_end_is_asked_for_right_behind_the_fence(run):
    unit, engine = run(restarts=9)
    stop(unit, engine)
    asked = [call for call in engine.log if call != "look"]
    assert asked == ["disarm", "end app-0"]


def test_several_queries_of_an_application_are_fenced_before_it_is_ended_once(run):
    unit, engine = run(3)
    receipt = stop(unit, engine)
    assert [call for call in engine.log if call.startswith("end")] == ["end app-0"]
    assert len({query.fence for query in receipt.queries}) == 3


def test_an_application_that_fails_with_one_of_its_queries_may_leave_a_batch_of_another_which_is_told(run):
    unit, engine = run(2, ends_with_one=True, batch_s=0.3)
    assert_stopped(unit, engine, stop(unit, engine))


def test_an_engine_that_outruns_each_fence_is_held(run):
    """It begins again at once, and takes as long to end as the restarted driver needs for the fence's batch."""
    unit, engine = run(restarts=99, can_disarm=False, batch_s=0.3, end_s=1.0)
    engine.end = lambda run: engine.log.append("end")  # a kill that is accepted and not done
    told: list[str] = []
    with pytest.raises(EngineUnknownError, match="not every run of orders has ended within"):
        stop_query(unit, engine, StopRequest(), settle_s=0.1, patience=patience(engine, 5.0), tell=told.append)
    assert read_events(unit)[-1].stopped is None


@pytest.mark.parametrize("times", [1, 2, 3, 4, 6])
def test_a_fence_that_a_restart_has_run_is_put_again_and_at_last_the_checkpoint_is_closed(run, times):
    """The engine begins again what has failed, and each time the driver runs the batch of the fence first."""
    unit, engine = run(restarts=times, can_disarm=False, batch_s=0.2, end_s=1.0)
    engine.restart_s = 0.1
    look = engine.look

    def slow(known):
        engine.sleep(2.0 if find_fence(unit.members[0].stores) else 0.1)
        return look(known)

    engine.look = slow
    told: list[str] = []
    receipt = stop(unit, engine, tell=told.append)
    assert_stopped(unit, engine, receipt)
    assert receipt.queries[0].held == (times >= 3), told
    assert receipt.between_batches


def test_one_that_has_ended_by_itself_is_not_fenced_and_the_batch_in_flight_is_told(run):
    unit, engine = run()
    while newest(engine.stores[0], "offsets") == newest(engine.stores[0], "commits"):
        engine.sleep(0.1)
    engine.runs[0].state = "FAILED"
    receipt = stop(unit, engine)
    planned = newest(engine.stores[0], "offsets")
    assert (receipt.between_batches, receipt.queries[0].in_flight, receipt.queries[0].fence) == (False, planned, "")
    assert find_fence(unit.members[0].stores) is None
    assert_stopped(unit, engine, receipt)


def test_one_that_dies_while_its_batch_is_waited_for_is_told_as_well(run):
    unit, engine = run()
    engine.runs[0].drivers[0].batch_s = 100.0
    while newest(engine.stores[0], "offsets") == newest(engine.stores[0], "commits"):
        engine.sleep(10)
    engine.runs[0].fails_at = engine.now + 0.5
    receipt = stop_query(unit, engine, StopRequest(wait_for_batch=1.0), settle_s=0.1, patience=patience(engine))
    assert receipt.queries[0].in_flight == newest(engine.stores[0], "offsets")


def test_a_batch_that_takes_too_long_is_interrupted_only_when_that_is_said(run):
    unit, engine = run(restarts=3)
    engine.runs[0].drivers[0].batch_s = 40.0
    while newest(engine.stores[0], "offsets") == newest(engine.stores[0], "commits"):
        engine.sleep(10)
    with pytest.raises(NotBetweenBatchesError, match="cannot be stopped between two batches"):
        stop(unit, engine, wait_for_batch=1.0)
    assert engine.runs[0].state == "RUNNING" and engine.is_armed
    assert find_fence(unit.members[0].stores) is None
    receipt = stop(unit, engine, wait_for_batch=1.0, interrupt_batch=True)
    assert receipt.queries[0].in_flight == newest(engine.stores[0], "offsets")
    assert not receipt.between_batches
    assert_stopped(unit, engine, receipt)


def test_a_trigger_that_cannot_be_fenced_is_refused_with_nothing_done(run):
    unit, engine = run(restarts=3)
    query = unit.members[0].query
    real_time = replace(query, deploy=replace(query.deploy, trigger="realTime"))
    unit = replace(unit, members=(replace(unit.members[0], query=real_time),))
    with pytest.raises(NotBetweenBatchesError, match="writes the offset entry of a batch when it ends"):
        stop(unit, engine)
    assert engine.log == ["look"] and engine.is_armed


def test_a_hold_passes_no_restart(run):
    unit, engine = run(restarts=99, can_disarm=False)
    receipt = stop(unit, engine, hold=True)
    assert receipt.queries[0].held
    engine.start(GOOD, "orders-9")
    before = newest(engine.stores[0], "commits")
    engine.restarts = 0
    engine.sleep(30)
    assert newest(engine.stores[0], "commits") == before


@pytest.mark.parametrize(
    "answer",
    [
        Seen((Run("app-0", Presence.UNKNOWN, "ODD"),), Restarts.NONE, complete=True),
        Seen((), Restarts.NONE, complete=True),
        Seen((Run("app-0", Presence.ABSENT),), Restarts.NONE, complete=False),
        Seen((Run("app-0", Presence.LIVE), Run("x", Presence.LIVE)), Restarts.NONE, complete=True),
    ],
)
def test_what_is_not_known_is_taken_for_nothing(run, answer):
    unit, engine = run(restarts=1)
    engine.look = lambda known: answer
    with pytest.raises(EngineUnknownError, match="does not say which runs of orders are there"):
        stop(unit, engine)
    assert engine.log == [] and find_fence(unit.members[0].stores) is None


def test_an_engine_that_knows_no_run_proves_nothing(run):
    _, engine = run()
    other = unit_of(*engine.stores)
    other = replace(other, members=(replace(other.members[0], query=Query("x", "x")),))
    engine.runs.clear()
    for path in (engine.stores[0].sibling("_ckpt_undo").child("orders0").child("runs"),):
        for name in path.ls()[0]:
            path.delete(name)
    with pytest.raises(EngineUnknownError, match="knows no run of orders, which does not prove"):
        stop(other, engine)


def test_a_stop_that_is_done_is_found_again_and_one_that_was_started_since_is_not(run):
    unit, engine = run()
    first = stop(unit, engine)
    assert stop(unit, engine) == first
    engine.runs[0].state = "RUNNING"  # somebody has started it by hand
    for driver in engine.runs[0].drivers:
        driver.has_died = False
        driver.begin(engine.now)
    engine.sleep(5)
    second = stop(unit, engine)
    assert second.number > first.number
    assert_stopped(unit, engine, second)


#: What an engine does, for the kills and silences at each of its calls.
ENGINES = [
    {"restarts": 9},
    {"restarts": 2, "can_disarm": False, "batch_s": 0.4},
    {"queries": 2, "restarts": 9, "batch_s": 1.1},
    {"finds_tokens": False},
]


@pytest.mark.parametrize("said", ENGINES, ids=range(len(ENGINES)))
@pytest.mark.parametrize("at", range(1, 11))
@pytest.mark.parametrize("how", ["dies_at", "silent_at"])
def test_killed_or_without_an_answer_anywhere_the_same_command_comes_to_the_same_end(run, said, at, how):
    unit, engine = run(**said)
    setattr(engine, how, frozenset({at}))
    try:
        receipt = stop(unit, engine)
    except (Killed, EngineUnknownError):
        engine.sleep(3)
        receipt = stop(unit, engine)
    assert receipt.between_batches
    assert_stopped(unit, engine, receipt)


@pytest.mark.parametrize(
    ("error", "said"), [(CheckpointBusyError("faster"), {"hold": True}), (CheckpointLockedError("locked"), {})]
)
def test_what_goes_on_after_any_error_is_restarted_as_before(run, monkeypatch, error, said):
    unit, engine = run(restarts=5)

    def put(*_, **__):
        raise error

    monkeypatch.setattr(module, "put_fence", put)
    with pytest.raises(type(error)):
        stop(unit, engine, **said)
    assert engine.runs[0].state == "RUNNING" and engine.is_armed


def test_the_receipt_says_whether_the_engine_was_kept_from_restarts(run):
    unit, engine = run(restarts=1)
    assert stop(unit, engine).disarmed
    for run_of in engine.runs:
        run_of.state = "RUNNING"
    engine.restarts, engine.can_disarm, engine.is_armed = 5, False, True
    engine.runs[0].drivers[0].has_died = False
    engine.runs[0].drivers[0].begin(engine.now)
    assert not stop(unit, engine).disarmed


def test_past_a_closed_checkpoint_nothing_is_said_to_be_stopped(run, monkeypatch):
    unit, engine = run()
    monkeypatch.setattr(module._Stop, "_is_passed", lambda self: True)
    monkeypatch.setattr(module, "end_all", lambda *_, **__: ())
    with pytest.raises(EngineUnknownError, match="was started again after each of 4 ends"):
        stop(unit, engine)


def test_a_batch_is_interrupted_where_that_is_declared(run):
    unit, engine = run()
    engine.runs[0].drivers[0].batch_s = 40.0
    while newest(engine.stores[0], "offsets") == newest(engine.stores[0], "commits"):
        engine.sleep(10)
    declared = replace(unit.declared, stop=StopRule(1.0, "interrupt"))
    receipt = stop(replace(unit, declared=declared), engine, wait_for_batch=None)
    assert receipt.queries[0].in_flight == newest(engine.stores[0], "offsets")


def test_no_receipt_says_stopped_of_a_run_that_is_there(run, monkeypatch):
    """However the fence looks: what ended in vain is ended again, and at last said not to be stopped."""
    unit, engine = run()
    monkeypatch.setattr(module, "end_all", lambda *_, **__: engine.look(()).runs)
    with pytest.raises(EngineUnknownError, match="It is not stopped"):
        stop(unit, engine)
    assert all(event.stopped is None for event in read_events(unit))
