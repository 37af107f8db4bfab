"""The command ``ckpt`` in a process that is forked for it, and that can be killed before any of its writes."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.cli import run
from tests.dying import die_at


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has answered: its exit code, 137 when it was killed, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Its JSON document."""
        read: dict[str, Any] = json.loads(self.out)
        return read


def ckpt(words: Sequence[str], home: Path, *, dies_at: int = 0) -> Answer:
    """Run a command to its end, or let it die before its write of that number, counted from 1, below ``home``."""
    return finish(start(words, home, dies_at=dies_at))


def start(words: Sequence[str], home: Path, *, dies_at: int = 0) -> tuple[int, Path]:
    """Let a command begin; to be given to :func:`finish`."""
    said = home / f"said-{time.monotonic_ns()}"
    said.mkdir(parents=True)
    child = os.fork()
    if child == 0:
        _be_the_command(words, home, said, dies_at)
    return child, said


def finish(begun: tuple[int, Path]) -> Answer:
    """Wait for a command."""
    child, said = begun
    _, status = os.waitpid(child, 0)
    out, err = ((said / name).read_text() for name in ("out", "err"))
    return Answer(os.waitstatus_to_exitcode(status), out, err)


def _be_the_command(words: Sequence[str], home: Path, said: Path, dies_at: int) -> None:
    """Never returns."""
    code = 70
    try:
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(said / name, os.O_WRONLY | os.O_CREAT), number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w") for number in (1, 2))
        if dies_at:
            die_at(dies_at, str(home))
        code = run(list(words))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
