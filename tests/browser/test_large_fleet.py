"""10,000 checkpoints on the fleet page: the first row, the memory of the API server, and what each request asks for.

The times are printed and decide nothing: the machine may have other work. From a warm index the first row is to come within
a second.
"""

from __future__ import annotations

import time
import urllib.request
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import expect

from tests.airflow_stack import descendants

COUNT = 10_000


def test_ten_thousand_checkpoints(somebody, stack, lake, capsys):
    lake.write_large_index(COUNT)
    try:
        measure(somebody, stack, lake, capsys)
    finally:
        lake.write_index()


def measure(somebody, stack, lake, capsys) -> None:
    person = somebody("viewer")
    before, cold_s = memory_kib(stack), first_row_s(stack)
    after, warm = memory_kib(stack), sorted(first_row_s(stack, f"?all&page={page}") for page in range(1, 10))
    person.open("plugin/checkpoints")
    expect(person.frame.get_by_text(f"{COUNT:,} of {COUNT:,} checkpoints, page 1 of {COUNT // 100}")).to_be_visible()
    shown = person.of_pages().evaluate(
        "performance.getEntriesByType('resource').map((entry) => new URL(entry.name).pathname)"
    )
    with capsys.disabled():
        print(
            f"\n{COUNT:,} checkpoints: index of {index_bytes(lake) / 1e6:.1f} MB; first row {cold_s:.2f} s cold, "
            f"{warm[len(warm) // 2]:.2f} s warm (at most {warm[-1]:.2f} s); memory of the API server "
            f"{before / 1024:.0f} MiB before, {(after - before) / 1024:+.0f} MiB with the index; "
            f"{1 + len(shown)} requests for the page, and one listing of the storage for each"
        )
    assert {Path(name).name for name in shown} <= {"ckpt.css", "ckpt.js"}


def first_row_s(stack, query: str = "?all") -> float:
    """Seconds until the first row of the table has come, as a reader of the stream sees it."""
    request = urllib.request.Request(
        f"{stack.url}/ckpt/{query}", headers={"Authorization": f"Bearer {stack.token('viewer')}"}
    )
    began = time.monotonic()
    with stack._opener.open(request, timeout=60) as answer:
        text = b""
        while b'<th scope="row">' not in text:
            part = answer.read1(65_536)
            assert part, "the page has no row"
            text += part
    return time.monotonic() - began


def index_bytes(lake) -> int:
    return max(path.stat().st_size for path in lake.index.iterdir())


def memory_kib(stack) -> int:
    """Resident memory of the API server and its workers, KiB."""
    total = 0
    for pid in descendants(stack._supervisor.pid):
        process = Path("/proc") / str(pid)
        with suppress(OSError, StopIteration):  # it has ended
            if b"api" in (process / "cmdline").read_bytes():
                lines = (process / "status").read_text().splitlines()
                total += int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
    return total
