"""The commands that are about where a query runs, with a driver of this machine in the place of Spark."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.engines.local import LocalEngine
from airflow_provider_ckpt.errors import EngineUnknownError
from airflow_provider_ckpt.storage.store import Store
from tests.running import driver
from tests.running.simulated import newest, with_batches

FILE = """
format_version: 1
queries:
  orders:
    checkpoint: orders
    engine: local
    application: {{spark_submit: {submit}, file: {application}, args: [{checkpoint}]}}
    start: {{commit_within: 20s}}
    stop: {{wait_for_batch: 5s}}
  bare: {{checkpoint: bare}}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    submit = tmp_path / "submit"
    submit.write_text(f'#!/bin/sh\nexec {sys.executable} {driver.__file__} "$@"\n')
    submit.chmod(0o755)
    with_batches(Store.open(str(tmp_path / "orders")))
    declare(tmp_path, "good.py")
    yield tmp_path
    for record in (tmp_path / "_ckpt_undo").glob("*/runs/*.run.json"):
        with suppress(ProcessLookupError):
            os.killpg(int(json.loads(record.read_text())["id"].split(":")[1]), signal.SIGKILL)


def declare(place: Path, application: str) -> None:
    text = FILE.format(submit=place / "submit", application=application, checkpoint=place / "orders")
    (place / "ckpt.yaml").write_text(text)


def ckpt(capsys, *words: str) -> tuple[int, dict]:
    capsys.readouterr()
    code = run([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_query_is_started_stopped_and_started_again(place, capsys):
    store = Store.open(str(place / "orders"))
    code, first = ckpt(capsys, "start", "orders", "--execute", "--no-gate", "--i-know-it-is-stopped")
    assert (code, first["start"]["committed"], first["start"]["token"]) == (0, True, "orders-1")
    code, said = ckpt(capsys, "status", "orders")
    assert (code, said["status"]["state"], said["status"]["runs"][0]["generation"]) == (0, "live", 1)
    code, plan = ckpt(capsys, "stop", "orders")
    assert (code, plan["executed"], plan["stop"]) == (0, False, None)
    assert any(step.startswith("Fence orders behind batch") for step in plan["steps"])
    code, done = ckpt(capsys, "stop", "orders", "--execute")
    assert (code, done["stop"]["between_batches"]) == (0, True)
    stopped_at = newest(store, "commits")
    time.sleep(1)
    assert done["stop"]["queries"][0]["batch_id"] == stopped_at == newest(store, "commits")
    assert ckpt(capsys, "status", "orders")[1]["status"]["state"] == "stopped"
    code, again = ckpt(capsys, "start", "orders", "--execute", "--no-gate")
    assert (code, again["start"]["token"], again["start"]["from_batches"]) == (0, "orders-2", {"orders": stopped_at})
    code, held = ckpt(capsys, "hold", "orders", "--execute")
    assert (code, held["stop"]["queries"][0]["held"]) == (0, True)


def test_the_commands_of_the_page_go_one_after_the_other(place, capsys):
    page = (Path(__file__).parents[2] / "docs/how-to/stop-and-start.md").read_text()
    lines = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)[0].splitlines()
    file = place / "ckpt.yaml"
    file.write_text(file.read_text().replace("    stop:", "    sink: noop\n    stop:"))
    assert run(["start", "orders", "--execute", "--i-know-it-is-stopped"]) == 0
    for line in lines:
        words = line.replace("--to-batch 41", "--to-batch 1 --quiet-period 0").split()[1:]
        assert run(words) == 0, capsys.readouterr()
        if words[0] == "rollback":
            assert newest(Store.open(str(place / "orders")), "commits") == 1
    assert ckpt(capsys, "status", "orders")[1]["status"]["state"] == "stopped"


def test_a_deploy_that_does_not_commit_ends_with_the_version_before(place, capsys):
    assert run(["start", "orders", "--execute", "--no-gate", "--i-know-it-is-stopped"]) == 0
    declare(place, "bad.py")
    code, done = ckpt(
        capsys, "deploy", "orders", "--execute", "--no-gate", "--commit-within", "2s", "--accept-sink", "unknown"
    )
    assert (code, done["start"]["committed"], done["back"]["committed"]) == (1, False, True)
    assert done["stop"]["between_batches"]


def test_the_receipt_of_a_stop_is_the_word_for_a_change(place, capsys):
    asked = ("rollback", "orders", "--to-batch", "1", "--execute", "--accept-sink", "unknown", "--quiet-period", "0")
    assert run(["start", "orders", "--execute", "--no-gate", "--i-know-it-is-stopped"]) == 0
    assert run([*asked]) == 4
    assert run([*asked, "--i-know-it-is-stopped"]) == 4  # the engine shows a run
    assert "of orders is running" in capsys.readouterr().err
    assert run(["stop", "orders", "--execute"]) == 0
    assert run([*asked]) == 0
    assert newest(Store.open(str(place / "orders")), "commits") == 1
    assert run(["start", "orders", "--execute", "--no-gate"]) == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("status", "bare"), 5, "bare declares no engine in"),
        (("stop", "order", "--execute"), 3, "order is no query of"),
        (("stop", "orders"), 5, ""),
        (("deploy", "orders"), 5, ""),
        (("stop", "orders", "--execute"), 5, "knows no run of orders, which does not prove that none is there"),
        (("start", "orders", "--execute", "--no-gate"), 4, "there is no proof that orders is stopped"),
    ],
)
def test_what_is_not_known_is_said(place, capsys, words, code, says):
    assert run([*words]) == code
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(("command", "code", "steps"), [("start", 0, 3), ("stop", 5, 0), ("deploy", 5, 0)])
def test_a_plan_has_no_steps_while_it_is_not_known_what_runs(place, capsys, command, code, steps):
    """Before the first start nothing runs that the engine knows, which is no reason against that start."""
    found, said = ckpt(capsys, command, "orders")
    assert (found, len(said["steps"])) == (code, steps)


@pytest.mark.parametrize("command", ["start", "stop", "deploy", "hold"])
def test_an_engine_that_is_silent_is_no_plan(place, capsys, monkeypatch, command):
    def silent(self, known):
        raise EngineUnknownError("this machine does not tell")

    monkeypatch.setattr(LocalEngine, "look", silent)
    code, said = ckpt(capsys, command, "orders")
    assert (code, said["steps"], said["status"]["state"]) == (5, [], "unknown")
