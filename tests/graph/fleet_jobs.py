"""The thirty queries of a fleet, and what is true of each: what it reads, in what order, and what it writes.

Everything is below ROOT, because Spark writes absolute paths into its logs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path("/golden/thirty")
CHECKPOINTS, LAKE, INPUTS, WAREHOUSE = ROOT / "checkpoints", ROOT / "lake", ROOT / "in", ROOT / "warehouse"
#: The environment of each Spark, and what it gets from Maven; Delta and Iceberg have nothing for Spark 4.3.
SPARKS = {"3.5": ".venv-spark-3.5.9", "4.1": ".venv-lakes", "4.3": ".venv"}
PACKAGES = {
    "3.5": (
        "io.delta:delta-spark_2.12:3.3.2",
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0",
        "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7",
    ),
    "4.1": ("io.delta:delta-spark_4.1_2.13:4.4.0", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"),
}


@dataclass(frozen=True, slots=True)
class Job:
    """One query.

    Args:
        name: Of its checkpoint.
        spark: The Spark that runs it.
        sources: Each as TYPE:PLACE; the place of an Iceberg table is its directory.
        sink: As TYPE:PLACE.
        options: Of the application: ``aggregates``, and ``app_id`` of a ``foreachBatch``.
    """

    name: str
    spark: str
    sources: tuple[str, ...]
    sink: str
    options: dict[str, Any] = field(default_factory=dict, hash=False)


def _lake(name: str) -> str:
    return str(LAKE / name)


def _wh(name: str) -> str:
    return str(WAREHOUSE / "db" / name)


def _in(name: str) -> str:
    return f"file:{INPUTS / name}"


JOBS = (
    Job("land/orders", "3.5", (_in("orders"),), f"file:{_lake('orders_raw')}"),
    Job("bronze", "3.5", (_in("orders"),), f"delta:{_lake('bronze')}"),
    Job("events", "3.5", (_in("orders"),), f"iceberg:{_wh('events')}"),
    Job("to_topic", "3.5", (_in("orders"),), "kafka:out35"),
    Job("merge/checkpoint", "3.5", (_in("orders"),), f"foreachBatch:{_lake('merged')}", {"app_id": "merged"}),
    Job("silver", "3.5", (f"delta:{_lake('bronze')}",), f"delta:{_lake('silver')}"),
    Job("silver_ice", "3.5", (f"delta:{_lake('bronze')}",), f"iceberg:{_wh('silver')}"),
    Job("from_ice", "3.5", (f"iceberg:{_wh('events')}",), f"delta:{_lake('from_ice')}"),
    Job("kafka_bronze", "3.5", ("kafka:orders",), f"delta:{_lake('kafka_bronze')}"),
    Job("kafka_files", "3.5", ("kafka:orders",), f"file:{_lake('kafka_files')}"),
    Job("ticks", "3.5", ("rate",), f"delta:{_lake('ticks')}"),
    Job("ticks_seen", "3.5", ("rate",), "foreachBatch"),
    Job("reread", "3.5", (f"file:{_lake('orders_raw')}",), f"delta:{_lake('reread')}"),
    Job("two", "3.5", (_in("orders"), f"delta:{_lake('bronze')}"), f"delta:{_lake('two')}"),
    Job("by_day", "3.5", (_in("days"),), f"file:{_lake('by_day')}"),
    Job("v43/orders", "4.3", (_in("orders"),), f"file:{_lake('orders43')}"),
    Job("reread43", "4.3", (f"file:{_lake('orders43')}",), f"file:{_lake('reread43')}"),
    Job("kafka43", "4.3", ("kafka:orders",), f"file:{_lake('kafka43')}"),
    Job("bridge", "4.3", ("kafka:orders",), "kafka:out43"),
    Job("ticks43", "4.3", ("rate",), f"file:{_lake('ticks43')}"),
    Job("micro", "4.3", ("rate-micro-batch",), "noop"),
    Job("merge43/_checkpoint", "4.3", (_in("orders"),), "foreachBatch"),
    Job("globbed", "4.3", (f"file:{INPUTS / 'mixed'}/*.json",), "kafka:out43"),
    Job("counts", "4.3", (_in("orders"),), f"file:{_lake('counts')}", {"aggregates": True}),
    Job("both", "4.3", (_in("orders"), _in("more")), f"file:{_lake('both')}"),
    Job("gold", "4.1", (f"delta:{_lake('silver')}",), f"delta:{_lake('gold')}"),
    Job("gold_ice", "4.1", (f"iceberg:{_wh('silver')}",), f"iceberg:{_wh('gold')}"),
    Job("ticks_ice", "4.1", ("rate",), f"iceberg:{_wh('ticks')}"),
    # Its function gives the table the query id, as the sink of Delta would.
    Job("own_id", "4.1", (f"delta:{_lake('gold')}",), f"foreachBatch:{_lake('own_id')}", {"app_id": "QUERY_ID"}),
    Job("from_ticks", "4.1", (f"delta:{_lake('ticks')}",), f"file:{_lake('from_ticks')}"),
)


#: A table that is copied when its queries have ended, so that two have its id.
COPIED = ("ticks", "ticks_copy")


@dataclass(frozen=True, slots=True)
class Truth:
    """What a scan may say of a query: no more, and no less than files prove.

    Args:
        sources: Declarations in their order; a type alone where no file proves the place, empty where none proves the
            type.
        sink: The declaration, or empty.
        spark: The version, or empty.
    """

    sources: tuple[str, ...]
    sink: str
    spark: str


def truth_of(job: Job) -> Truth:
    """What files prove of a query."""
    sink = job.sink if job.sink.startswith(("delta:", "iceberg:")) and not _is_copied(job.sink) else ""
    spark = {"3.5": "3.5", "4.1": "4.1" if sink else "", "4.3": ""}[job.spark]
    return Truth(tuple(map(_proven_source, job.sources)), sink, spark)


def _proven_source(text: str) -> str:
    kind = text.partition(":")[0]
    if kind in ("kafka", "rate-micro-batch"):
        return ""
    return kind if _is_copied(text) or "*" in text else text


def _is_copied(text: str) -> bool:
    return text == f"delta:{LAKE / COPIED[0]}"


def edges() -> set[tuple[str, str, str]]:
    """Writer, reader and place of each edge that files prove, by the names of the jobs."""
    proven = {job: truth_of(job) for job in JOBS}
    return {
        (writer.name, reader.name, truth.sink)
        for writer, truth in proven.items()
        for reader in JOBS
        if truth.sink and truth.sink in proven[reader].sources
    }
