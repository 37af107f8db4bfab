"""The status of an application says what is proven, and a plan says what would be done; neither changes anything."""

from __future__ import annotations

from airflow_provider_ckpt.running.find_status import find_status, start_steps, stop_steps
from airflow_provider_ckpt.running.stop_query import StopRequest, stop_query
from tests.running.simulated import patience


def test_a_run_is_live_then_stopped_with_its_proof(run):
    unit, engine = run(restarts=2)
    status = find_status(unit, engine)
    assert (status.state, status.runs[0].id, status.unknown) == ("live", "app-0", None)
    assert stop_steps(unit, status)[0] == "Keep the engine command from starting orders again."
    assert stop_steps(unit, status)[2] == "End the run app-0 (RUNNING)."
    assert engine.log == ["look"]
    receipt = stop_query(unit, engine, StopRequest(), settle_s=0.1, patience=patience(engine))
    status = find_status(unit, engine)
    assert (status.state, status.stopped, status.queries[0].fenced) == ("stopped", receipt, "fence")
    assert status.queries[0].in_flight is None
    assert stop_steps(unit, status) == ("orders is stopped: nothing is left to do.",)
    assert "Take back the fence of orders0." in start_steps(unit, status)


def test_what_has_ended_by_itself_is_not_called_stopped(run):
    unit, engine = run()
    engine.runs[0].state = "FAILED"
    assert find_status(unit, engine).state == "ended"


def test_without_an_answer_it_is_unknown(run):
    unit, engine = run()
    engine.silent_at = frozenset(range(100))
    status = find_status(unit, engine)
    assert (status.state, status.unknown, status.stopped) == ("unknown", "the engine does not answer", None)
