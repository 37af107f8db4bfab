"""An application that starts a query of ``tests.explain.produced.lab`` and fails as the query does.

spark-submit start_query.py HOME WHAT, where HOME has ``query.json``; WHAT is ``query``, or what fails of the user's own.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

PROCESS = Path(__file__).parents[2] / "explain" / "produced" / "spark_process.py"


def lab() -> Any:
    """The module that makes queries; read by its path, for an application has no package."""
    spec = importlib.util.spec_from_file_location("spark_process", PROCESS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parse_total(text: str) -> int:
    """A function of the user that does not know all that comes."""
    if not text.isdigit():
        raise ValueError(f"no amount, token=s3cr3t-s3cr3t: {text}")
    return int(text)


def keep(batch: Any, batch_id: int) -> None:
    """A sink of the user that fails."""
    raise RuntimeError(f"the table of batch {batch_id} is locked, password=hunter2hunter2")


def start(home: str, what: str, spark: Any = None) -> None:
    """Run it to its end, with the exception of the query."""
    from pyspark.sql import functions as sql
    from pyspark.sql.types import LongType

    module, command = lab(), json.loads(Path(home, "query.json").read_text())
    session = (spark or module.start({})).newSession()
    for key, value in command["confs"].items():
        session.conf.set(key, value)
    rows = None
    for of in command["sources"]:
        one = module.source(session, of)
        rows = one if rows is None else rows.union(one)
    if what == "udf":
        parse = sql.udf(parse_total, LongType())
        rows = rows.withColumn("value", parse(sql.concat(sql.lit("x"), sql.col("key"))))
    if what == "cast":
        session.conf.set("spark.sql.ansi.enabled", "true")
        rows = rows.withColumn("value", sql.expr("CAST(concat('N/A', key) AS BIGINT)"))
    rows = module.changed(rows, command["does"])
    writer = rows.writeStream.outputMode(command["mode"]).options(**command["options"])
    writer = writer.option("checkpointLocation", command["checkpoint"]).trigger(availableNow=True)
    if what == "sink":
        query = writer.foreachBatch(keep).start()
    elif command["to"]:
        query = writer.format(command["to"][0]).start(command["to"][1])
    else:
        query = writer.format("noop").start()
    query.awaitTermination()


if __name__ == "__main__":
    start(sys.argv[1], sys.argv[2])
