"""A query from files to files that one Spark starts again and again, as the user of the JVM that is given.

It imports PySpark alone. The JVM is that of PYSPARK_GATEWAY_PORT; it alone reads and writes files. For each line of stdin it starts the query, which runs until nothing is left to read, and
answers with a line: ``ran``, or what the query stopped with.

python query_of_a_user.py HOME CONF=VALUE…
"""

from __future__ import annotations

import sys


def run(spark: object, home: str) -> str:
    """One start of the query."""
    from pyspark.errors import StreamingQueryException

    rows = spark.readStream.schema("n INT").option("maxFilesPerTrigger", 1).json(f"{home}/input")  # type: ignore[attr-defined]  # a session
    writer = rows.writeStream.format("json").option("checkpointLocation", f"{home}/checkpoint")
    query = writer.trigger(availableNow=True).start(f"{home}/output")
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        return " ".join(str(error).split())
    return "ran"


def main(home: str, *confs: str) -> None:
    """Answer line by line."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.local.dir", f"{home}/scratch")
    for conf in confs:
        builder = builder.config(*conf.split("=", 1))
    spark = builder.config("spark.sql.warehouse.dir", f"{home}/warehouse").getOrCreate()
    for _ in sys.stdin:
        print(f"REPLY {run(spark, home)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
