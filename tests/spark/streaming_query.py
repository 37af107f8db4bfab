"""A stateful query in a process of its own, committing as fast as it can: python streaming_query.py CHECKPOINT CONFIG.

It purges early and snapshots often, as a hard case for backups. It runs until it is killed.
"""

from __future__ import annotations

import sys

from tests.spark_lab import STATE_CONFS, provider_conf, start_spark


def main() -> None:
    checkpoint, config = sys.argv[1:3]
    spark = start_spark()
    confs = {"spark.sql.streaming.minBatchesToRetain": "2", **STATE_CONFS[config]}
    for key, value in confs.items():
        spark.conf.set(key, provider_conf(value))
    counts_of(spark).writeStream.format("noop").outputMode("complete").option("checkpointLocation", checkpoint).trigger(
        processingTime="0 seconds"
    ).start().awaitTermination()


def counts_of(spark):
    """The query: how many rows of a counting source fall on each of 97 keys, and their sum."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 50).load()
    return rows.groupBy((rows.value % 97).alias("key")).agg({"value": "count", "timestamp": "max"})


if __name__ == "__main__":
    main()
