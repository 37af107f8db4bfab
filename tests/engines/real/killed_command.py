"""A stop or a start whose process is killed after a call of the engine: ``python -m tests.engines.real.killed_command LAB VERB CALL``."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.engines.real.lab import Lab

#: What is counted.
CALLS = ("look", "disarm", "arm", "end", "start")


class Dying:
    """An engine that kills its process when so many calls are answered, before anybody hears the last answer."""

    def __init__(self, engine: Any, left: int) -> None:
        self._engine, self._left = engine, left

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        if name not in CALLS:
            return found

        def call(*arguments: Any) -> Any:
            answer = found(*arguments)
            self._left -= 1
            if self._left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return call


def killed(lab: Lab, verb: str, call: int) -> bool:
    """Run a command in a process of its own, which dies after a call; false where it was done before that."""
    place = lab.root / f"{verb}-{call}.lab"
    place.write_bytes(pickle.dumps(lab))
    words = [sys.executable, "-m", "tests.engines.real.killed_command", str(place), verb, str(call)]
    done = subprocess.run(words, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=600)
    if done.returncode not in (0, -signal.SIGKILL):
        raise AssertionError(done.stderr[-2000:])
    return done.returncode != 0


class _DyingLab(Lab):
    left = 0

    @property
    def engine(self) -> Any:
        return Dying(super().engine, self.left)


def main() -> None:
    lab = pickle.loads(Path(sys.argv[1]).read_bytes())
    dying = _DyingLab(lab.root, lab.declared, lab.url, lab.specs)
    dying.left = int(sys.argv[3])
    getattr(dying, sys.argv[2])()


if __name__ == "__main__":
    main()
