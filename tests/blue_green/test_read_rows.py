"""Rows of some batches of a file sink: JSON, with partition columns; all else is refused by name."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.blue_green.read_rows import read_rows
from airflow_provider_ckpt.errors import PlanError, StoreError
from airflow_provider_ckpt.storage.store import Store
from tests.blue_green.lab import Query


def values(query: Query, first: int, last: int) -> list[int]:
    return [row["value"] for row in read_rows(Store.open(str(query.out)), first, last)]


def test_the_rows_of_a_range(tmp_path):
    query = Query(tmp_path).run(*range(4))
    assert values(query, 1, 2) == [3, 4, 5, 6, 7, 8]
    (query.out / "part-orphan.json").write_text('{"value": 99}\n')
    assert values(query, 3, 3) == [9, 10, 11], "a file that the log does not name is none of the output"


def test_a_compacted_log_is_read_as_long_as_it_tells_batches_apart(tmp_path):
    query = Query(tmp_path).run(*range(4))
    query.log("3.compact", *(f"part-{batch}.json" for batch in range(4)))
    assert values(query, 2, 3) == [6, 7, 8, 9, 10, 11]
    (query.out / "_spark_metadata" / "1").unlink()
    with pytest.raises(PlanError, match="does not tell batches 2 to 3 from earlier ones"):
        values(query, 2, 3)


def test_partition_columns_are_in_the_names(tmp_path):
    query = Query(tmp_path)
    (query.out / "day=1").mkdir()
    (query.out / "day=1" / "part.json").write_text('{"value": 7}\n')
    query.log("0", "day=1/part.json")
    assert list(read_rows(Store.open(str(query.out)), 0, 0)) == [{"value": 7, "day": "1"}]


def test_a_text_keeps_its_ends_of_lines(tmp_path):
    """Spark ends a row with a line feed alone, and writes other ends of lines in a text as they are."""
    query = Query(tmp_path)
    (query.out / "part.json").write_text('{"value": "a\u2028b\u0085c"}\n\n{"value": 2}\n')
    query.log("0", "part.json")
    assert values(query, 0, 0) == ["a\u2028b\u0085c", 2]


@pytest.mark.parametrize(
    ("name", "data", "error", "reason"),
    [
        ("part.csv", "1", PlanError, "neither Parquet nor plain JSON"),
        ("part.json.gz", "1", PlanError, "neither Parquet nor plain JSON"),
        ("part.json", "{nonsense", StoreError, "part.json: the rows cannot be read: line 1: "),
        (
            "part.json",
            '{"value": 1}\n\n[1]\n',
            StoreError,
            "part.json: the rows cannot be read: line 3 is no JSON object",
        ),
    ],
)
def test_what_is_not_read(tmp_path, name, data, error, reason):
    query = Query(tmp_path)
    (query.out / name).write_text(data)
    query.log("0", name)
    with pytest.raises(error, match=reason):
        values(query, 0, 0)
