"""The sink ``checkpoint_history`` with faults at the calls of its storage: a process that dies, or a call that fails.

What is to happen next is a file below the root of faults, which workers of every kind see: its name is a step such as
``commit-create-after``, its text ``exit``, ``raise``, or ``hold``: to wait there until it is released. It happens once.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.spark.sink import CheckpointHistory, HistoryWriter
from airflow_provider_ckpt.storage.store import Store

#: Each step at which something can happen, in order.
STEPS = tuple(
    f"{method}-{call}-{when}"
    for method, call in (
        ("write", "start"),
        ("write", "create"),
        ("commit", "start"),
        ("commit", "find"),
        ("commit", "create"),
        ("commit", "read"),
        ("commit", "delete"),
        ("abort", "start"),
        ("abort", "read"),
        ("abort", "delete"),
    )
    for when in ("before", "after")
    if (call, when) != ("start", "before")
)


def arm(faults: Path, step: str, how: str = "raise") -> None:
    """Let something happen at a step, once."""
    faults.mkdir(parents=True, exist_ok=True)
    (faults / step).write_text(how)


def armed(faults: Path) -> set[str]:
    """What has not happened yet."""
    return {path.name for path in faults.glob("*")}


def is_held(faults: Path, step: str) -> bool:
    """Whether a process waits at a step."""
    return _held(faults, step).exists()


def release(faults: Path, step: str) -> None:
    """Let the process that waits at a step go on."""
    _held(faults, step).unlink()


def _held(faults: Path, step: str) -> Path:
    return faults.with_name(f"{faults.name}-held") / step


def fire(faults: str, step: str) -> None:
    """Called at a step by whatever process comes to it."""
    path = Path(faults) / step
    try:
        how = path.read_text()
        path.unlink()  # of two that come here at once, one
    except FileNotFoundError:
        return
    if how == "exit":
        os._exit(17)
    if how == "hold":
        held = _held(Path(faults), step)
        held.parent.mkdir(exist_ok=True)
        held.touch()
        at_latest = time.monotonic() + 600
        while held.exists() and time.monotonic() < at_latest:
            time.sleep(0.02)
        return
    raise StoreUnavailableError(f"injected at {step}")


class FaultyTable(Store):
    """The table as one method of the writer sees it."""

    faults: str
    method: str

    def find(self, directory: str = "") -> Any:
        return self._call("find", directory)

    def create(self, name: str, data: bytes) -> None:
        self._call("create", name, data)

    def read(self, name: str) -> Any:
        return self._call("read", name)

    def delete(self, name: str) -> None:
        self._call("delete", name)

    def _call(self, call: str, *arguments: Any) -> Any:
        fire(self.faults, f"{self.method}-{call}-before")
        answer = getattr(Store, call)(self, *arguments)
        fire(self.faults, f"{self.method}-{call}-after")
        return answer


class FaultyWriter(HistoryWriter):
    """The writer; which of its methods is running is part of a step."""

    faults: str = ""
    method: str = ""

    def table(self) -> Store:
        table = FaultyTable.open(self.path, **self.options)
        table.faults, table.method = self.faults, self.method
        return table

    def write(self, iterator: Any) -> Any:
        self._begin("write")
        return super().write(iterator)

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803
        self._begin("commit")
        super().commit(messages, batchId)

    def abort(self, messages: Any, batchId: int) -> None:  # noqa: N803
        self._begin("abort")
        super().abort(messages, batchId)

    def _begin(self, method: str) -> None:
        self.method = method
        fire(self.faults, f"{method}-start-after")


class FaultyHistory(CheckpointHistory):
    """The sink; the option ``faults`` is the root of faults."""

    @classmethod
    def name(cls) -> str:
        return "faulty_history"

    def streamWriter(self, schema: Any, overwrite: bool) -> FaultyWriter:
        plain = super().streamWriter(schema, overwrite)
        writer = FaultyWriter(plain.path, plain.options, plain.schema, plain.checkpoint)
        writer.faults = self.options["faults"]
        return writer
