"""A query without input files: spark-submit rate_job.py CHECKPOINT [--fail]. One batch a start.

With ``--fail`` the application ends with an error after its batch is committed, and leaves commits of one date: a
rollback watches for a writer for twice the longest pause between two commits, which is none then.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    from pyspark.sql import SparkSession

    checkpoint = sys.argv[1]
    spark = SparkSession.builder.getOrCreate()
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5)
    rows = rows.option("startTimestamp", 0).option("advanceMillisPerBatch", 1000).load()
    writer = rows.writeStream.format("noop").option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
    if "--fail" in sys.argv:
        for path in Path(checkpoint, "commits").iterdir():
            os.utime(path)
        raise SystemExit("a bad deploy")


if __name__ == "__main__":
    main()
