"""Rows of a file sink in Parquet."""

from __future__ import annotations

import pyarrow
import pyarrow.parquet

from airflow_provider_ckpt.shadow.read_rows import read_rows
from airflow_provider_ckpt.storage.store import Store
from tests.shadow.lab import Query


def test_parquet(tmp_path):
    query = Query(tmp_path)
    table = pyarrow.table({"value": [1, None], "items": [[1, 2], []]})
    pyarrow.parquet.write_table(table, query.out / "part.snappy.parquet")
    query.log("0", "part.snappy.parquet")
    rows = list(read_rows(Store.open(str(query.out)), 0, 0))
    assert rows == [{"value": 1, "items": [1, 2]}, {"value": None, "items": []}]
