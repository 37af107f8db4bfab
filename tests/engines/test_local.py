"""The engine ``local``, with a program in the place of spark-submit that begins a child, as a Python driver does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_provider_ckpt.engines import find_processes, local
from airflow_provider_ckpt.engines.engine import Application
from airflow_provider_ckpt.engines.local import LocalEngine
from airflow_provider_ckpt.engines.open_engine import from_environment
from airflow_provider_ckpt.engines.run import Presence, Restarts, Run, Seen
from airflow_provider_ckpt.errors import EngineError
from airflow_provider_ckpt.query.engine import DeclaredEngine

#: The digest of its checkpoint, which is that of no other process of this machine.
PLACE = uuid4().hex[:12]
#: Its child does not end when it is asked to, if it is told so.
SUBMIT = """#!{python}
import signal, subprocess, sys, time
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
if "stubborn" in sys.argv:
    subprocess.Popen([sys.executable, "-c", child])
time.sleep(60)
"""


@pytest.fixture
def start(tmp_path: Path):
    (tmp_path / "submit").write_text(SUBMIT.format(python=sys.executable))
    (tmp_path / "submit").chmod(0o755)
    declared = DeclaredEngine("local", directory=str(tmp_path), place=PLACE)
    engine = LocalEngine(declared, "orders", from_environment)
    begun: list[Run] = []

    def begin(token: str, *words: str) -> tuple[LocalEngine, Run]:
        said = {"spark_submit": str(tmp_path / "submit"), "file": "app.py", "args": words}
        begun.append(engine.start(Application("local", said), token))
        return engine, begun[-1]

    yield begin
    for run in begun:
        with suppress(ProcessLookupError):
            os.killpg(int(run.id.split(":")[1]), signal.SIGKILL)


def until(engine: LocalEngine, run: Run, presence: Presence) -> Seen:
    for _ in range(400):
        seen = engine.look((run.id,))
        if {each.id: each.presence for each in seen.runs}[run.id] is presence:
            return seen
        time.sleep(0.02)
    raise AssertionError(seen)


def test_a_run_is_found_by_its_token_and_ends(start):
    engine, run = start("orders-3")
    other = LocalEngine(
        DeclaredEngine("local", place=PLACE), "orders", from_environment
    )  # another process, which knows no id
    until(other, run, Presence.LIVE)
    for _ in range(100):  # the system shows the words of a process a moment after it has begun
        if other.look(()).runs:
            break
        time.sleep(0.02)
    assert [each.generation for each in other.look(()).runs] == [3]
    assert start("orders-3")[1].id == run.id  # it is not begun again
    engine.end(run)
    engine.end(run)
    seen = until(other, run, Presence.ENDED)
    assert (seen.restarts, seen.complete) == (Restarts.NONE, True)
    assert engine.look(()).runs == ()


def test_a_run_is_there_as_long_as_one_of_its_processes(start, monkeypatch):
    engine, run = start("orders-4", "stubborn")
    until(engine, run, Presence.LIVE)
    time.sleep(0.5)  # its child ignores SIGTERM by then
    engine.end(run)
    time.sleep(0.3)
    assert until(engine, run, Presence.LIVE)
    monkeypatch.setattr(local, "KILL_AFTER_S", 0.0)
    engine.end(run)
    until(engine, run, Presence.ENDED)


def test_a_later_process_with_the_same_id_is_another_one(start):
    engine, run = start("orders-5")
    machine, pid, life = run.id.split(":")
    assert engine.look((f"{machine}:{pid}:{int(life) - 1}",)).runs[-1].presence is Presence.ENDED


def test_a_driver_that_was_started_by_hand_is_a_run_of_its_own(tmp_path):
    (tmp_path / "app.py").write_text("import time; time.sleep(60)")
    said = {"file": "app.py", "args": ("a", "b")}
    engine = LocalEngine(DeclaredEngine("local", application=said, directory=str(tmp_path)), "orders", from_environment)
    words = {"app.py": ("a", "b"), str(tmp_path / "app.py"): ("a", "b"), "./app.py": ("a", "c")}
    begun = [subprocess.Popen([sys.executable, file, *args], cwd=tmp_path) for file, args in words.items()]
    try:
        for _ in range(200):
            found = engine.look(()).runs
            if len(found) == 2:
                break
            time.sleep(0.02)
        assert [int(run.id.split(":")[1]) for run in found] == sorted(each.pid for each in begun[:2])
        assert {(run.presence, run.native, run.generation) for run in found} == {
            (Presence.LIVE, "running, started by hand", None)
        }
        for run in found:
            engine.end(run)
        for process in begun[:2]:
            process.wait(10)
        assert begun[2].poll() is None
        assert [run.presence for run in engine.look([run.id for run in found]).runs] == [Presence.ENDED] * 2
    finally:
        for process in begun:
            process.kill()
            process.wait()


def test_of_another_machine_nothing_is_known(start):
    engine, _ = start("orders-6")
    there = Run("0123456789ab:1:5", Presence.UNKNOWN, "on another machine")
    assert there in engine.look((there.id,)).runs
    with pytest.raises(EngineError, match="is not one of this machine"):
        engine.end(there)


def test_the_run_of_another_query_of_the_same_name_is_none_of_its_runs(start):
    """Its checkpoint is another one, whatever user and file it is of."""
    engine, run = start("orders-7")
    until(engine, run, Presence.LIVE)
    for place in ("0123456789ab", ""):
        other = LocalEngine(DeclaredEngine("local", place=place), "orders", from_environment)
        assert not [each for each in other.look(()).runs if each.id == run.id]


def test_what_ran_before_a_boot_of_this_machine_has_ended(start, monkeypatch):
    _, run = start("orders-8")
    real = find_processes.this_machine()
    monkeypatch.setattr(find_processes, "this_machine", lambda: f"{real} booted again")
    monkeypatch.setattr(find_processes, "_WHOLE", str(Path("/proc/self/ns/pid").readlink()))
    monkeypatch.setattr(find_processes, "_MACHINE_ID", Path("/proc/sys/kernel/ostype"))
    host = find_processes.machine_key().partition(".")[0]
    rebooted = LocalEngine(DeclaredEngine("local", place=PLACE), "orders", from_environment)
    seen = rebooted.look((f"{host}.0123456789ab:7:9",)).runs[-1]
    assert (seen.presence, seen.native) == (Presence.ENDED, "ended with an earlier boot of this machine")
    monkeypatch.setattr(find_processes, "_WHOLE", "of a container")  # the host may be another one of that name
    contained = LocalEngine(DeclaredEngine("local"), "orders", from_environment)
    assert contained.look((run.id,)).runs[-1].presence is Presence.UNKNOWN


def test_a_run_that_ends_at_once_has_ended(start, monkeypatch):
    monkeypatch.setattr(local, "life_of", lambda pid: "ended")
    engine, run = start("orders-9")
    os.killpg(int(run.id.split(":")[1]), signal.SIGKILL)
    until(engine, run, Presence.ENDED)


def test_without_spark_submit_nothing_is_started():
    engine = LocalEngine(DeclaredEngine("local"), "orders", from_environment)
    with pytest.raises(EngineError, match="there is no /no/spark-submit on this machine"):
        engine.start(Application("local", {"spark_submit": "/no/spark-submit", "file": "a.py"}), "orders-1")
    with pytest.raises(EngineError, match="is one of the engine yarn"):
        engine.start(Application("yarn"), "orders-1")
