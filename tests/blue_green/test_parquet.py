"""Rows of a file sink in Parquet."""

from __future__ import annotations

from datetime import datetime

import pyarrow
import pyarrow.parquet
import pytest

from airflow_provider_ckpt.blue_green.read_rows import read_files, read_rows
from airflow_provider_ckpt.blue_green.rows import shape_differences
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.store import Store
from tests.blue_green.lab import Query


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


LONG, TEXT = pyarrow.int64(), pyarrow.string()
#: Types of one column, each of which another value of Python hides; the last is how the first is read.
TYPES = [
    (LONG, pyarrow.int32(), "column v is int32 and was int64"),
    (pyarrow.float64(), pyarrow.float32(), "column v is float and was double"),
    (pyarrow.decimal128(10, 2), pyarrow.decimal128(38, 2), "column v is decimal128(38, 2) and was decimal128(10, 2)"),
    (pyarrow.timestamp("us", tz="UTC"), pyarrow.timestamp("us"), "was timestamp[us, tz=UTC]"),
    (
        pyarrow.map_(TEXT, LONG),
        pyarrow.list_(pyarrow.struct([("key", TEXT), ("value", LONG)])),
        "was map<string, int64>",
    ),
    (
        pyarrow.struct([("a", pyarrow.list_(LONG))]),
        pyarrow.struct([("a", pyarrow.list_(pyarrow.int32()))]),
        "column v is struct<a: list<int32>> and was struct<a: list<int64>>",
    ),
]


@pytest.mark.parametrize(("was", "now", "words"), TYPES, ids=[str(was) for was, _, _ in TYPES])
def test_types_that_values_hide(tmp_path, was, now, words):
    """Null has each type, so the rows are equal whatever the types are."""
    shapes = []
    for side, kind in (("live", was), ("shadow", now)):
        query = Query(tmp_path / side)
        pyarrow.parquet.write_table(pyarrow.table({"v": pyarrow.array([None], kind)}), query.out / "part.parquet")
        query.log("0", "part.parquet")
        ((shape, rows),) = read_files(Store.open(str(query.out)), 0, 0)
        assert list(rows) == [{"v": None}]
        shapes.append([shape])
    (found,) = shape_differences(*shapes)
    assert words in found
