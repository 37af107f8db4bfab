"""Which files some batches have added, by the log of a file sink, compacted or not."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.blue_green.sink_files import entries_up_to, files_between, name_in, partition_values
from airflow_provider_ckpt.codec.layout import SinkLogEntry


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
