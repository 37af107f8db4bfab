"""A query of real Spark for the engine ``local``: ``file_query.py PLACE HOW``, from files with one number to a file sink.

A batch has one file. HOW is the version: ``first``, ``better`` (another column as well), ``crashes`` (before its query is
started), or ``fails`` (in each batch).
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run until it is ended."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    place, how = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()
    if how == "crashes":
        raise SystemExit("this version does not start")
    rows = spark.readStream.schema("n INT").option("maxFilesPerTrigger", 1).json(f"{place}/in")
    rows = rows.withColumn("by", f.lit(how))
    if how == "fails":
        rows = rows.withColumn("n", f.expr("CAST(assert_true(n < 0) AS INT)"))
    sink = rows.writeStream.format("json").option("path", f"{place}/out")
    sink = sink.option("checkpointLocation", f"{place}/checkpoint").trigger(processingTime="300 milliseconds")
    sink.start().awaitTermination()


if __name__ == "__main__":
    main()
