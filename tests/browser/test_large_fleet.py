"""10,000 checkpoints on the fleet page: the first row within a second from a warm index, what the server needs for it.

A busy machine makes single requests slow. So the time that the server computes decides, which other work does not change
much, and the fastest of some requests by the clock on the wall; all is printed.
"""

from __future__ import annotations

import os
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median

import pytest
from playwright.sync_api import expect

from tests.airflow_stack import descendants

COUNT = 10_000
#: Until the first row has come, seconds.
FIRST_ROW_S = 1.0
#: The memory that the index of 10,000 rows may take of the server, KiB.
INDEX_KIB = 100 << 10
#: Requests that are measured, and those more that are made until one has been answered in time.
MEASURED, MORE = 9, 30


@pytest.fixture
def large(lake) -> Iterator[None]:
    """A large index; afterwards that of the other tests."""
    lake.write_large_index(COUNT)
    yield
    lake.write_index()


def test_ten_thousand_checkpoints(somebody, stack, lake, request, capsys):
    servers = listening(stack)
    for _ in range(3):  # whatever it loads for its first pages is there
        first_row_s(stack)
    small_kib = memory_kib(servers)
    request.getfixturevalue("large")
    cold_s, large_kib = first_row_s(stack), memory_kib(servers)
    warm = [(cpu_s(servers), first_row_s(stack, page), cpu_s(servers)) for page in range(1, MEASURED + 1)]
    computed = median(after - before for before, _, after in warm)
    waited = sorted(seconds for _, seconds, _ in warm)
    tries = (first_row_s(stack) for _ in range(MORE))
    fastest = waited[0] if waited[0] < FIRST_ROW_S else next((s for s in tries if s < FIRST_ROW_S), waited[0])
    person = somebody("viewer")
    person.open("plugin/checkpoints")
    expect(person.frame.get_by_text(f"{COUNT:,} of {COUNT:,} checkpoints, page 1 of {COUNT // 100}")).to_be_visible()
    shown = person.of_pages().evaluate(
        "performance.getEntriesByType('resource').map((entry) => new URL(entry.name).pathname)"
    )
    with capsys.disabled():
        print(
            f"\n{COUNT:,} checkpoints, load {os.getloadavg()[0]:.0f}: index of {index_bytes(lake) / 1e6:.1f} MB; first row "
            f"{cold_s:.2f} s cold, {median(waited):.2f} s warm (median of {MEASURED}; {waited[0]:.2f} to {waited[-1]:.2f}), "
            f"of which the server computes {computed:.2f} s; memory of the API server (processes {servers}) "
            f"{small_kib / 1024:.0f} MiB with {3 + 6} checkpoints, {(large_kib - small_kib) / 1024:+.0f} MiB with "
            f"{COUNT:,}, {(memory_kib(servers) - small_kib) / 1024:+.0f} MiB after {MEASURED} pages more; "
            f"{1 + len(shown)} requests for the page"
        )
    assert {Path(name).name for name in shown} <= {"ckpt.css", "ckpt.js"}
    assert computed < FIRST_ROW_S
    assert fastest < FIRST_ROW_S
    assert large_kib - small_kib < INDEX_KIB


def first_row_s(stack, page: int = 1) -> float:
    """Seconds until the first row of the table has come, as a reader of the stream sees it."""
    headers = {"Authorization": f"Bearer {stack.token('viewer')}", "Accept": "text/html"}
    request = urllib.request.Request(f"{stack.url}/ckpt/?all&page={page}", headers=headers)
    began = time.monotonic()
    with stack._opener.open(request, timeout=120) as answer:
        text = b""
        while b'<th scope="row">' not in text:
            part = answer.read1(65_536)
            assert part, "the page has no row"
            text += part
    return time.monotonic() - began


def index_bytes(lake) -> int:
    return max(path.stat().st_size for path in lake.index.iterdir())


def listening(stack) -> list[int]:
    """The processes that answer the requests: those of the stack that hold the socket of its port."""
    port = int(stack.url.rpartition(":")[2])
    lines = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    sockets = {f"socket:[{line[9]}]" for line in lines if line[1].endswith(f":{port:04X}") and line[3] == "0A"}
    found = []
    for pid in descendants(stack._supervisor.pid):
        with suppress(OSError):  # it has ended
            files = (Path("/proc") / str(pid) / "fd").iterdir()
            if any(str(file.readlink()) in sockets for file in files):
                found.append(pid)
    assert found, f"nobody listens on port {port}"
    return found


def memory_kib(pids: list[int]) -> int:
    """What these processes hold in memory, a page that several share counted once, KiB."""
    return sum(_field(Path("/proc") / str(pid) / "smaps_rollup", "Pss:") for pid in pids)


def _field(file: Path, name: str) -> int:
    return next(int(line.split()[1]) for line in file.read_text().splitlines() if line.startswith(name))


def cpu_s(pids: list[int]) -> float:
    """What these processes have computed, with all their threads, seconds."""
    stats = ((Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split() for pid in pids)
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")
