"""Rows of some batches of a file sink: JSON, with partition columns; all else is refused by name."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.blue_green.read_rows import (
    entries_up_to,
    files_between,
    name_in,
    partition_values,
    read_rows,
)
from airflow_provider_ckpt.codec.layout import SinkLogEntry
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


def log(*names: str) -> dict[SinkLogEntry, tuple[str, ...]]:
    """Entries of which each batch N has the file fN."""
    entries = {}
    for name in names:
        batch, _, compact = name.partition(".")
        first = 0 if compact else int(batch)
        entries[SinkLogEntry(int(batch), bool(compact))] = tuple(
            f"f{number}" for number in range(first, int(batch) + 1)
        )
    return entries


@pytest.mark.parametrize(
    "entries",
    [
        log(*map(str, range(13))),
        log(*map(str, range(9)), "9.compact", "10", "11", "12"),
        log("4.compact", "5", "6", "7", "8", "9.compact", "10", "11", "12"),
    ],
    ids=["plain", "compacted", "compacted twice"],
)
def test_the_files_of_a_range(entries):
    assert files_between(entries, 7, 11) == ("f7", "f8", "f9", "f10", "f11")
    assert files_between(entries, 12, 12) == ("f12",)


def test_an_output_that_begins_with_a_fork():
    assert files_between(log("7"), 7, 7) == ("f7",)


@pytest.mark.parametrize("left", [("9.compact", "10"), ("5", "6", "7", "8", "9.compact", "10")], ids=["all", "some"])
def test_what_was_compacted_and_deleted_is_not_guessed(left):
    with pytest.raises(ValueError, match="compacted and deleted"):
        files_between(log(*left), 7, 10)
    assert entries_up_to(log(*left), 9) == (SinkLogEntry(9, True),)


def test_names_of_files():
    assert name_in("file:///lake/out/day=1/part%200.json", "/lake/out") == "day=1/part 0.json"
    assert name_in("s3a://lake/out/part.json", "lake/out/") == "part.json"
    assert name_in("file:///out/copy/out/part.json", "/out") == "copy/out/part.json"
    assert name_in("file:/lake/out/lake/out/part.json", "/lake/out") == "lake/out/part.json"
    assert name_in("abfss://lake@store.dfs.core.windows.net/out/part.json", "lake/out") == "part.json"
    assert name_in("hdfs://node:8020/lake/out/part.json", "/lake/out") == "part.json"
    assert partition_values("day=2026-01-01/hour=7/part.json") == {"day": "2026-01-01", "hour": "7"}
    with pytest.raises(ValueError, match="not below the output directory"):
        name_in("file:///lake/other/part.json", "/lake/out")
    with pytest.raises(ValueError, match="not below the output directory"):
        name_in("file:///backup/lake/out/part.json", "/lake/out")
