"""A wrong version, whose driver dies when the sink has the rows of its batch and the commit log does not yet.

    spark-submit dying_job.py CHECKPOINT OUTPUT

It leaves commits of one date: a rollback watches for a writer for twice the longest pause between two commits.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.deploys.job import query, writer


def main() -> None:
    from pyspark.sql import SparkSession

    checkpoint, output = sys.argv[1:]
    rows = query(SparkSession.builder.getOrCreate(), checkpoint, "rate:factor")
    writer(rows, "rate", checkpoint, output).trigger(availableNow=True).start().awaitTermination()
    commits = Path(checkpoint, "commits")
    newest = max(commits.glob("[0-9]*"), key=lambda path: int(path.name))
    for path in (newest, newest.with_name(f".{newest.name}.crc")):
        path.unlink()
    for path in commits.iterdir():
        os.utime(path)
    raise SystemExit("a driver that dies")


if __name__ == "__main__":
    main()
