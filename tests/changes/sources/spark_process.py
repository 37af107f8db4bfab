"""A Spark that starts many short queries, of any version and in an environment of its own.

It imports PySpark alone. It takes one JSON command a line from stdin, and answers each with a line that begins with
REPLY: the rows that the query has written, by batch, and what it stopped with. A batch that is to fail does so in the
sink, before it has written or after, and so stays in flight.

python spark_process.py CONF=VALUE…
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

CONFS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.authenticate.socketTimeout": "300s",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
}
SESSIONS: dict[str, Any] = {}


class FailedError(Exception):
    """What a batch fails with that is to stay in flight."""


def session_of(spark: Any, confs: dict[str, str]) -> Any:
    """A session with these confs."""
    key = json.dumps(confs, sort_keys=True)
    if key not in SESSIONS:
        SESSIONS[key] = spark.newSession()
        for name, value in confs.items():
            SESSIONS[key].conf.set(name, value)
    return SESSIONS[key]


def source(session: Any, of: dict[str, Any]) -> Any:
    """The values of one source, with the mark of who reads them."""
    from pyspark.sql import functions as sql

    reader = session.readStream.format(of["format"]).options(**of["options"])
    if of["named"]:
        reader = reader.name(of["reader"])
    rows = reader.load(of["path"]) if of["format"] == "text" else reader.load()
    value = sql.col("value").cast("string").cast("long")
    return rows.select(sql.lit(of["reader"]).alias("reader"), value.alias("value"), (value % 3).alias("key"))


def union(parts: list[Any]) -> Any:
    """The rows of several sources, in their order."""
    rows = parts[0]
    for part in parts[1:]:
        rows = rows.union(part)
    return rows


def result(command: dict[str, Any], parts: list[Any]) -> tuple[Any, str]:
    """What the query computes, and its output mode."""
    from pyspark.sql import functions as sql

    if command["kind"] == "join":
        sides = [source["side"] for source in command["sources"]]
        left, right = (
            union([part for part, own in zip(parts, sides, strict=True) if own == side]) for side in ("left", "right")
        )
        right = right.select(sql.col("value").alias("other"), sql.col("key").alias("same"))
        return left.join(right, sql.col("key") == sql.col("same")).select("value", "other"), "append"
    rows = union(parts)
    match command["kind"]:
        case "union":
            return rows.select("reader", "value"), "append"
        case "sum":
            return rows.groupBy("key").agg(sql.sum("value")), "complete"
        case "distinct":
            return rows.select("value").dropDuplicates(["value"]), "append"
        case "distinct sum":
            return rows.dropDuplicates(["value"]).groupBy("key").agg(sql.sum("value")), "complete"
    raise ValueError(command["kind"])


def run(spark: Any, command: dict[str, Any]) -> dict[str, Any]:
    """Run a query until its input is used up, or until the batch that is to fail."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    session = session_of(spark, command["confs"])
    batches: dict[int, list[Any]] = {}

    def keep(batch: Any, batch_id: int) -> None:
        fails = batch_id == command["fails_at"]
        if fails and not command["writes_first"]:
            raise FailedError
        batches[batch_id] = sorted([str(value) for value in row] for row in batch.collect())
        if fails:
            raise FailedError

    error, condition = None, None
    try:
        rows, mode = result(command, [source(session, of) for of in command["sources"]])
        writer = rows.writeStream.outputMode(mode).option("checkpointLocation", command["checkpoint"])
        query = writer.trigger(availableNow=True).foreachBatch(keep).start()
        query.awaitTermination(300)
        assert not query.isActive, "the query did not finish in 300 s"
    except (PySparkException, Py4JError) as failure:  # it is what the test asks for
        chain = causes(failure)
        error = str(chain[-1].getClass().getSimpleName()) if chain else type(failure).__name__
        message = str(chain[-1].getMessage()) if chain else str(failure)
        condition = next(
            (word for word in ("2147483647", "FailedError") if word in message or word in str(failure)), None
        )
        return {"batches": sorted(batches.items()), "error": error, "sign": condition, "message": message[:500]}
    return {"batches": sorted(batches.items()), "error": error, "sign": None, "message": ""}


def causes(failure: Any) -> list[Any]:
    """The exceptions of Java behind one of Python, the outermost first."""
    java, chain = getattr(failure, "_origin", None), []
    while java is not None:
        chain.append(java)
        java = java.getCause()
    return chain


def main(run: Callable[[Any, dict[str, Any]], dict[str, Any]] = run) -> None:
    """Answer each command from stdin with what ``run`` gives."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("source changes")
    for key, value in {**CONFS, **dict(word.split("=", 1) for word in sys.argv[1:])}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    print("REPLY " + json.dumps({"ok": spark.version}), flush=True)
    for line in sys.stdin:
        try:
            reply = {"ok": run(spark, json.loads(line))}
        except Exception as error:  # for the test that asked
            reply = {"error": f"{type(error).__name__}: {error}"[:2000]}
        print("REPLY " + json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
