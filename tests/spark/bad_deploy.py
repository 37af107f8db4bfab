"""A query with a bad deploy that is to be rolled back, and what its result must be after a restart."""

from __future__ import annotations

import os
from pathlib import Path

from tests.spark_lab import Lab, rows_of, settle, truth

BATCHES, KEEP = 8, 3


def lab_with_a_bad_deploy(spark, root: Path, config: str) -> Lab:
    """Eight batches; the data of those after KEEP are then replaced, as when a bad producer is repaired."""
    lab = Lab(spark, root, config)
    lab.write(range(BATCHES))
    run = lab.run(pause_s=0.25)
    assert sorted(run.batches) == list(range(BATCHES))
    lab.write(range(KEEP + 1, BATCHES), "B")
    settle(lab.checkpoint)
    return lab


def prefixes(plan_length: int) -> list[int]:
    """A few stops by default; all of them with `make exhaustive`."""
    every = list(range(1, plan_length))
    return every if os.environ.get("CKPT_EXHAUSTIVE") else every[:: max(1, len(every) // 4)]


def assert_right(lab: Lab, run, where) -> None:
    """Batches before the first one of the run keep the old data, those from there on have the new one."""
    assert run.batches, f"nothing ran after {where}"
    files = range(len(list(lab.input.iterdir())))
    letters = {number: "B" if number >= max(run.first_batch, KEEP + 1) else "A" for number in files}
    if lab.config == "stateless":
        rows = [row for batch in run.batches.values() for row in batch]
        expected = [row for number in files[run.first_batch :] for row in rows_of(number, letters[number])]
        assert sorted(rows) == sorted(expected), where
    else:
        assert run.result == truth(letters), where


def snapshot(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }
