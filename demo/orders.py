"""The streaming job of docker-compose.yaml: orders from Kafka, with their amount, into parquet files on S3.

    spark-submit demo/orders.py BOOTSTRAP TOPIC OUTPUT CHECKPOINT [--factor 100] [--once]

``--factor 100`` is the bug of a bad deploy: cents are taken for whole units. With ``--once`` the job ends when it has
read what was there; without it, it runs until it is ended.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.sql import SparkSession, functions


def main() -> None:
    """Run the query."""
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "topic", "output", "checkpoint"):
        parser.add_argument(name)
    parser.add_argument("--factor", type=int, default=1)
    parser.add_argument("--once", action="store_true")
    options = parser.parse_args()
    spark = SparkSession.builder.appName("orders").getOrCreate()
    topic = {"kafka.bootstrap.servers": options.bootstrap, "subscribe": options.topic}
    records = spark.readStream.format("kafka").options(**topic, startingOffsets="earliest").load()
    order = functions.from_json(records.value.cast("string"), "`order` long, shop string, cents long, at timestamp")
    amounts = records.select(order.alias("it")).select(
        "it.order", "it.shop", (functions.col("it.cents") * options.factor).alias("amount"), "it.at"
    )
    writer = amounts.coalesce(1).writeStream.format("parquet").queryName("orders")
    writer = writer.option("path", options.output).option("checkpointLocation", options.checkpoint)
    query = writer.trigger(**({"availableNow": True} if options.once else {"processingTime": "5 seconds"})).start()
    while not query.awaitTermination(5):
        (Path.home() / "alive").touch()
    spark.stop()


if __name__ == "__main__":
    main()
