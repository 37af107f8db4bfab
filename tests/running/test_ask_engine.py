"""Runs are over when two answers, as far apart as a restart, have none that is there."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.engines.run import Presence
from airflow_provider_ckpt.errors import EngineUnknownError
from airflow_provider_ckpt.running.ask_engine import end_all
from tests.running.simulated import patience


def test_a_restart_between_two_answers_is_seen(run):
    unit, engine = run(restarts_killed=2, restart_s=1.5)
    runs = end_all(unit, engine, (), patience(engine))
    assert [each.presence for each in runs] == [Presence.ENDED]
    assert engine.restarts_killed == 0


def test_an_end_that_is_accepted_and_not_done_is_no_end(run):
    unit, engine = run()
    engine.end = lambda run: None
    with pytest.raises(EngineUnknownError, match="within 20 s: the run app-0 is RUNNING"):
        end_all(unit, engine, (), patience(engine, 20.0))


def test_an_engine_that_is_silent_for_a_while_is_asked_again(run):
    unit, engine = run()
    engine.silent_at = frozenset({1, 3, 5})
    assert end_all(unit, engine, ("app-0",), patience(engine))
    engine.silent_at = frozenset(range(1000))
    with pytest.raises(EngineUnknownError, match="the engine does not answer"):
        end_all(unit, engine, ("app-0",), patience(engine, 5.0))
