"""Records the checkpoint and the output that the pages speak of, with a real Spark and a real broker.

``python -m tests.docs.record`` writes ``orders.tar.gz`` anew: the query ``orders``, which reads two partitions of the
topic ``orders``, counts its records a minute in RocksDB, and writes to files. Ids in it are those of its run;
its batches begin one a minute.
"""

from __future__ import annotations

import io
import re
import shutil
import tarfile
import tempfile
from pathlib import Path

from tests.docs.lake import ARCHIVE, FIRST_MS, MINUTE_MS, PARTITIONS, RECORDS_A_BATCH, TOPIC, put_records
from tests.kafka_lab import Broker, connector_jars
from tests.spark_lab import start_spark

#: The newest batch. The one before it has state files of its own, and Spark retains all of them.
LAST_BATCH = 43
CONFS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "10",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


def run_query(broker: Broker, home: Path) -> None:
    """Read what there is in batches of one size, and stop."""
    from pyspark.sql import functions as f

    spark = start_spark(connector_jars())
    for key, value in CONFS.items():
        spark.conf.set(key, value)
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", str(RECORDS_A_BATCH * PARTITIONS))
        .load()
    )
    counts = (
        records.withWatermark("timestamp", "1 minute")
        .groupBy(f.window("timestamp", f"{MINUTE_MS} milliseconds").alias("minute"))
        .count()
    )
    query = (
        counts.coalesce(1)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(home / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(home / "output"))
    )
    assert query.awaitTermination(600)
    spark.stop()


def pack(home: Path) -> None:
    """Write the archive, with the paths in the log of the sink as a query on S3 has them."""
    with tarfile.open(ARCHIVE, "w:gz") as tar:
        for path in sorted(home.rglob("*")):
            name = path.relative_to(home)
            if path.is_dir() or (name.name.startswith(".") and name.name.endswith(".crc")):
                continue  # a Hadoop driver of S3 writes no such files
            data = path.read_bytes()
            if name.parts[1] == "offsets":  # the batches begin when their records come, one a minute
                began_ms = FIRST_MS + (int(name.name) + 1) * MINUTE_MS
                data = re.sub(rb'"batchTimestampMs":\d+', b'"batchTimestampMs":%d' % began_ms, data)
            if "_spark_metadata" in name.parts:
                data = data.replace(f"file://{home / 'output'}".encode(), b"s3a://lake/orders")
            entry = tarfile.TarInfo(str(name))
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


def record() -> None:
    """Run the query and pack what it has left."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        (home / "broker").mkdir()
        broker = Broker(home / "broker")
        try:
            broker.create_named(TOPIC, PARTITIONS)
            put_records(broker, 0, RECORDS_A_BATCH * (LAST_BATCH + 1))
            run_query(broker, home)
        finally:
            broker.stop()
        assert (home / f"checkpoint/commits/{LAST_BATCH}").exists()
        shutil.rmtree(home / "broker")
        pack(home)


if __name__ == "__main__":
    record()
