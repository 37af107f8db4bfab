"""Lags for people."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.report.lag_tables import LAG_COLUMNS, lag_row, partitions_table, unread_text
from airflow_provider_ckpt.sources.lag import PartitionLag, SourceLag


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (SourceLag("0", "kafka", "offsets", 1), "at most 1 offset"),
        (SourceLag("0", "kafka", "offsets", 5), "at most 5 offsets"),
        (SourceLag("0", "delta", "versions", 1), "1 version"),
        (SourceLag("0", "rate"), None),
    ],
)
def test_what_is_unread_has_its_unit(source, text):
    assert unread_text(source) == text


def test_a_row_has_a_cell_for_each_column():
    row = lag_row(SourceLag("1", "file", "files", 2, files=2, size=2_000, age_ms=3_600_000))
    assert dict(zip(LAG_COLUMNS, row, strict=True)) == {
        "source": "1",
        "type": "file",
        "unread": "2 files",
        "files": 2,
        "rows": None,
        "bytes": "2.0 kB",
        "oldest": "60 min",
        "next batch": None,
    }


def test_partitions_are_named_by_topic_and_number():
    (row,) = partitions_table("Partitions", [PartitionLag("t", 3, 8, 20, 12, 0, 1_250, None)]).rows
    assert row[:5] == ("t-3", 8, 20, 12, 0) and row[6] is None
