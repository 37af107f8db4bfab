"""One version of a query: spark-submit job.py CHECKPOINT OUTPUT VERSION.

The old version of a stream is ``rate``, ``files``, ``parquet`` or ``dedup``; what comes after a colon is a new one.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

ROWS = 10
#: Rows that come so much later than others, in event time.
LATE_S = 5


def source(spark: Any, stream: str, checkpoint: str, rows: int = ROWS) -> Any:
    """The input: numbers, or files of numbers."""
    if stream == "files":
        folder = Path(checkpoint).parent / "in"
        return spark.readStream.schema("value long").option("maxFilesPerTrigger", 1).json(str(folder))
    numbers = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows)
    return numbers.option("startTimestamp", 0).option("advanceMillisPerBatch", 1000).load()


def deduplicated(rows: Any, *, delay_s: int, key: str) -> Any:
    """Each number once; a third of the rows is late."""
    late = f"timestamp_seconds(value - CASE WHEN value % 3 = 0 THEN {LATE_S} ELSE 0 END) AS event"
    seen = rows.selectExpr("value", "value * 2 AS twice", late)
    return seen.withWatermark("event", f"{delay_s} seconds").dropDuplicates(key.split())


def query(spark: Any, checkpoint: str, version: str, rows: int = ROWS) -> Any:
    """The rows that a version writes."""
    stream, _, change = version.partition(":")
    given = source(spark, stream, checkpoint, rows)
    if stream == "dedup":
        delay_s = 1 if change == "watermark" else 60
        return deduplicated(given, delay_s=delay_s, key="value twice event" if change == "state" else "value event")
    old = ["value", "value * 2 AS twice", "concat('n', value % 3) AS name"]
    if stream == "clock":
        old.append("current_timestamp() AS at")
    changes = {
        "refactored": ["value", "value + value AS twice", "concat_ws('', 'n', pmod(value, 3)) AS name"],
        "reordered": old[::-1],
        "added": [*old, "value % 5 = 0 AS fifth"],
        "factor": ["value", "value * 3 AS twice", old[2]],
        "schema": ["value", "CAST(value * 2 AS STRING) AS twice", old[2]],
    }
    if change == "doubled":
        given = given.selectExpr("explode(array(value, value)) AS value")
    if change == "dropped":
        given = given.where("value % 7 != 0")
    if change == "sources":
        given = given.select("value").union(source(spark, stream, checkpoint).select("value"))
    if change == "crashes_later":
        given = given.where(f"assert_true(value < {end_of_first(checkpoint) + 2 * ROWS}) IS NULL")
    return given.selectExpr(*changes.get(change, old))


def end_of_first(checkpoint: str) -> int:
    """Where the newest planned batch of a checkpoint ends."""
    newest = max((path for path in Path(checkpoint, "offsets").glob("[0-9]*")), key=lambda path: int(path.name))
    return int(json.loads(newest.read_text().splitlines()[2])["offset"])


def writer(rows: Any, stream: str, checkpoint: str, output: str) -> Any:
    """What writes to files."""
    kind = "parquet" if stream == "parquet" else "json"
    return rows.writeStream.format(kind).option("path", output).option("checkpointLocation", checkpoint)


def main() -> None:
    from pyspark.sql import SparkSession

    checkpoint, output, version = sys.argv[1:]
    stream, _, change = version.partition(":")
    if change == "crashes":
        raise SystemExit("a version that does not start")
    spark = SparkSession.builder.getOrCreate()
    if change == "stuck":
        time.sleep(3600)
    target = str(Path(output).with_name("out")) if change == "live_sink" else output
    write = writer(query(spark, checkpoint, version), stream, checkpoint, target)
    if change == "crashes_later":
        write.trigger(processingTime="0 seconds").start().awaitTermination()
    write.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
