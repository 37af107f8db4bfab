"""A Spark session with the jars of table formats, in a process and an environment of its own.

It takes one JSON command a line from stdin and answers each with a line that begins with REPLY:

* ``{"do": "run", "input": DIR, "checkpoint": DIR, "sink": KIND, "to": PATH or table, "options": {}}`` runs the query
  until its input is used up;
* ``{"do": "stream", "source": KIND, "from": PATH or table, "checkpoint": DIR, "options": {}}`` reads a table as a stream
  until it is used up, and answers with the rows of each batch: batch id and count;
* ``{"do": "attempt", "source": KIND, "from": PATH or table, "checkpoint": DIR, "options": {}, "trigger": NAME}`` starts a
  query on a table, and answers with the first column of what it has read, and with what it stopped with;
* ``{"do": "overwrite", "to": PATH, "schema": DDL, "rows": [], "by": []}`` gives a Delta table another schema and other rows;
* ``{"do": "checkpoint", "of": PATH}`` writes a checkpoint of a Delta table;
* ``{"do": "forget"}`` lets Delta read all tables anew;
* ``{"do": "read", "sink": KIND, "to": PATH or table}`` answers with the rows;
* ``{"do": "sql", "text": SQL}`` too.

python spark_worker.py COORDINATES WAREHOUSE
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

DELTA = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
}
HUDI = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
}
EXTENSIONS = {
    "delta-spark": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg-spark": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "hudi-spark": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
}
HUDI_OPTIONS = {
    "hoodie.table.name": "orders",
    "hoodie.datasource.write.operation": "insert",
    "hoodie.datasource.write.recordkey.field": "key,value",
    "hoodie.datasource.write.precombine.field": "value",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
}


def start(coordinates: Path, warehouse: str) -> Any:
    """A session for the formats of the coordinates; Iceberg tables are in the catalog ``lake``, in the warehouse."""
    from pyspark.sql import SparkSession

    lines = [line.strip() for line in coordinates.read_text().splitlines()]
    packages = [line for line in lines if line and not line.startswith(("#", "pyspark"))]
    confs = {
        "spark.jars.packages": ",".join(packages),
        "spark.sql.extensions": ",".join(
            extension for name, extension in EXTENSIONS.items() if any(name in package for package in packages)
        ),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": warehouse,
        "spark.sql.warehouse.dir": f"{warehouse}/spark",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        **(HUDI if coordinates.stem == "hudi" else DELTA),
    }
    builder = SparkSession.builder.master("local[2]").appName("sinks")
    for key, value in confs.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def run(spark: Any, command: dict[str, Any]) -> None:
    """Run the query until its input is used up, one file a batch."""
    rows = spark.readStream.schema("key string, value long").option("maxFilesPerTrigger", 1).json(command["input"])
    writer = rows.writeStream.option("checkpointLocation", command["checkpoint"]).trigger(availableNow=True)
    to = command["to"]
    match command["sink"]:
        case "iceberg":
            query = writer.toTable(to)
        case "foreachBatch":

            def write(batch: Any, batch_id: int) -> None:
                once = batch.write.format("delta").option("txnAppId", "orders").option("txnVersion", batch_id)
                once.mode("append").save(to)

            query = writer.foreachBatch(write).start()
        case "hudi":
            query = writer.format("hudi").options(**HUDI_OPTIONS, **command.get("options", {})).start(to)
        case kind:
            query = writer.format(kind).start(to)
    query.awaitTermination(600)
    assert not query.isActive, "the query did not finish"


def stream(spark: Any, command: dict[str, Any]) -> list[tuple[int, int]]:
    """Read a table as a stream until it is used up."""
    counts: list[tuple[int, int]] = []

    def count(batch: Any, batch_id: int) -> None:
        counts.append((batch_id, batch.count()))

    rows = spark.readStream.format(command["source"]).options(**command["options"]).load(command["from"])
    writer = rows.writeStream.option("checkpointLocation", command["checkpoint"]).foreachBatch(count)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination(600)
    assert not query.isActive, "the query did not finish"
    return counts


TRIGGERS = {
    "availableNow": {"availableNow": True},
    "once": {"once": True},
    "processingTime": {"processingTime": "0 seconds"},
}
#: Conditions that tell where something failed, and not what.
_WRAPPERS = {"STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR"}


def attempt(spark: Any, command: dict[str, Any]) -> dict[str, Any]:
    """Start a query, and see how far it gets."""
    numbers: list[Any] = []

    def keep(batch: Any, batch_id: int) -> None:
        numbers.extend(row[0] for row in batch.collect())

    rows = spark.readStream.format(command.get("source", "iceberg")).options(**command["options"]).load(command["from"])
    writer = rows.writeStream.option("checkpointLocation", command["checkpoint"]).foreachBatch(keep)
    query = writer.trigger(**TRIGGERS[command["trigger"]]).start()
    try:
        if command["trigger"] == "processingTime":
            query.processAllAvailable()
        else:
            query.awaitTermination(600)
    except Exception:  # it is what was asked for, and is read from the query
        pass
    query.stop()
    failure = query._jsq.exception()
    read = sorted(numbers, key=lambda value: (isinstance(value, str), value))
    if failure.isEmpty():
        return {"rows": read, "error": None, "message": "", "condition": None}
    conditions = re.findall(r"\[([A-Z][A-Z0-9_.]+)\]", failure.get().toString())
    cause = failure.get()
    while cause.getCause() is not None:
        cause = cause.getCause()
    return {
        "rows": read,
        "error": cause.getClass().getSimpleName(),
        "message": cause.getMessage(),
        "condition": next((name for name in conditions if name not in _WRAPPERS), None),
    }


def overwrite(spark: Any, command: dict[str, Any]) -> None:
    """Give a Delta table another schema, and other rows."""
    rows = spark.createDataFrame([tuple(row) for row in command["rows"]], command["schema"])
    writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    writer.partitionBy(*command["by"]).save(command["to"])


def delta_log(spark: Any, path: str) -> Any:
    """The log of a Delta table, read anew."""
    logs = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    logs.clearCache()
    return logs.forTable(spark._jsparkSession, path)


def rows_of(spark: Any, command: dict[str, str]) -> list[list[Any]]:
    """The rows of a table as it is now."""
    kind, to = command["sink"], command["to"]
    table = spark.table(to) if kind == "iceberg" else spark.read.format(kind).load(to)
    return [list(row) for row in table.select("key", "value").collect()]


def answer(spark: Any, command: dict[str, Any]) -> Any:
    """Do what a command says."""
    match command["do"]:
        case "run":
            return run(spark, command)
        case "stream":
            return stream(spark, command)
        case "attempt":
            return attempt(spark, command)
        case "overwrite":
            return overwrite(spark, command)
        case "checkpoint":
            return delta_log(spark, command["of"]).checkpoint()
        case "forget":
            return spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        case "read":
            return rows_of(spark, command)
    return [list(row) for row in spark.sql(command["text"]).collect()]


def main() -> None:
    spark = start(Path(sys.argv[1]), sys.argv[2])
    for line in sys.stdin:
        try:
            reply = {"ok": answer(spark, json.loads(line))}
        except Exception as error:  # for the test that asked
            reply = {"error": f"{type(error).__name__}: {error}"[:2000]}
        print("REPLY " + json.dumps(reply, default=str), flush=True)


if __name__ == "__main__":
    main()
