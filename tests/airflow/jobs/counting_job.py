"""A query with state in RocksDB: spark-submit counting_job.py CHECKPOINT RESULT. One batch of five numbers a start.

The result is a JSON object: the sum of the numbers by their remainder of five, after the last batch.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

STATE = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
}


def run_once(spark: Any, checkpoint: str, result: str) -> None:
    """One start of the query."""
    for key, value in STATE.items():
        spark.conf.set(key, value)
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5)
    rows = rows.option("startTimestamp", 0).option("advanceMillisPerBatch", 1000).load()
    sums = rows.selectExpr("value % 5 AS remainder", "value").groupBy("remainder").sum("value")

    def keep(batch: Any, batch_id: int) -> None:
        Path(result).write_text(json.dumps({str(remainder): total for remainder, total in batch.collect()}))

    writer = sums.writeStream.foreachBatch(keep).outputMode("complete").option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    run_once(SparkSession.builder.getOrCreate(), sys.argv[1], sys.argv[2])
