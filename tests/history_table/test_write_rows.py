"""Rows become files of unique names."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_ckpt.errors import ObjectExistsError
from airflow_provider_ckpt.history_table.manifest import is_data_file
from airflow_provider_ckpt.history_table.write_rows import write_rows
from airflow_provider_ckpt.storage.store import Store

BATCHES = [pa.record_batch({"n": list(range(start, start + 1000))}) for start in range(0, 5000, 1000)]


def read(table: Store, name: str) -> list[int]:
    return pq.read_table(io.BytesIO(table.read(name)))["n"].to_pylist()


def test_two_writers_of_the_same_rows_never_meet(tmp_path):
    table = Store.open(str(tmp_path))
    first, second = list(write_rows(table, BATCHES)), list(write_rows(table, BATCHES))
    assert len(first) == len(second) == 1
    assert first[0].name != second[0].name and is_data_file(first[0].name)
    assert read(table, first[0].name) == read(table, second[0].name) == list(range(5000))
    assert (first[0].rows, first[0].bytes) == (5000, table.stat(first[0].name).size)


def test_a_file_that_is_large_enough_is_closed(tmp_path):
    table = Store.open(str(tmp_path))
    files = list(write_rows(table, BATCHES, most_bytes=100))
    assert [file.rows for file in files] == [1000] * 5
    assert [number for file in files for number in read(table, file.name)] == list(range(5000))


def test_no_rows_make_no_file(tmp_path):
    table = Store.open(str(tmp_path))
    assert list(write_rows(table, [])) == list(write_rows(table, [BATCHES[0].slice(0, 0)])) == []
    assert not table.find()


@pytest.mark.parametrize("whole", [True, False])
def test_a_file_that_the_driver_has_sent_twice_is_there_if_it_is_whole(tmp_path, whole):
    """The first answer was lost, so the driver asks again, and its own file is in its way."""

    class Twice(Store):
        def create(self, name, data):
            super().create(name, data if whole else data[:-1])
            super().create(name, data)

    table = Twice.open(str(tmp_path))
    if whole:
        (file,) = write_rows(table, BATCHES)
        assert read(table, file.name) == list(range(5000))
    else:
        with pytest.raises(ObjectExistsError):
            list(write_rows(table, BATCHES))
