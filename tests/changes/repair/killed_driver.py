"""A driver of a query into files: python killed_driver.py HOME TASKS. Its tasks take some time for each row."""

from __future__ import annotations

import sys
from pathlib import Path

#: Milliseconds for each row.
PAUSE = 60


def main(home: Path, tasks: int) -> None:
    from pyspark.sql import SparkSession

    options = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
    builder = SparkSession.builder.master(f"local[{tasks}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.extraJavaOptions", options)
    spark = builder.getOrCreate()
    stream = spark.readStream.schema("key string, value long").option("maxFilesPerTrigger", 1).json(str(home / "input"))
    slow = f"java_method('java.lang.Thread', 'sleep', {PAUSE}L) != 'never'"
    rows = stream.repartition(tasks, "key").where(slow)
    writer = rows.writeStream.format("parquet").option("checkpointLocation", str(home / "checkpoint"))
    writer.trigger(availableNow=True).start(str(home / "out")).awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
