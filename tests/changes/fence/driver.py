"""Queries of real Spark in a process of their own, which a test may end at any moment: ``python driver.py [S3_URL]``.

It reads one JSON command a line and answers each with one line: ``start`` a query, ask for ``status``, ``stop`` one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.spark_lab import STATE_CONFS, activate, provider_conf, start_spark

#: Rows of a batch, and how far the time in them goes with it.
ROWS, ADVANCE_MS = 10, 1000
#: The time of the first batch; Spark drops rows as late whose time is that of the first watermark, 0.
START_MS = 1_000_000
#: Tasks at once: a batch that takes long does little but wait.
TASKS = 12
#: Batches that share a key, and the seconds between two keys.
SHARED = 3
#: How long the sessions wait for a row.
GAP = "1500 milliseconds"
JARS = Path(__file__).parents[3] / ".s3a"


def rows_of(session: Any, slow_ms: int) -> Any:
    """Rows with values 0, 1, 2, … and times; a batch takes ``slow_ms`` longer than it would."""
    rows = session.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS)
    rows = rows.option("startTimestamp", START_MS).option("advanceMillisPerBatch", ADVANCE_MS).load()
    if not slow_ms:
        return rows
    slept = f"CASE WHEN value % {ROWS} = 0 THEN reflect('java.lang.Thread', 'sleep', {slow_ms}L) ELSE '' END"
    return rows.where(f"length(coalesce({slept}, '')) >= 0")


def query_of(kind: str, rows: Any) -> Any:
    """What a query computes, in append mode: each row of its result comes once."""
    from pyspark.sql import functions as f

    late = rows.withWatermark("timestamp", "2 seconds")
    group = f.floor(rows.value / (ROWS * SHARED))
    match kind:
        case "stateless":
            return rows.select(rows.value)
        case "windows":
            counted = late.groupBy(f.window("timestamp", "5 seconds")).count()
            return counted.selectExpr("CAST(window.start AS LONG) AS value", "count")
        case "sessions":
            keyed = late.withColumn("key", group)
            counted = keyed.groupBy("key", f.session_window("timestamp", GAP)).count()
            return counted.selectExpr("key AS value", "count")
        case "distinct":
            half = late.withColumn("half", f.floor(late.value / 2))
            return half.dropDuplicatesWithinWatermark(["half"]).selectExpr("half AS value")
    raise ValueError(kind)


class Driver:
    """The queries of this process, by name."""

    def __init__(self, s3_url: str | None, spark: Any = None) -> None:
        self.spark = spark or start_spark(
            ",".join(str(jar) for jar in sorted(JARS.glob("*.jar"))) if s3_url else "", TASKS
        )
        if s3_url:
            conf = self.spark._jsc.hadoopConfiguration()
            for key, value in s3_confs(s3_url).items():
                conf.set(f"fs.s3a.{key}", value)
        self.queries: dict[str, Any] = {}

    def __call__(self, call: str, *arguments: Any) -> Any:
        """What a command asks for."""
        return getattr(self, call)(*arguments)

    def start(self, name: str, spec: dict[str, Any]) -> str:
        """Start a query; empty, or why it did not start."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        session = self.spark.newSession()
        for key, value in {**STATE_CONFS[spec.get("state", "hdfs")], **spec.get("confs", {})}.items():
            session.conf.set(key, provider_conf(value))
        activate(session)
        rows = query_of(spec["kind"], rows_of(session, spec.get("slow_ms", 0)))
        writer = rows.writeStream.format("json").option("path", spec["sink"]).outputMode("append")
        writer = writer.option("checkpointLocation", spec["checkpoint"])
        for key, value in spec.get("options", {}).items():
            writer = writer.option(key, value)
        try:
            self.queries[name] = writer.trigger(processingTime=f"{spec['every_ms']} milliseconds").start()
        except (PySparkException, Py4JError) as error:
            return str(error)[:300]
        return ""

    def status(self, name: str) -> dict[str, Any]:
        """Whether it runs, why not, and its newest batch."""
        from py4j.protocol import Py4JError

        query = self.queries[name]
        progress = query.lastProgress
        error = None if query.isActive else query.exception()
        said = "" if error is None else str(error)
        cause = query._jsq.exception()
        deep = cause.get().cause() if cause.isDefined() else None
        condition = ""
        while deep is not None and not condition:
            try:
                condition = str(deep.getCondition() or "")
            except Py4JError:  # it is no exception of Spark: it has no such method
                condition = ""
            last, deep = deep, deep.getCause()
            condition = condition or ("" if deep is not None else last.getClass().getSimpleName())
        return {
            "active": query.isActive,
            "batch": progress.batchId if progress is not None else None,
            "condition": condition,
            "said": said[:600],
        }

    def stop(self, name: str) -> str:
        """Stop a query."""
        self.queries[name].stop()
        return ""


def s3_confs(url: str) -> dict[str, str]:
    """Of Hadoop's client for the S3 API at a URL."""
    return {
        "endpoint": url,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "access.key": "test",
        "secret.key": "test",
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "input.stream.type": "classic",
        "connection.expect.continue": "false",
        "change.detection.mode": "none",
    }


def main() -> None:
    """Answer commands until the input ends."""
    out = sys.stdout
    sys.stdout = sys.stderr
    driver = Driver(sys.argv[1] if len(sys.argv) > 1 else None)
    print("ready", file=out, flush=True)
    for line in sys.stdin:
        call, *arguments = json.loads(line)
        try:
            answer = {"answer": driver(call, *arguments)}
        except Exception as error:  # for the test that asked, which raises it
            answer = {"failed": repr(error)[:600]}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
