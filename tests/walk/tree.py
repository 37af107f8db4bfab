"""The files of a walk: what a query reads, what a file sink holds, and a checkpoint byte by byte."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

from tests.walk.model import BEGAN_S, MINUTE_S, Row, lines


def write_file(directory: Path, origin: int, number: int, letter: str) -> None:
    """Write, or replace, one file of an origin; its time is that of its number."""
    directory.mkdir(parents=True, exist_ok=True)
    at = BEGAN_S + MINUTE_S * number
    path = directory / f"f{number:03}.json"
    path.write_text("\n".join(json.dumps(row) for row in lines(origin, number, letter)))
    os.utime(path, (at, at))


def read_output(output: Path) -> list[Row]:
    """What a reader of a file sink gets, by the sink's own log."""
    log = output / "_spark_metadata"
    names = [path.name for path in log.iterdir() if not path.name.startswith(".")] if log.exists() else []
    compacted = max((int(name.removesuffix(".compact")) for name in names if name.endswith(".compact")), default=-1)
    later = sorted(int(name) for name in names if name.isdigit() and int(name) > compacted)
    entries = [f"{compacted}.compact"] * (compacted >= 0) + [str(batch_id) for batch_id in later]
    rows: list[Row] = []
    for name in entries:
        for line in (log / name).read_text().splitlines()[1:]:
            path = json.loads(line)["path"].removeprefix("file://")
            rows += [tuple(json.loads(row).values()) for row in Path(path).read_text().splitlines()]
    return sorted(rows)


def snapshot(checkpoint: Path) -> dict[str, bytes]:
    """Every file of a checkpoint by its name."""
    return {str(path.relative_to(checkpoint)): path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}


def difference(before: dict[str, bytes], after: dict[str, bytes]) -> dict[str, list[str]]:
    """The names of the files that are not the same."""
    return {
        "gone": sorted(before.keys() - after.keys())[:20],
        "new": sorted(after.keys() - before.keys())[:20],
        "other": sorted(name for name in before.keys() & after.keys() if before[name] != after[name])[:20],
    }


def without_tables(files: dict[str, bytes], before: dict[str, bytes]) -> dict[str, bytes]:
    """The files but for new tables of RocksDB: no version that is left names them, and its maintenance removes them."""
    return {name: data for name, data in files.items() if name in before or not re.search(r"/(SSTs|logs)/", name)}


def logs_of(files: dict[str, bytes]) -> dict[str, bytes]:
    """The entries of the two logs among the files of a checkpoint."""
    return {name: data for name, data in files.items() if name.split("/")[0] in ("offsets", "commits")}


def batches_of(checkpoint: Path, log: str) -> set[int]:
    """The batches that a log has."""
    return {int(path.name) for path in (checkpoint / log).glob("[0-9]*") if path.name.isdigit()}


def newest(checkpoint: Path, log: str) -> int:
    """The newest batch of a log; -1 for none."""
    return max(batches_of(checkpoint, log), default=-1)


def recorded(checkpoint: Path) -> set[str]:
    """The ids of the plans of which there is a record beside a checkpoint."""
    return {path.parent.name for path in checkpoint.parent.glob("_ckpt_undo/*/*/plan.json")}


def settle(checkpoint: Path) -> None:
    """Wait until the state maintenance of Spark has left the checkpoint."""
    before: dict[str, bytes] = {}
    while before != (now := snapshot(checkpoint)):
        before = now
        time.sleep(0.4)
