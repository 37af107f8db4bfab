"""Run the queries of the fleet that one Spark runs: python -m tests.graph.fleet_writer SPARK KAFKA [JARS]

A program of its own, which needs PySpark alone.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from tests.graph.fleet_jobs import CHECKPOINTS, INPUTS, JOBS, LAKE, PACKAGES, ROOT, WAREHOUSE, Job

SCHEMA = "key STRING, value LONG, at TIMESTAMP"
#: How long a rate source runs, seconds.
RATE_S = 6


def start(spark: str, jars: str) -> Any:
    """A session with what Maven has for it; Iceberg tables are in the catalog ``lake``."""
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    confs = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(ROOT / "spark-warehouse"),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.session.timeZone": "UTC",
    }
    if spark in PACKAGES:
        confs |= {
            "spark.jars.packages": ",".join(PACKAGES[spark]),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.databricks.delta.snapshotPartitions": "1",
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": str(WAREHOUSE),
        }
    if jars:
        confs["spark.jars"] = jars
    builder: Any = SparkSession.builder.master("local[2]").appName("thirty")
    for key, value in confs.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


class Runner:
    """Runs queries until they have read what there is."""

    def __init__(self, session: Any, kafka: str) -> None:
        self.session, self.kafka = session, kafka

    def run(self, job: Job) -> None:
        """Run one."""
        stream = self._read(job.sources[0])
        for other in job.sources[1:]:
            stream = stream.union(self._read(other))
        if job.options.get("aggregates"):
            counted = stream.withWatermark("at", "1 minute").groupBy("at", "key").count()
            stream = counted.selectExpr("key", "count AS value", "at")
        query = self._write(stream, job)
        if any(source.startswith("rate") for source in job.sources):
            time.sleep(RATE_S)
            query.stop()
        else:
            query.awaitTermination(300)
        error = query.exception()
        assert error is None, f"{job.name}: {error}"
        print("ran", job.name, flush=True)  # a program

    def _read(self, text: str) -> Any:
        kind, _, place = text.partition(":")
        reader = self.session.readStream
        match kind:
            case "file":
                is_output = place.startswith(str(LAKE))
                reader = reader.schema(SCHEMA).option("maxFilesPerTrigger", 1)
                if is_output:
                    return (reader.parquet if "raw" in place else reader.json)(place).selectExpr("key", "value", "at")
                return reader.json(place).selectExpr("key", "value", "at")
            case "rate":
                return reader.format("rate").load().selectExpr("'k' AS key", "value", "timestamp AS at")
            case "rate-micro-batch":
                rows = reader.format("rate-micro-batch").option("rowsPerBatch", 5).load()
                return rows.selectExpr("'k' AS key", "value", "timestamp AS at")
            case "kafka":
                options = {"kafka.bootstrap.servers": self.kafka, "subscribe": place, "startingOffsets": "earliest"}
                rows = reader.format("kafka").options(**options, maxOffsetsPerTrigger=4).load()
                return rows.selectExpr("CAST(key AS STRING) AS key", "offset AS value", "timestamp AS at")
            case "delta":
                return reader.format("delta").option("maxFilesPerTrigger", 1).load(place)
        return reader.format("iceberg").load(f"lake.db.{Path(place).name}").selectExpr("key", "value", "at")

    def _write(self, stream: Any, job: Job) -> Any:
        kind, _, place = job.sink.partition(":")
        writer = stream.writeStream.option("checkpointLocation", str(CHECKPOINTS / job.name))
        if not any(source.startswith("rate") for source in job.sources):
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime="1 second")
        match kind:
            case "file":
                return writer.format("parquet" if "raw" in place else "json").start(place)
            case "delta":
                return writer.format("delta").start(place)
            case "iceberg":
                table = f"lake.db.{Path(place).name}"
                self.session.sql(f"CREATE TABLE IF NOT EXISTS {table} ({SCHEMA}) USING iceberg")
                return writer.format("iceberg").toTable(table)
            case "kafka":
                rows = stream.selectExpr("CAST(value AS STRING) AS value").writeStream.format("kafka")
                rows = rows.option("kafka.bootstrap.servers", self.kafka).option("topic", place)
                rows = rows.option("checkpointLocation", str(CHECKPOINTS / job.name))
                return rows.trigger(availableNow=True).start()
            case "noop":
                return writer.format("noop").start()
        return writer.foreachBatch(lambda batch, batch_id: self._merge(batch, batch_id, job, place)).start()

    def _merge(self, batch: Any, batch_id: int, job: Job, place: str) -> None:
        if not place:
            batch.count()
            return
        app_id = job.options["app_id"]
        if app_id == "QUERY_ID":
            app_id = (CHECKPOINTS / job.name / "metadata").read_text().split('"')[3]
        once = batch.write.format("delta").option("txnAppId", app_id).option("txnVersion", batch_id)
        once.mode("append").save(place)


def add_inputs() -> None:
    """Write the files that the file sources read."""
    line = '{{"key":"{key}","value":{value},"at":"2026-11-01T00:0{value}:00Z"}}\n'
    (INPUTS / "mixed").mkdir(parents=True, exist_ok=True)
    (INPUTS / "mixed" / "readme.csv").write_text("a,b\n")
    for name in ("orders", "more", "mixed", "days"):
        for number in range(4):
            folder = INPUTS / name / (f"day=2026-11-0{number + 1}" if name == "days" else "")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}-{number}.json").write_text(line.format(key=name, value=number))


def main() -> None:
    """Run them in their order."""
    spark, kafka, jars = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ""
    runner = Runner(start(spark, jars), kafka)
    for job in JOBS:
        if job.spark == spark:
            runner.run(job)


if __name__ == "__main__":
    main()
