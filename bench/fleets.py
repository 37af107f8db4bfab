"""A fleet: time and memory on a local disk, requests on S3."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from measuring import Row, run, s3_store
from samples import write_checkpoint

from airflow_provider_ckpt.fleet.find import find_checkpoints
from airflow_provider_ckpt.fleet.judge import judge_checkpoints

FLEET_SIZES = (100, 2_000)
FLEET_BATCHES = 10
#: Checkpoints of which a query file is drafted.
DRAFTED = 1_000

FLEET = """
import sys
from pathlib import Path
from airflow_provider_ckpt.cli import run
run(["fleet", sys.argv[1], "--json"])
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


def measure(directory: Path) -> Iterator[Row]:
    """Every row of this subject."""
    yield from fleet(directory)
    yield draft(directory)
    yield fleet_requests()


def fleet(directory: Path) -> list[Row]:
    """The whole process of ``ckpt fleet`` over many checkpoints on a local disk, and its memory against few of them."""
    template = write_checkpoint(directory / "template", FLEET_BATCHES)
    measured = []
    for count in FLEET_SIZES:
        root = directory / f"fleet-{count}"
        for number in range(count):
            shutil.copytree(template, root / f"team-{number % 20}" / f"query-{number}", copy_function=os.link)
        started = time.perf_counter()
        summary, peak_kib = run([sys.executable, "-c", FLEET, str(root)]).splitlines()[-2:]
        measured.append((time.perf_counter() - started, int(peak_kib)))
        assert json.loads(summary.partition(' "summary": ')[2][:-1])["checkpoints"] == count
    (_, few_kib), (seconds, many_kib) = measured
    few, many = FLEET_SIZES
    memory = f"ckpt fleet, peak memory, {many:,} / {few:,} checkpoints"
    mib = f"{many_kib / 1024:.1f} MiB", f"{few_kib / 1024:.1f} MiB", f"{many_kib / few_kib:.2f}x"
    return [
        (f"ckpt fleet, {many:,} checkpoints on a local disk", f"{seconds:.1f} s", "-", "-", "-"),
        ("ckpt fleet, checkpoints a second", f"{many / seconds:.0f}", "-", "-", "-"),
        (memory, *mib, "<= 1.2x"),
    ]


def draft(directory: Path) -> Row:
    """The whole process of ``ckpt init`` over many checkpoints, against ``ckpt fleet`` over the same."""
    template = write_checkpoint(directory / "drafted", FLEET_BATCHES)
    root = directory / f"drafts-{DRAFTED}"
    for number in range(DRAFTED):
        shutil.copytree(template, root / f"team-{number % 20}" / f"query-{number}", copy_function=os.link)
    seconds, text = _timed("init", str(root), "--out", "-")
    checked, _ = _timed("fleet", str(root), "--json")
    assert text.count("    checkpoint: ") == DRAFTED
    name = f"ckpt init, {DRAFTED:,} checkpoints on a local disk / ckpt fleet"
    return name, f"{seconds:.1f} s", f"{checked:.1f} s", f"{seconds / checked:.2f}x", "<= 2x"


def _timed(*words: str) -> tuple[float, str]:
    """The seconds that a command takes, and its output."""
    started = time.perf_counter()
    said = run(
        [sys.executable, "-c", "import sys; from airflow_provider_ckpt.cli import run; run(sys.argv[1:])", *words]
    )
    return time.perf_counter() - started, said


def fleet_requests() -> Row:
    """Requests that a fleet sends to an S3 API for each of its checkpoints, finding them included."""
    count = 20
    with s3_store() as (lake, sent), tempfile.TemporaryDirectory() as directory:
        template = write_checkpoint(Path(directory), FLEET_BATCHES)
        for number, path in itertools.product(range(count), template.rglob("*")):
            if path.is_file():
                lake.create(f"query-{number}/{path.relative_to(template).as_posix()}", path.read_bytes())
        sent.clear()
        rows = list(judge_checkpoints(find_checkpoints([lake])))
        assert [row.latest_committed_batch for row in rows] == [FLEET_BATCHES - 1] * count
    return "S3 requests a checkpoint of a fleet, found and checked", f"{len(sent) / count:.2f}", "-", "-", "<= 6"
