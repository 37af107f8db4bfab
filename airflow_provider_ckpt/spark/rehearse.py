"""A rehearsal: a Spark of its own opens a restored checkpoint, with Spark's own readers of logs and state.

Run as ``python -m airflow_provider_ckpt.spark.rehearse``, with a request on stdin and the answer on the last line of
stdout, both JSON. A request has ``location`` as Spark writes it, ``batch_id``, ``confs``, a local directory
``scratch``, and ``reads``, the options of the state reader for each part of the state. An answer has ``spark``,
``logs`` and ``state`` in the order of the request, or ``failed`` with what could not be opened and why.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

#: Where the logs' classes are, by release: since 4.1, and before.
_PACKAGES = (
    "org.apache.spark.sql.execution.streaming.checkpointing",
    "org.apache.spark.sql.execution.streaming",
)
_LOGS = {"offsets": "OffsetSeqLog", "commits": "CommitLog"}
#: How some of Spark's errors name a partition of the state.
_PARTITION = re.compile(r"/state/\d+/(\d+)/")
_CAUSE = re.compile(r"^(?:\s*|: )(?:Caused by: )?((?:[\w$]+\.)+[\w$]+(?:Exception|Error)[^\n]*)", re.MULTILINE)


def main() -> None:
    """Answer the request on stdin."""
    request = json.loads(sys.stdin.read())
    spark = start(request["scratch"], request["confs"])
    try:
        answer = {"spark": spark.version, **_open(spark, request)}
    finally:
        spark.stop()
    print(json.dumps(answer), flush=True)  # noqa: T201  # the answer of this process


def start(scratch: str, confs: Mapping[str, str]) -> Any:
    """A Spark session of its own, classic and silent, which leaves nothing outside ``scratch``."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.master("local[2]").appName("ckpt rehearsal")
    own = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={scratch}",
        "spark.sql.pyspark.jvmStacktrace.enabled": "true",
    }
    for key, value in {**own, **confs}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    _ = spark.streams.active  # with that comes the coordinator of state stores, which the state reader of 4.2 asks
    return spark


def _open(spark: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    location, what, state = request["location"], {}, None
    try:
        logs = {}
        for log in _LOGS:
            what, state = {"log": log}, None
            logs[log] = newest_entry(spark, log, f"{location}/{log}")
        rows = []
        for options in request["reads"]:
            what, state = {"options": options}, None
            state = state_frame(spark, location, request["batch_id"], options)
            rows.append(state.count())
        if request["reads"]:
            what, state = {"log": "state-metadata"}, None
            spark.read.format("state-metadata").load(location).collect()
    except (Py4JJavaError, PySparkException) as error:
        return {"failed": {**what, **explained(str(error), state)}}
    return {"logs": logs, "state": rows}


def newest_entry(spark: Any, log: str, directory: str) -> Any:
    """The newest entry of a log as Spark would write it again: its batch and its text."""
    jvm, session = spark._jvm, spark._jsparkSession  # noqa: SLF001  # PySpark shows its log classes nowhere else
    for package in _PACKAGES:
        try:
            spark_log = _construct(jvm, f"{package}.{_LOGS[log]}", session, directory)
        except TypeError:  # py4j: there is no such class in this release
            continue
        newest = spark_log.getLatest()
        if not newest.isDefined():
            return None
        out = jvm.java.io.ByteArrayOutputStream()
        spark_log.serialize(newest.get().productElement(1), out)
        return [newest.get().productElement(0), bytes(out.toByteArray()).decode()]
    raise RuntimeError(f"this Spark has no {_LOGS[log]}")


def _construct(jvm: Any, name: str, session: Any, directory: str) -> Any:
    found: Any = jvm
    for part in name.split("."):
        found = getattr(found, part)
    try:
        return found(session, directory, True)  # since 4.1: read only, so that a missing directory is not created
    except Exception as error:  # a Java exception, whose text alone tells
        if "does not exist" not in str(error):
            raise
    return found(session, directory)


def state_frame(spark: Any, location: str, batch_id: int, options: Mapping[str, str]) -> Any:
    """A part of the state as a frame."""
    reader = spark.read.format("statestore").option("batchId", batch_id)
    for key, value in options.items():
        reader = reader.option(key, value)
    return reader.load(location)


def explained(text: str, state: Any) -> dict[str, Any]:
    """The partition that does not open, and the innermost cause in a Java stack trace."""
    named = _PARTITION.search(text)
    causes = _CAUSE.findall(text)
    message = (causes[-1] if causes else text.strip().split("\n")[0])[:500]
    return {"partition": int(named[1]) if named else _bad_partition(state), "message": message}


def _bad_partition(state: Any) -> int | None:
    """The first partition that cannot be read by itself."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    if state is None:
        return None
    parts = state.selectExpr("1").rdd
    for partition in range(parts.getNumPartitions()):
        try:
            parts.context.runJob(parts, lambda rows: [sum(1 for _ in rows)], [partition])
        except (Py4JJavaError, PySparkException):
            return partition
    return None


if __name__ == "__main__":
    main()
