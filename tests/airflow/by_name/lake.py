"""The queries of the file on the disk; and ``sold``, of real Spark, which writes files: its starts and its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_provider_ckpt.change.record.journal import Record, history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import ROOT
from tests.airflow.spark_jobs import CONFS
from tests.deploys.job import query, writer


def newest(place: Path, name: str) -> int | None:
    """The newest committed batch of a checkpoint."""
    return observe(Store.open(str(place / name))).latest_committed


def changes_of(place: Path, query: str, checkpoint: str = "") -> tuple[Record, ...]:
    """The changes of a query, which the file lets record in a place of their own."""
    return history(Store.open(str(place / (checkpoint or query))), Store.open(str(place / "undo" / query)))


def sell(spark: Any, place: Path) -> None:
    """One start of the query ``sold`` as it was before any deploy: a batch of ten rows."""
    checkpoint, out = (str(place / "sold" / name) for name in ("checkpoint", "out"))
    rows = query(spark.newSession(), checkpoint, "rate")
    writer(rows, "rate", checkpoint, out).trigger(availableNow=True).start().awaitTermination()


def sold(spark: Any, place: Path) -> list[tuple[int, int, str]]:
    """The rows of its sink, as a reader of Spark gets them."""
    found = spark.newSession().read.json(str(place / "sold" / "out")).select("value", "twice", "name")
    return sorted(map(tuple, found.collect()))


def right(count: int) -> list[tuple[int, int, str]]:
    """The first rows of a query that nothing has gone wrong with."""
    return [(value, 2 * value, f"n{value % 3}") for value in range(count)]


def job(place: Path, version: str) -> dict[str, Any]:
    """What the params of a DAG run say of a version of it."""
    arguments = [str(place / "sold" / "checkpoint"), str(place / "sold" / "out"), version]
    return {"application": str(ROOT / "tests/deploys/job.py"), "application_args": arguments, "confs": CONFS}
