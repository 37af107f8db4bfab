"""A stream of files into ``checkpoint_history``, one file of two rows a batch, and what is in the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from airflow_provider_ckpt.history_table.read import read_table
from airflow_provider_ckpt.spark.read_back import history
from airflow_provider_ckpt.storage.store import Store
from tests.spark_lab import Lab, activate, rows_of

FILES = 4


def stream_of(lab: Lab) -> Any:
    """One file a batch."""
    return (
        activate(lab.spark)
        .readStream.schema("key string, value long")
        .option("maxFilesPerTrigger", 1)
        .json(str(lab.input))
    )


def run(lab: Lab, rows: Callable[[Any], Any] | None = None, **options: str) -> str | None:
    """Run the stream until its input is used up. Returns what it failed with, or None."""
    stream = stream_of(lab)
    writer = (rows(stream) if rows else stream.repartition(2)).writeStream
    writer = writer.format("faulty_history" if "faults" in options else "checkpoint_history").options(**options)
    query = writer.option("checkpointLocation", str(lab.checkpoint)).trigger(availableNow=True).start(table_of(lab))
    try:
        assert query.awaitTermination(240), "the query did not finish in 240 s"
    except Exception as error:  # the class is another one in each release
        return str(error)
    return None


def table_of(lab: Lab) -> str:
    """Where the table is."""
    return str(lab.root / "table")


def rows_in(lab: Lab) -> Counter[tuple[str, int]]:
    """Every row that Spark reads back."""
    return Counter(tuple(row) for row in history(lab.spark, table_of(lab)).select("key", "value").collect())


def wanted(files: int) -> Counter[tuple[str, int]]:
    """Every row of some files."""
    return Counter(row for number in range(files) for row in rows_of(number))


def orphans(lab: Lab) -> set[str]:
    """Data files that no manifest names."""
    table = Store.open(table_of(lab))
    return set(table.find("data")) - {file.name for file in read_table(table).files}
