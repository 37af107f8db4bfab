"""What it costs to start the command: CPU seconds of processes, against plain Python that reads the same entries."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import Row
from samples import write_checkpoint

_ROUNDS = 15
_CKPT = "from airflow_provider_ckpt.cli import main; main()"
#: The newest entry of both logs, decoded and printed.
_PLAIN = """
import json, os, sys
for log in ("offsets", "commits"):
    newest = max(int(name) for name in os.listdir(f"{sys.argv[1]}/{log}"))
    with open(f"{sys.argv[1]}/{log}/{newest}") as file:
        print([json.loads(line) for line in file.read().split("\\n")[1:]])
"""


def cpu_s(code: str, *arguments: str) -> float:
    """CPU seconds of one process of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(place: Path) -> Iterator[Row]:
    """Rows of the benchmark."""
    checkpoint = str(write_checkpoint(place / "checkpoint", 100))
    aims = {"--version": "under 0.1 s", "show --json": "at most 10x", "show": "at most 10x"}
    taken: dict[str, list[float]] = {name: [] for name in aims}
    plain = []
    for _ in range(_ROUNDS):
        plain.append(cpu_s(_PLAIN, checkpoint))
        for name in aims:
            words = name.split()
            taken[name].append(cpu_s(_CKPT, *words[:1], *([checkpoint] if words[0] == "show" else []), *words[1:]))
    theirs = statistics.median(plain)
    for name, aim in aims.items():
        ours = statistics.median(taken[name])
        yield f"ckpt {name}, CPU", f"{ours:.3f} s", f"{theirs:.3f} s", f"{ours / theirs:.1f}x", aim
