"""A streaming application for real engines: ``python application.py PLACE KIND SLOW_MS EVERY_MS [KIND SLOW_MS EVERY_MS]...``.

Query ``n`` of it has its checkpoint in ``PLACE/n/checkpoint``. Its rows come from a source that counts, ten in a batch,
so that what a run without any stop would write is known. ``foreachBatch`` tells when it begins and when it has ended, in
files that it creates; the others write to ``PLACE/n/sink``. Beside a file ``PLACE/leave`` it
ends with exit code 0, inside whatever batch it is.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from pathlib import Path

#: Rows of a batch.
ROWS = 10
KINDS = ("stateless", "stateful", "foreachBatch")


def main() -> None:
    """Run until it is ended."""
    from pyspark.sql import SparkSession

    place, specs = Path(sys.argv[1]), sys.argv[2:]
    spark = SparkSession.builder.getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    for number in range(len(specs) // 3):
        kind, slow_ms, every_ms = specs[3 * number : 3 * number + 3]
        begin(spark, place / str(number), kind, int(slow_ms), int(every_ms))
    for query in spark.streams.active:  # it ends when all have
        while query.isActive:
            if (place / "leave").exists():
                sys.exit(0)
            time.sleep(0.2)
    sys.exit(1)


def begin(spark, place: Path, kind: str, slow_ms: int, every_ms: int) -> None:
    """Start one query."""
    from pyspark.sql import functions as f

    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).option("numPartitions", 1)
    rows = rows.option("startTimestamp", 1_000_000).option("advanceMillisPerBatch", 1000).load()
    if kind == "foreachBatch":
        writer = rows.writeStream.foreachBatch(lambda batch, number: effect(place / "effects", batch, number, slow_ms))
    else:
        if slow_ms:
            slept = f"CASE WHEN value % {ROWS} = 0 THEN reflect('java.lang.Thread', 'sleep', {slow_ms}L) ELSE '' END"
            rows = rows.where(f"length(coalesce({slept}, '')) >= 0")
        if kind == "stateful":
            rows = rows.withWatermark("timestamp", "2 seconds").groupBy(f.window("timestamp", "3 seconds")).count()
            rows = rows.selectExpr("CAST(window.start AS LONG) AS value", "count")
        else:
            rows = rows.select("value")
        writer = rows.writeStream.format("json").option("path", str(place / "sink")).outputMode("append")
    writer = writer.option("checkpointLocation", str(place / "checkpoint"))
    writer.trigger(processingTime=f"{every_ms} milliseconds").start()


def effect(place: Path, batch, number: int, slow_ms: int) -> None:
    """What one batch does outside of the checkpoint."""
    place.mkdir(parents=True, exist_ok=True)
    values = sorted(row.value for row in batch.select("value").collect())
    life = f"{number}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    (place / f"{life}.begun").write_text(repr(values))
    time.sleep(slow_ms / 1000)
    (place / f"{life}.ended").write_text(repr(values))


if __name__ == "__main__":
    main()
