"""Whether a query runs is what its engine says; silence and an empty list are no answer."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.engines.run import Presence, Restarts, Run, Seen
from airflow_provider_ckpt.errors import EngineUnknownError
from airflow_provider_ckpt.fleet.queries import ask_engines
from airflow_provider_ckpt.fleet.queries.ask_engines import Running, ask_engine
from airflow_provider_ckpt.query.query_parser import parse_query_file
from airflow_provider_ckpt.storage.store import Store

LIVE, ENDED = Run("app-7", Presence.LIVE, "RUNNING"), Run("app-6", Presence.ENDED, "KILLED")
ABSENT, LOST = Run("app-5", Presence.ABSENT), Run("app-8", Presence.UNKNOWN, "LOST")


def ask(tmp_path, monkeypatch, answer: Seen) -> Running:
    class Engine:
        def look(self, known):
            if answer.restarts is Restarts.ARMED:
                raise EngineUnknownError("the engine is silent")
            return answer

    monkeypatch.setattr(ask_engines, "open_engine", lambda *_: Engine())
    text = (
        f"format_version: 1\nqueries: {{a: {{checkpoint: {tmp_path}/a, engine: local, application: {{file: a.py}}}}}}"
    )
    file = parse_query_file(text, f"{tmp_path}/ckpt.yaml")
    return ask_engine(file, file.queries["a"], Store.open)


@pytest.mark.parametrize(
    ("runs", "running", "why", "said"),
    [
        ((LIVE, ENDED), True, None, "run app-7 is RUNNING; run app-6 is KILLED"),
        ((LIVE, LOST), True, None, "run app-7 is RUNNING; run app-8 is LOST"),
        ((ENDED,), False, None, "run app-6 is KILLED"),
        ((ENDED, LOST), None, "the run app-8 is in the state LOST", "run app-6 is KILLED; run app-8 is LOST"),
        ((ABSENT,), None, "the run app-5 was not found, and the list may lack runs", "run app-5 is absent"),
        ((), None, "the engine local knows no run of a", None),
    ],
)
def test_whether_it_runs_is_what_the_engine_says(tmp_path, monkeypatch, runs, running, why, said):
    assert ask(tmp_path, monkeypatch, Seen(runs, Restarts.NONE)) == Running(running, why, said)


def test_an_engine_that_is_silent_says_nothing(tmp_path, monkeypatch):
    with pytest.raises(EngineUnknownError, match="is silent"):
        ask(tmp_path, monkeypatch, Seen((), Restarts.ARMED))
