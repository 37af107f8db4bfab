"""The other end of :mod:`spark_worker`: starts it in its own environment and talks to it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]


class Worker:
    """A Spark process for the formats of one file of coordinates: ``lakes`` or ``hudi``."""

    def __init__(self, formats: str, warehouse: Path) -> None:
        self.warehouse = warehouse
        self._log = (warehouse.parent / f"{formats}.log").open("w")
        self._process = subprocess.Popen(
            [
                str(REPOSITORY / f".venv-{formats}" / "bin" / "python"),
                str(HERE / "spark_worker.py"),
                str(HERE / f"{formats}.txt"),
                str(warehouse),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        )

    def ask(self, **command: Any) -> Any:
        """Send a command and wait for its answer."""
        process = self._process
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith("REPLY "):
                reply = json.loads(line.removeprefix("REPLY "))
                assert "ok" in reply, reply["error"]
                return reply["ok"]
        raise AssertionError(f"Spark ended; see {self._log.name}")

    def sql(self, text: str) -> list[list[Any]]:
        """The rows of a statement."""
        rows: list[list[Any]] = self.ask(do="sql", text=text)
        return rows

    def stop(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)
        self._log.close()
