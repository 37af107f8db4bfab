"""Runs commands of Airflow one after another, each as the command line runs it, in one process.

``airflow dags test`` takes some 15 s of CPU until its first task runs, to import Airflow and to build the API that
tasks talk to, and 3 s from there. A line of stdin is a command: its arguments, its environment, and where its output
goes; a line of stdout is its exit code.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO


class Commands:
    """The test's side of the process, which ends with :meth:`stop` or with the test.

    Args:
        home: A directory for the output.
    """

    def __init__(self, home: Path) -> None:
        self._output = home / "commands"
        self._output.mkdir()
        self._count = 0
        command = [sys.executable, "-P", __file__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, arguments: list[str], env: Mapping[str, str]) -> Command:
        """Begin to run ``airflow`` with these arguments; no other command may begin before its result was taken."""
        assert self._process.stdin and self._process.stdout
        self._count += 1
        out, err = (self._output / f"{self._count}.{name}" for name in ("out", "err"))
        for path in (out, err):
            path.touch()
        asked = {"arguments": arguments, "env": dict(env), "out": str(out), "err": str(err)}
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        return Command(arguments, self._process.stdout, out, err)

    def stop(self) -> None:
        """End the process."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@dataclass(frozen=True)
class Command:
    """A command that runs."""

    arguments: list[str]
    answers: IO[str]
    out: Path
    err: Path

    def said(self) -> str:
        """What it has written until now."""
        return self.out.read_text() + self.err.read_text()

    def has_ended(self) -> bool:
        """Whether its result is there."""
        return bool(select.select([self.answers], [], [], 0)[0])

    def result(self) -> subprocess.CompletedProcess[str]:
        """Wait until it ends; what ``subprocess.run`` would give."""
        code = self.answers.readline()
        assert code, f"Airflow has ended: {self.err.read_text()[-4000:]}"
        return subprocess.CompletedProcess(self.arguments, int(code), self.out.read_text(), self.err.read_text())


#: The processes of this run, by AIRFLOW_HOME.
RUNNING: dict[str, Commands] = {}


def serve() -> None:
    """Obey until stdin ends. What commands start inherits neither end of the pipes."""
    asked, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for line in asked:
        command = json.loads(line)
        os.environ.clear()
        os.environ.update(command["env"])
        for stream, path in enumerate((command["out"], command["err"]), 1):
            with Path(path).open("wb") as file:
                os.dup2(file.fileno(), stream)
        code = airflow(command["arguments"])
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        print(code, file=answers, flush=True)


def airflow(arguments: list[str]) -> int:
    """What the command line does; the exit code."""
    from airflow import settings
    from airflow.__main__ import main

    settings.DAGS_FOLDER = os.environ["AIRFLOW__CORE__DAGS_FOLDER"]  # read once, when Airflow is imported
    sys.argv = ["airflow", *arguments]
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        serve()
