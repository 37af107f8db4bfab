"""A Spark in a process of its own, which is asked to repartition, and which never outlives the one who asked."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from airflow_provider_ckpt.change.require_alone import PROCESSES, wait_for_end
from airflow_provider_ckpt.changes.repartition.refusals import SINCE
from airflow_provider_ckpt.checkpoint.find_spark import missing_spark, spark_version
from airflow_provider_ckpt.engines.find_processes import life_of, this_machine
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.spark_version import version_text
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.secrets import scrub

#: What runs as a process of its own; this layer never loads Spark itself.
PROGRAM = "airflow_provider_ckpt.spark.repartition"
#: How often the lock is read while Spark works, and how long its end is waited for.
TICK_S, END_S = 5.0, 30.0
#: Of what Spark has said last.
_SAID_BYTES = 2_000


def require_spark(location: str) -> None:
    """Raise PlanError where no Spark can be started that has the manager; the error names what to install."""
    missing = missing_spark()
    if missing is not None:
        raise PlanError(f"a repartition needs {missing.what}.", location=location, hint=missing.hint)
    version = spark_version() or ""
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < SINCE:
        first = version_text(SINCE)
        raise PlanError(
            f"a repartition needs Spark {first} or later, and PySpark {version} is installed.",
            location=location,
            hint=f"pip install 'pyspark>={first}'. Nothing was done.",
        )
    if os.environ.get("SPARK_REMOTE") or os.environ.get("SPARK_CONNECT_MODE_ENABLED"):
        raise PlanError(
            "a session of Spark Connect has no manager of checkpoints, and SPARK_REMOTE is set.",
            location=location,
            hint="Unset SPARK_REMOTE and SPARK_CONNECT_MODE_ENABLED. Nothing was done.",
        )


def ask_spark(request: Mapping[str, Any], record: Store, tick: Callable[[], None]) -> dict[str, Any]:
    """Have a Spark do what is asked.

    Args:
        request: As :mod:`airflow_provider_ckpt.changes.repartition.session` makes it.
        record: Where the processes are noted before they are let to write.
        tick: It is called now and then; an error that it raises ends Spark.

    Returns:
        The last answer; with ``failed`` when Spark has ended without one. No process is left.
    """
    processes: list[tuple[int, str]] = []
    try:
        with tempfile.TemporaryDirectory(prefix="ckpt-repartition-") as scratch, _spark(scratch) as (lines, send, said):
            send({**request, "scratch": scratch})
            hello = _next(lines, tick)
            if hello is None or "failed" in hello:
                return hello or {"failed": {"step": "read", "message": said()}}
            processes += [(pid, life_of(pid)) for pid in hello["processes"]]
            tick()
            record.write(PROCESSES, json.dumps({"machine": this_machine(), "processes": processes}).encode())
            send("go")
            return _next(lines, tick) or {"failed": {"step": "repartition", "message": said()}}
    finally:
        wait_for_end(processes, time.monotonic() + END_S)


@contextmanager
def _spark(scratch: str) -> Iterator[tuple[queue.Queue[str | None], Callable[[Any], None], Callable[[], str]]]:
    """The process: the lines that it says, what sends it one, and what tells its last words."""
    command = [sys.executable, "-m", PROGRAM]
    # Under spark-submit these name the JVM of the application, which is not ours to use or to end.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY_")}
    with Path(scratch, "stderr").open("w+b") as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=env,
            text=True,
            start_new_session=True,
        )
        assert process.stdin is not None and process.stdout is not None
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_read_into, args=(process.stdout, lines), daemon=True).start()
        stdin = process.stdin

        def send(value: Any) -> None:
            with suppress(BrokenPipeError):  # it has ended, which the lines tell
                stdin.write(f"{value if isinstance(value, str) else json.dumps(value)}\n")
                stdin.flush()

        def said() -> str:
            stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - _SAID_BYTES))
            lines_said = stderr.read().decode(errors="replace").strip().splitlines()
            return scrub("Spark has ended without an answer: " + " ".join(lines_said[-4:]))

        try:
            yield lines, send, said
        finally:
            _end(process)


def _read_into(stdout: IO[str], lines: queue.Queue[str | None]) -> None:
    for line in stdout:
        lines.put(line)
    lines.put(None)


def _next(lines: queue.Queue[str | None], tick: Callable[[], None]) -> dict[str, Any] | None:
    """The next line, parsed; None when there will be none."""
    while True:
        try:
            line = lines.get(timeout=TICK_S)
        except queue.Empty:
            tick()
            continue
        answer: dict[str, Any] | None = None if line is None else json.loads(line)
        return answer


def _end(process: subprocess.Popen[str]) -> None:
    """Close stdin, at which the process ends its JVM and itself; what does not, or is left without it, is killed."""
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
