"""The query of the demo: sums of amounts a minute, over JSON files, with a watermark, into a parquet sink.

    python streaming_job.py INPUT OUTPUT CHECKPOINT [--factor 100] [--once]

``--factor 100`` is the bug of the bad deploy: amounts in cents are taken for whole units. With ``--once`` the job ends
when the input is used up; without it it runs until it gets a SIGTERM.
"""

from __future__ import annotations

import argparse
import signal

from pyspark.sql import SparkSession, functions


def main() -> None:
    """Run the query."""
    parser = argparse.ArgumentParser()
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("checkpoint")
    parser.add_argument("--factor", type=int, default=1)
    parser.add_argument("--once", action="store_true")
    options = parser.parse_args()
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("checkpoint_lifecycle")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    events = spark.readStream.schema("at timestamp, shop string, cents long").option("maxFilesPerTrigger", 1)
    sums = (
        events.json(options.input)
        .withWatermark("at", "10 seconds")
        .groupBy(functions.window("at", "1 minute"), "shop")
        .agg((functions.sum("cents") * options.factor).alias("amount"), functions.count("*").alias("events"))
        .select(functions.col("window.start").alias("minute"), "shop", "amount", "events")
    )
    writer = sums.writeStream.format("parquet").outputMode("append")
    writer = writer.option("path", options.output).option("checkpointLocation", options.checkpoint)
    trigger = {"availableNow": True} if options.once else {"processingTime": "1 second"}
    query = writer.trigger(**trigger).start()
    signal.signal(signal.SIGTERM, lambda *_: query.stop())
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
