"""A command runs without a shell, within a time, and what it says is bounded."""

from __future__ import annotations

import sys
import time

import pytest

from airflow_provider_ckpt.engines.run_command import MOST_BYTES, run_command
from airflow_provider_ckpt.errors import EngineError, EngineUnknownError


def run(code: str, timeout_s: float = 20.0, *words: str) -> str:
    return run_command("status of orders", [sys.executable, "-c", code, *words], ".", timeout_s)


def test_its_words_are_not_those_of_a_shell():
    assert run("import sys; print(sys.argv[1:])", 20.0, "$HOME; ls", "*") == "['$HOME; ls', '*']\n"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            "import sys; sys.exit('no cluster at http://ann:secret@h')",
            "ended with exit code 1: no cluster at http://ann@h",
        ),
        (f"print('x' * {MOST_BYTES})", "answered with more than"),
        ("import os; os.kill(os.getpid(), 9)", "ended with exit code -9"),
    ],
)
def test_a_command_that_fails_says_nothing_of_runs(code, says):
    with pytest.raises(EngineUnknownError, match=says):
        run(code)


def test_a_command_that_takes_too_long_is_killed():
    began = time.monotonic()
    with pytest.raises(EngineUnknownError, match="did not end within 0.3 s"):
        run("import time; time.sleep(60)", 0.3)
    assert time.monotonic() - began < 10


def test_what_it_has_begun_is_killed_with_it(tmp_path):
    child = f"import time; time.sleep(1); open({str(tmp_path / 'lived')!r}, 'w')"
    with pytest.raises(EngineUnknownError, match="did not end within"):
        run(f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)", 0.5)
    time.sleep(1.5)
    assert not (tmp_path / "lived").exists()


def test_one_that_writes_without_end_is_ended():
    began = time.monotonic()
    with pytest.raises(EngineUnknownError, match="answered with more than"):
        run("while True: print('x' * 100000)")
    assert time.monotonic() - began < 15


def test_a_child_that_lives_on_is_not_waited_for():
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(5)']); print(1)"
    began = time.monotonic()
    assert run(code) == "1\n"
    assert time.monotonic() - began < 4


def test_a_program_that_is_not_there_is_told():
    with pytest.raises(EngineError, match="cannot be run: .*no/such"):
        run_command("end of orders", ["no/such"], ".", 1)
