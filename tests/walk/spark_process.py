"""A Spark that starts the queries of random walks: five shapes, any state store, two sinks, files and Kafka.

It imports PySpark alone.

It speaks as tests/changes/sources/spark_process.py does. Each reply has the rows that the query has given to its sink by
batch, where each source began and ended in each batch as Spark's own progress tells it, and what the query stopped with.
"""

from __future__ import annotations

import re
import time
from datetime import datetime
from typing import Any

from tests.changes.sources.spark_process import CONFS, causes, main, session_of, union

#: Between two runs of the maintenance of the state, in milliseconds.
MAINTENANCE_MS = 300

CONFS |= {
    "spark.sql.streaming.stateStore.maintenanceInterval": f"{MAINTENANCE_MS}ms",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    "spark.sql.shuffle.partitions": "2",
}


SCHEMA = "v long, ts timestamp"

#: Conditions that say where a query stopped, and not why.
_WRAPPERS = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")


def source(session: Any, of: dict[str, Any]) -> Any:
    """The values and times of one directory of JSON files, one file a batch, or of a topic, as many records a batch."""
    from pyspark.sql import functions as sql

    reader = session.readStream.format(of["format"]).options(**of["options"])
    if of["name"]:
        reader = reader.name(of["name"])
    if of["format"] == "json":
        return reader.schema(SCHEMA).load(of["path"])
    parsed = sql.from_json(sql.col("value").cast("string"), SCHEMA).alias("of")
    return reader.load().select(parsed).select("of.v", "of.ts")


def result(shape: str, parts: list[Any]) -> tuple[Any, str]:
    """What the query computes, and its output mode."""
    from pyspark.sql import functions as sql

    if shape == "join":
        left = parts[0].select(sql.col("v"), (sql.col("v") % 3).alias("key"))
        right = parts[1].select(sql.col("v").alias("other"), (sql.col("v") % 3).alias("same"))
        return left.join(right, sql.col("key") == sql.col("same")).select("v", "other"), "append"
    rows = union(parts)
    match shape:
        case "stateless":
            return rows.select("v"), "append"
        case "sum":
            return rows.groupBy((sql.col("v") % 3).alias("key")).agg(sql.sum("v").alias("total")), "complete"
        case "distinct":
            return rows.select("v").dropDuplicates(["v"]), "append"
        case "window":
            closed = rows.withWatermark("ts", "0 seconds").groupBy(sql.window("ts", "1 minute")).agg(sql.sum("v"))
            return closed.select(sql.col("window.start").cast("long").alias("start"), "sum(v)"), "append"
    raise ValueError(shape)


def run(spark: Any, command: dict[str, Any]) -> dict[str, Any]:
    """Run a query until its input is used up."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    session = session_of(spark, command["confs"])
    batches: dict[int, list[Any]] = {}
    query: Any = None
    error, message = None, ""

    def keep(batch: Any, batch_id: int) -> None:
        batches[batch_id] = sorted([int(value) for value in row] for row in batch.collect())

    try:
        rows, mode = result(command["shape"], [source(session, of) for of in command["sources"]])
        writer = rows.writeStream.outputMode(mode).option("checkpointLocation", command["checkpoint"])
        writer = writer.trigger(availableNow=True)
        if command["output"]:
            query = writer.format("json").start(command["output"])
        else:
            query = writer.foreachBatch(keep).start()
        query.awaitTermination(300)
        assert not query.isActive, "the query did not finish in 300 s"
    except (PySparkException, Py4JError) as failure:
        error, message = condition_of(failure), str(failure)[:1500]
    if query is not None:
        _end_maintenance(spark)
    progress = [
        [each["batchId"], [[of["startOffset"], of["endOffset"]] for of in each["sources"]], watermark_ms(each)]
        for each in progress_of(query)
    ]
    return {"batches": sorted(batches.items()), "progress": progress, "error": error, "message": message}


def _end_maintenance(spark: Any) -> None:
    """Let the maintenance of the state run once more, and wait for its end: it outlives the query, as no driver would."""
    time.sleep(2 * MAINTENANCE_MS / 1000)
    spark._jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()


def progress_of(query: Any) -> list[dict[str, Any]]:
    """What Spark has told of each batch; nothing of a query that has not started."""
    return [] if query is None else [dict(each) for each in query.recentProgress]


def watermark_ms(progress: dict[str, Any]) -> int | None:
    """The watermark of a batch, if its query has one."""
    text = progress["eventTime"].get("watermark")
    return round(1000 * datetime.fromisoformat(text).timestamp()) if text else None


def condition_of(failure: Any) -> str:
    """The outermost error condition, as the gate names it, or else the simple name of the innermost Java exception."""
    chain = causes(failure)
    for cause in chain:
        try:
            condition = cause.getCondition()
        except Exception:  # an exception of Java without a condition has no such method
            continue
        if condition and condition not in _WRAPPERS:
            return str(condition)
    named = re.findall(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]", str(failure))  # of a batch that Python has called
    named = [name for name in named if name not in _WRAPPERS]
    if named:
        return str(named[0])
    return str(chain[-1].getClass().getSimpleName()) if chain else type(failure).__name__


if __name__ == "__main__":
    main(run)
