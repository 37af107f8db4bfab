"""Reading 1 GB of state with checksum files: a deep check, and the verifying of a backup, against ``sha256sum``."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from measuring import Row, run, timed
from samples import HADOOP, SPARK, write_state

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.storage.store import Store

#: A state of 1 GB in 2,000 files: so many partitions, each a chain of so many changes.
PARTITIONS, VERSIONS, FILE_BYTES = 100, 20, 500_000
KINDS = {"Spark's": SPARK, "Hadoop's": HADOOP}
ROUNDS = 3


def measure(directory: Path) -> Iterator[Row]:
    """Every row of this subject: whole processes, on files that were just written or read."""
    ckpt = str(Path(sys.executable).with_name("ckpt"))
    for kind, checksums in KINDS.items():
        checkpoint, root = directory / kind / "checkpoint", directory / kind / "backups"
        write_state(checkpoint, PARTITIONS, VERSIONS, FILE_BYTES, checksums)
        take_backup(Store.open(str(checkpoint)), Store.open(str(root)))
        ways = {
            "ckpt check --deep": ([ckpt, "check", str(checkpoint), "--deep", "--json"], checkpoint),
            "ckpt verify": ([ckpt, "verify", str(root), "latest", "--json"], root),
        }
        for what, (command, read) in ways.items():
            assert json.loads(run(command))["findings"] == []
            yield against_sha256sum(f"{what}, 1 GB of state, {kind} checksum files", command, read)


def against_sha256sum(what: str, command: list[str], directory: Path) -> Row:
    """A command that reads all files below a directory, and ``sha256sum`` over the same."""
    summing = ["sh", "-c", 'find "$0" -type f -print0 | xargs -0 sha256sum', str(directory)]
    pairs = [(timed(command), timed(summing)) for _ in range(ROUNDS)]
    ours, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(one / other for one, other in pairs)
    return f"{what} / sha256sum", f"{ours:.1f} s", f"{theirs:.1f} s", f"{ratio:.2f}x", "<= 3x"
