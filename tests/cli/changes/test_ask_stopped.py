"""At a terminal the word that the query is stopped can be typed: its name, after the plan is there to be read."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CKPT = [sys.executable, "-c", "from airflow_provider_ckpt.cli import main; main()"]
CHANGE = ("rollback", "orders", "--to-batch", "6", "--execute", "--quiet-period", "0")
ACCEPTED = (*CHANGE, "--accept-sink", "duplicated")
QUESTION = "Is the query orders stopped? Its files cannot say so. Type its name to carry the plan out:"


def tree(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self._master, self.process, self.seen = master, process, ""

    def read_until(self, text: str | None) -> str:
        """All that is on the terminal when a text is; None is its end."""
        until = time.monotonic() + 60
        while (text is None or text not in self.seen) and time.monotonic() < until:
            if select.select([self._master], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self._master, 65536).decode(errors="replace")
                except OSError:  # nobody has it open any more
                    break
        assert text is None or text in self.seen, self.seen
        return self.seen

    def answer(self, keys: str) -> tuple[int, str]:
        """Type; the exit code, and all that was on the terminal."""
        self.read_until("carry the plan out:")
        os.write(self._master, keys.encode())
        self.read_until(None)
        return self.process.wait(60), self.seen


@pytest.fixture
def declared(golden, tmp_path, monkeypatch):
    """A query ``orders``, whose checkpoint is ``agg-hdfs/checkpoint``."""
    checkpoint = golden("agg-hdfs")
    (tmp_path / "ckpt.yaml").write_text(
        f'format_version: 1\nqueries:\n  orders: {{checkpoint: "{checkpoint}", sink: kafka, undo: "{tmp_path}/undo"}}\n'
    )
    monkeypatch.chdir(tmp_path)
    for name in ("CI", "AIRFLOW_CTX_DAG_ID", "CKPT_FILE"):
        monkeypatch.delenv(name, raising=False)
    return checkpoint


@contextmanager
def at_terminal(*words: str, stdout: str = "$0", stdin: str = "$0") -> Iterator[Terminal]:
    master, slave = pty.openpty()
    script = f'exec "$@" <"{stdin}" >"{stdout}" 2>"$0"'  # a new session takes the terminal that it opens for its own
    started = ["sh", "-c", script, os.ttyname(slave), *CKPT, *words]
    with subprocess.Popen(started, start_new_session=True) as process:
        terminal = Terminal(master, process)
        time.sleep(0.1)
        os.close(slave)
        try:
            yield terminal
        finally:
            process.kill()
            os.close(master)


def test_the_name_is_the_word_and_the_plan_is_there_before_it_is_asked_for(declared):
    with at_terminal(*ACCEPTED) as terminal:
        asked = terminal.read_until(QUESTION)
        assert "Plan" in asked or "rollback" in asked
        code, seen = terminal.answer("orders\n")
    assert code == 0 and "Done:" in seen
    assert seen.count("commits/7") == asked.count("commits/7"), "the plan is shown once"
    assert not (declared / "commits/7").exists()


def test_a_location_of_no_file_is_asked_for_by_its_last_part(declared):
    words = ("rollback", str(declared), *ACCEPTED[2:], "--sink", "kafka", "--file", "none")
    with at_terminal(*words) as terminal:
        terminal.read_until("Is the query checkpoint stopped?")
        assert terminal.answer("checkpoint\n")[0] == 0


@pytest.mark.parametrize(
    "keys",
    ["\n", "yes\n", "checkpoint\n", "\x04", "\x03"],
    ids=["nothing", "yes", "the last part of the location of a query that has a name", "EOF", "^C"],
)
def test_anything_else_changes_nothing_and_is_refused_as_without_the_option(declared, keys):
    before = tree(declared)
    with at_terminal(*ACCEPTED) as terminal:
        code, seen = terminal.answer(keys)
    assert code == 4 and "needs a statement that the query is stopped" in seen
    assert tree(declared) == before


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_kill_at_the_question_leaves_no_trace(declared, number):
    before = tree(declared.parents[1])
    with at_terminal(*ACCEPTED) as terminal:
        terminal.read_until(QUESTION)
        terminal.process.send_signal(number)
        assert terminal.process.wait(60) != 0
    assert tree(declared.parents[1]) == before, "neither the checkpoint, nor a lock or a record beside it"


def test_the_answer_of_a_program_stays_on_stdout_alone(declared, tmp_path):
    with at_terminal(*ACCEPTED, "--json", stdout=str(tmp_path / "answer")) as terminal:
        asked = terminal.read_until(QUESTION)
        assert "commits/7" in asked, "the plan is read before the answer is typed"
        assert terminal.answer("orders\n")[0] == 0
    assert json.loads((tmp_path / "answer").read_text())["receipt"]["status"] == "applied"


def test_nobody_is_asked_for_what_is_refused_whatever_the_answer_is(declared):
    with at_terminal(*CHANGE) as terminal:
        seen = terminal.read_until(None)
        assert terminal.process.wait(60) == 4
    assert "--accept-sink duplicated" in seen and "Is the query" not in seen


@pytest.mark.parametrize("word", ["--i-know-it-is-stopped", "--plan-out=plan.json"])
def test_nobody_is_asked_who_has_said_it_or_only_plans(declared, word):
    words = ACCEPTED if word.startswith("--i-know") else (*CHANGE[:4],)
    with at_terminal(*words, word) as terminal:
        seen = terminal.read_until(None)
        assert terminal.process.wait(60) == 0
    assert "Is the query" not in seen


@pytest.mark.parametrize("where", ["CI", "AIRFLOW_CTX_DAG_ID", "no stdin"])
def test_a_program_needs_the_option_even_at_a_terminal(declared, monkeypatch, where):
    if where != "no stdin":
        monkeypatch.setenv(where, "true")
    with at_terminal(*ACCEPTED, stdin="/dev/null" if where == "no stdin" else "$0") as terminal:
        seen = terminal.read_until(None)
        assert terminal.process.wait(60) == 4
    assert "--i-know-it-is-stopped" in seen and "Is the query" not in seen
