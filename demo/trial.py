"""What the DAGs of a trial do on one machine: write events, run the query of ``streaming_job.py``, read its rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

FIRST_MINUTE = datetime(2026, 1, 1, tzinfo=UTC)
JOB = Path(__file__).resolve().parent / "streaming_job.py"


def declare(home: Path, name: str) -> None:
    """Write the query file of a home."""
    query = {
        "checkpoint": str(home / "checkpoint"),
        "sources": ["file"],
        "sink": f"file:{home / 'output'}",
        "backups": str(home / "backups"),
        "undo": str(home / "undo"),
    }
    home.mkdir(parents=True, exist_ok=True)
    file = {"format_version": 1, "queries": {name: query}}
    (home / "ckpt.yaml").write_text(json.dumps(file, indent=2))  # JSON is YAML


def write(path: Path, events: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of events at once: the query makes a batch of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}")
    draft.write_text("\n".join(map(json.dumps, events)))
    draft.rename(path)
    time.sleep(0.01)  # the source takes the oldest file first


def write_minutes(home: Path, numbers: Iterable[int]) -> None:
    """Write the events of some minutes: one file, one batch."""
    for number in numbers:
        rows = [
            {
                "at": (FIRST_MINUTE + timedelta(minutes=number, seconds=second)).isoformat(),
                "shop": shop,
                "cents": (number + 1) * 100 + second,
            }
            for second in range(0, 60, 5)
            for shop in ("north", "south")
        ]
        write(home / "input" / f"minute-{number:03d}.json", rows)


def command(home: Path, *arguments: str, output: str = "output", checkpoint: str = "checkpoint") -> list[str]:
    """How the query of a home is started."""
    return [sys.executable, str(JOB), *(str(home / name) for name in ("input", output, checkpoint)), *arguments]


def run(
    home: str, *arguments: str, timeout_s: float = 900, output: str = "output", checkpoint: str = "checkpoint"
) -> None:
    """Run the query in a process of its own until its input is used up.

    A task of Airflow, which would fill ``**places`` with its context.
    """
    once = command(Path(home), "--once", *arguments, output=output, checkpoint=checkpoint)
    subprocess.run(once, check=True, timeout=timeout_s, stdin=subprocess.DEVNULL)


def start(home: Path) -> int:
    """Start the query in a process of its own, which runs until it is stopped; the id of that."""
    log = (home / "query.log").open("wb")
    # whoever holds the standard input of a task keeps the task's slot until it ends
    streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
    return subprocess.Popen(command(home), **streams, start_new_session=True).pid


def stop(pid: int) -> None:
    """Stop the query and wait until its process is gone."""
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").exists() and not _is_zombie(pid):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the query (process {pid}) does not stop")
        time.sleep(0.2)


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended and only its parent does not know it yet."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"


def rows(output: Path) -> list[dict[str, Any]]:
    """The rows of the parquet sink as Spark sees them: of the files that its sink log names, no others."""
    import pyarrow.parquet

    from airflow_provider_ckpt import api

    logs = [path for path in (output / "_spark_metadata").iterdir() if not path.name.startswith(".")]
    entries = [api.decode(f"_spark_metadata/{path.name}", path.read_bytes()) for path in logs]
    files = {item.path.removeprefix("file://") for entry in entries for item in entry.entries}
    return [row for path in sorted(files) for row in pyarrow.parquet.read_table(path).to_pylist()]
