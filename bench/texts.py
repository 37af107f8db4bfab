"""What ``ckpt explain`` reads of a log in a CPU second, by what is in it, beside one search in each line."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from airflow_provider_ckpt.cli.explain import _pieces
from airflow_provider_ckpt.explain.explain import explain

_BYTES = 4 << 20
_TIME = "26/11/23 02:14:23"
#: Lines by what they are; a number is put in for each {n}.
LINES = {
    "INFO": f"{_TIME} INFO TaskSetManager: Finished task {{n}}.0 in stage 3.0 (TID {{n}}) in {{n}} ms\n",
    "WARN": f"{_TIME} WARN TaskSetManager: Lost task {{n}}.0 in stage 3.0 (TID {{n}}) (10.0.0.7 executor 4)\n",
    "JSON": '{{"ts": "2026-11-23T02:14:23Z", "level": "WARN", "msg": "Lost task {n}.0", "logger": "TaskSetManager"}}\n',
    "blank lines": "\n",
    "exceptions": "java.lang.Exception: x{n}\n",
    "traces": f"{_TIME} ERROR Executor: Exception in task {{n}}.0\njava.io.IOException: connection {{n}} is gone\n"
    + "\tat org.apache.spark.sql.execution.Foo$$anon$1.next(Foo.scala:{n})\n" * 30,
    "prose": "the load took its time in step {n}, and then it went on with the next one of them\n",
    "very short lines": "ok {n}\n",
}


def text_of(line: str) -> bytes:
    """So much of a kind of lines, each with its number."""
    numbers = count(10_000)
    pieces, size = [], 0
    while size < _BYTES:
        pieces.append(line.format(n=next(numbers)))
        size += len(pieces[-1])
    return "".join(pieces).encode()


def measure(place: Path) -> Iterator[tuple[str, ...]]:
    """Megabytes in a CPU second: of explain, and of one search with a regular expression in each line."""
    explain(["x"])
    search = re.compile(r"(?:[a-z]+\.)*Foo").search
    for kind, line in LINES.items():
        data = text_of(line)
        ours = _rate(data, lambda data=data: explain(_pieces(io.BytesIO(data))))
        theirs = _rate(data, lambda data=data: [search(line) for line in data.decode().split("\n")])
        yield f"a log of {kind}", f"{ours:.0f} MB/s", f"{theirs:.0f} MB/s", f"{ours / theirs:.2f}", "20 MB/s"


def _rate(data: bytes, what: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        begun = time.thread_time()
        what()
        best = min(best, time.thread_time() - begun)
    return len(data) / best / 1e6
