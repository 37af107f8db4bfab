"""A Spark of some version in a process and an environment of its own, whose standard error is a driver's log.

It imports PySpark alone, so that it runs in the environment of an earlier Spark. It takes one JSON command a line from
stdin, and answers each with a line that begins with REPLY:

* ``{"do": "query", …}`` runs a query until its input is used up (the fields are those of `produced.lab.Query`), and answers
  with the rows that it has written, by batch, with the simple name of the innermost exception that it stopped with, and with
  the error conditions of the exceptions; with ``"hold": FILE`` each batch waits in the sink until that file is there, and
  ``FILE.reached`` says that one does;
* ``{"do": "read", "path": DIRECTORY}`` answers with the rows of a table of files;
* ``{"do": "sql", "text": SQL}`` too;
* ``{"do": "forget"}`` lets Delta read all tables anew.

python spark_process.py CONF=VALUE…
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

CONFS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.maintenanceInterval": "100ms",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    # A Python worker that does not answer within 15 s, the default, fails its query on a busy machine.
    "spark.python.authenticate.socketTimeout": "300s",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
}


def start(confs: dict[str, str]) -> Any:
    """A local session."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("orders")
    for key, value in {**CONFS, **confs}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def source(spark: Any, of: dict[str, Any]) -> Any:
    """One source of a query, with the columns of its schema."""
    reader = spark.readStream.format(of["format"]).options(**of.get("options", {}))
    if of.get("schema"):
        reader = reader.schema(of["schema"])
    if of.get("name"):
        reader = reader.name(of["name"])
    rows = reader.load(of["path"]) if of.get("path") else reader.load()
    if of["format"] == "kafka":
        from pyspark.sql import functions as sql

        rows = rows.select(sql.concat_ws("-", "topic", "partition").alias("key"), sql.col("offset").alias("value"))
    return rows


def changed(rows: Any, does: str) -> Any:
    """What the query does with its rows."""
    from pyspark.sql import functions as sql

    late = rows.withWatermark("at", "10 seconds") if "at" in rows.columns else rows
    match does:
        case "copy":
            return rows
        case "values":  # what a sink of Kafka takes
            return rows.selectExpr("CAST(value AS STRING) AS value")
        case "sum by key":
            return rows.groupBy("key").agg(sql.sum("value").alias("total"))
        case "sum by key and day":
            return rows.withColumn("day", sql.lit("monday")).groupBy("key", "day").agg(sql.sum("value").alias("total"))
        case "distinct":
            return rows.dropDuplicates(["key"])
        case "windows":
            return late.groupBy(sql.window("at", "20 seconds"), "key").agg(sql.count("*").alias("orders"))
        case "windows to files":
            counted = late.groupBy(sql.window("at", "20 seconds"), "key").agg(sql.count("*").alias("orders"))
            return counted.select("key", sql.col("window.start").cast("string").alias("start"), "orders")
        case "windows of each":
            return rows.groupBy(sql.window("at", "20 seconds"), "key").agg(sql.count("*").alias("orders"))
        case "sum of text by key":
            return rows.groupBy("key").agg(sql.max(sql.col("value").cast("string")).alias("total"))
    raise ValueError(does)


def counted(rows: Any, time_mode: str) -> Any:
    """Rows of each key, counted by a processor with a state variable; of a local class, which Spark ships to its workers."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Count(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._seen = handle.getValueState("seen", "n LONG")

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Any:
            frames = list(rows)
            total = (self._seen.get()[0] if self._seen.exists() else 0) + sum(map(len, frames))
            self._seen.update((total,))
            yield frames[0].head(1)[["key"]].assign(total=total)

        def close(self) -> None:
            pass

    keyed = rows.groupBy("key")
    return keyed.transformWithStateInPandas(Count(), "key STRING, total LONG", "Update", time_mode)


def run(spark: Any, command: dict[str, Any]) -> dict[str, Any]:
    """Run a query to its end; what it stopped with is in the log, as PySpark prints it."""
    session = spark.newSession()
    for key, value in command["confs"].items():
        session.conf.set(key, value)
    batches: dict[int, list[Any]] = {}

    def keep(batch: Any, batch_id: int) -> None:
        batches[batch_id] = sorted([[str(value) for value in row] for row in batch.collect()])
        if command.get("hold"):
            Path(f"{command['hold']}.reached").touch()
            while not Path(command["hold"]).exists():
                time.sleep(0.05)

    error, conditions = None, []
    try:
        sources = [source(session, of) for of in command["sources"]]
        if command["does"] == "windows of each":  # a watermark for each source
            sources = [rows.withWatermark("at", "10 seconds") for rows in sources]
        rows = sources[0]
        for other in sources[1:]:
            rows = rows.union(other)
        does = command["does"]
        rows = counted(rows, does.removeprefix("count in ")) if does.startswith("count in ") else changed(rows, does)
        writer = rows.writeStream.outputMode(command["mode"]).options(**command["options"])
        writer = writer.option("checkpointLocation", command["checkpoint"]).trigger(**command["trigger"])
        to = command["to"]
        query = writer.foreachBatch(keep).start() if to is None else writer.format(to[0]).start(to[1] or None)
        if "availableNow" in command["trigger"]:
            query.awaitTermination(600)
            assert not query.isActive, "the query did not finish in 600 s"
        else:
            query.processAllAvailable()
            query.stop()
    except Exception as failure:  # it is what the test asks for
        traceback.print_exc()
        chain = causes(failure)
        error = str(chain[-1].getClass().getSimpleName()) if chain else type(failure).__name__
        conditions = [name for java in chain if (name := condition(java))]
    return {"batches": sorted(batches.items()), "error": error, "conditions": conditions}


def causes(failure: Any) -> list[Any]:
    """The exceptions of Java behind one of Python, the outermost first."""
    java, chain = getattr(failure, "_origin", None), []
    while java is not None:
        chain.append(java)
        java = java.getCause()
    return chain


def condition(java: Any) -> str | None:
    """The error condition of an exception of Java; None where it has none."""
    from py4j.protocol import Py4JError

    for method in ("getCondition", "getErrorClass"):  # the second one is that of Spark 3.5
        try:
            name = getattr(java, method)()
        except (Py4JError, TypeError):  # an exception that is not Spark's has no such method
            continue
        return None if name is None else str(name)
    return None


def answer(spark: Any, command: dict[str, Any]) -> Any:
    """Do what a command says."""
    match command["do"]:
        case "query":
            return run(spark, command)
        case "read":
            return sorted([str(value) for value in row] for row in spark.read.parquet(command["path"]).collect())
        case "forget":
            return spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    return [[str(value) for value in row] for row in spark.sql(command["text"]).collect()]


def main() -> None:
    spark = start(dict(word.split("=", 1) for word in sys.argv[1:]))
    for line in sys.stdin:
        try:
            reply = {"ok": answer(spark, json.loads(line))}
        except Exception as error:  # for the test that asked
            reply = {"error": f"{type(error).__name__}: {error}"[:2000]}
        sys.stderr.flush()
        print("REPLY " + json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
