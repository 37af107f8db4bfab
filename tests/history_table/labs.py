"""Small epochs of a table, made by hand."""

from __future__ import annotations

import io
import json

from airflow_provider_ckpt.history_table.manifest import DataFile, Manifest, Place, Written
from airflow_provider_ckpt.history_table.publish import commit
from airflow_provider_ckpt.history_table.read import read_table
from airflow_provider_ckpt.history_table.write_rows import write_rows
from airflow_provider_ckpt.storage.store import Store

NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000


def struct(**columns: str) -> str:
    """A schema of columns by name and type."""
    fields = [{"name": name, "type": kind, "nullable": False, "metadata": {}} for name, kind in columns.items()]
    return json.dumps({"type": "struct", "fields": fields})


def task(table: Store, numbers: list[int], query: str = "q", since_ms: int = NOW_MS) -> Written:
    """What a task writes."""
    import pyarrow as pa

    rows = pa.record_batch([pa.array(numbers, pa.int64())], names=["number"])
    return Written(query, tuple(write_rows(table, [rows])), since_ms)


def epoch(
    table: Store, number: int, *numbers: int, query: str = "q", now_ms: int = NOW_MS, plan: str | None = None
) -> bool:
    """A whole epoch of one task."""
    return commit(table, number, [task(table, list(numbers), query, now_ms)], struct(number="long"), now_ms, plan)


def rows(table: Store) -> list[int]:
    """Every row that a reader finds, sorted."""
    import pyarrow.parquet as pq

    found = (pq.read_table(io.BytesIO(table.read(file.name))) for file in read_table(table).files)
    return sorted(number for part in found for number in part["number"].to_pylist())


def data(table: Store) -> set[str]:
    """Every data file that is there, of the table or not."""
    return set(table.find("data"))


def manifest(place: Place, *names: str, created_ms: int = NOW_MS, plan: str | None = None) -> Manifest:
    """A manifest of files by name."""
    return Manifest(place, tuple(DataFile(f"data/{name}.parquet", 1, 10) for name in names), "{}", created_ms, plan)
