"""Rows of a file sink in Parquet."""

from __future__ import annotations

from datetime import datetime

import pyarrow
import pyarrow.parquet
import pytest

from airflow_provider_ckpt.errors import StoreError
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


def written(query: Query, table: pyarrow.Table, **options):
    pyarrow.parquet.write_table(table, query.out / "part.parquet", **options)
    query.log("0", "part.parquet")
    return read_rows(Store.open(str(query.out)), 0, 0)


def test_a_small_file_of_very_many_rows_takes_the_memory_of_some(tmp_path):
    """Equal values take no room in the file: 100,000 texts of 2,000 letters are 200 MB in memory."""
    text = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 100_000, pyarrow.int32()), ["x" * 2_000])
    rows = written(Query(tmp_path), pyarrow.table({"text": text.cast(pyarrow.string())}))
    assert (tmp_path / "out" / "part.parquet").stat().st_size < 100_000
    before, most, count = pyarrow.total_allocated_bytes(), 0, 0
    for row in rows:
        count += len(row["text"]) == 2_000
        if count % 1_000 == 1:
            most = max(most, pyarrow.total_allocated_bytes() - before)
    assert (count, most < 30_000_000) == (100_000, True), most


def test_the_times_that_spark_writes_by_default_have_a_wide_range(tmp_path):
    """INT96, of which nanoseconds would reach from 1677 to 2262 alone."""
    times = [datetime(1066, 10, 14), datetime(3000, 1, 1)]
    table = pyarrow.table({"at": pyarrow.array(times, pyarrow.timestamp("us"))})
    rows = written(Query(tmp_path), table, use_deprecated_int96_timestamps=True)
    assert [row["at"] for row in rows] == times


def test_what_is_no_parquet(tmp_path):
    query = Query(tmp_path)
    (query.out / "part.parquet").write_bytes(b"PAR1 is how such a file begins")
    query.log("0", "part.parquet")
    with pytest.raises(StoreError, match="part.parquet: the rows cannot be read"):
        list(read_rows(Store.open(str(query.out)), 0, 0))
