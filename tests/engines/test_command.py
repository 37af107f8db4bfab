"""The engine ``command``, with small scripts that keep their runs in a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from airflow_provider_ckpt.engines.command import CommandEngine
from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.open_engine import from_environment
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError
from airflow_provider_ckpt.query.engine import DeclaredEngine

SCRIPT = """
import json, pathlib, sys
file = pathlib.Path("runs.json")
runs = json.loads(file.read_text()) if file.exists() else {"runs": [], "restarts": "armed", "complete": True}
match sys.argv[1:]:
    case ["start", token] if token not in {run["token"] for run in runs["runs"]}:
        runs["runs"].append({"id": f"app-{len(runs['runs'])}", "native": "UP", "token": token})
    case ["end", name]:
        runs["runs"] = [{**run, "native": "DOWN" if run["id"] == name else run["native"]} for run in runs["runs"]]
    case ["disarm"]:
        runs["restarts"] = "suspended"
file.write_text(json.dumps(runs))
print(json.dumps(runs))
"""


def engine(directory: Path, **more) -> CommandEngine:
    (directory / "engine.py").write_text(SCRIPT)
    words = {"status": (), "end": ("{run}",), "start": ("{token}",), "disarm": ()}
    said = {key: (sys.executable, "engine.py", key, *each) for key, each in words.items()}
    states = {"UP": "live", "DOWN": "ended"}
    declared = DeclaredEngine("command", application={**said, "states": states, **more}, directory=str(directory))
    return CommandEngine(declared, "orders", from_environment)


def application(directory: Path) -> Application:
    return Application("command", {"start": (sys.executable, "engine.py", "start", "{token}")})


def test_a_run_begins_is_found_and_ends(tmp_path):
    runs = engine(tmp_path)
    assert runs.look(()).runs == ()
    run = runs.start(application(tmp_path), "orders-1")
    assert (run, runs.start(application(tmp_path), "orders-1")) == (Run("app-0", Presence.LIVE, "UP", 1), run)
    assert runs.look(()).restarts is Restarts.ARMED
    assert runs.disarm()
    runs.end(run)
    seen = runs.look(())
    assert (seen.restarts, seen.complete) == (Restarts.SUSPENDED, True)
    assert seen.runs == (Run("app-0", Presence.ENDED, "DOWN", 1),)


def test_what_is_not_declared_is_not_done(tmp_path):
    runs = engine(tmp_path)
    runs.arm()
    bare = CommandEngine(DeclaredEngine("command", application={}), "orders", from_environment)
    assert not bare.disarm() and bare.submit_s is None


@pytest.mark.parametrize("answer", ["", '{"runs": "none"}', "RUNNING"])
def test_an_answer_that_cannot_be_read_is_no_answer(tmp_path, answer):
    with pytest.raises(EngineUnknownError, match="the answer of the command status of orders says nothing of runs"):
        engine(tmp_path, status=(sys.executable, "-c", f"print({answer!r})")).look(())


def test_a_start_that_names_no_run_of_its_token_is_not_known(tmp_path):
    answer = json.dumps({"runs": [{"id": "a", "presence": "live", "token": "orders-1"}]})
    start = Application("command", {"start": (sys.executable, "-c", f"print({answer!r})")})
    with pytest.raises(EngineUnknownError, match="answered with 0 runs of orders-2, and has to name one"):
        engine(tmp_path).start(start, "orders-2")


def test_an_application_of_another_engine_is_not_started(tmp_path):
    with pytest.raises(EngineError, match="is one of the engine yarn"):
        engine(tmp_path).start(Application("yarn"), "orders-1")
