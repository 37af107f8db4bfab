"""Rows as Arrow record batches: what goes in comes out, and what Arrow cannot hold is null."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_provider_ckpt.batches import arrow
from airflow_provider_ckpt.batches.arrow import arrow_schema, record_batch, record_batches
from airflow_provider_ckpt.batches.columns import BATCHES, CHECKPOINTS, named
from airflow_provider_ckpt.batches.rows import BatchRow
from airflow_provider_ckpt.checkpoint.progress import SourceAdvance
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.codec.typed_offset import PartitionAdvance
from airflow_provider_ckpt.fleet.row import FleetRow

READ = SourceAdvance("0", "kafka", "{}", "{}", "records", (PartitionAdvance("t-0", None, 5, 5),), 5)
ROW = BatchRow("s3://lake/orders", "7f0c", 0, 7, batch_time_ms=1_500, confs={"a": "1", "b": None}, source=READ)


def test_values_arrive():
    [out] = record_batch([ROW], BATCHES).to_pylist()
    assert (out["location"], out["batch_id"], out["planned"]) == ("s3://lake/orders", 7, False)
    assert out["batch_time"] == datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    assert out["confs"] == [("a", "1"), ("b", None)]
    assert out["partitions"] == [{"partition": "t-0", "start": None, "end": 5, "advanced": 5}]
    assert out["watermark"] is None


def test_lists_and_maps_of_several_rows_are_told_apart():
    rows = [ROW, BatchRow("without"), BatchRow("empty", confs={}), ROW]
    out = record_batch(rows, BATCHES).to_pylist()
    assert [row["confs"] for row in out] == [[("a", "1"), ("b", None)], None, [], [("a", "1"), ("b", None)]]
    assert [len(row["partitions"]) for row in out] == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [
        (BatchRow("x", batch_time_ms=2**63 - 1), "batch_time", None),
        (BatchRow("x", batch_id=2**63), "batch_id", None),
        (BatchRow("half \ud800 pair"), "location", "half ? pair"),
        (BatchRow("x", confs={"\ud800": "\udfff"}), "confs", [("?", "?")]),
    ],
)
def test_what_arrow_cannot_hold(row, column, value):
    assert record_batch([row], named(BATCHES, [column])).to_pylist() == [{column: value}]


def test_findings_arrive():
    finding = Finding("CKPT101", "error", "broken", batch_id=6, name="offsets/6", hint=None)
    [out] = record_batch([FleetRow("x", findings=(finding,), unknown=("state",))], CHECKPOINTS).to_pylist()
    assert [found["code"] for found in out["findings"]] == ["CKPT101"]
    assert (out["findings"][0]["batch_id"], out["findings"][0]["hint"], out["unknown"]) == (6, None, ["state"])


def test_columns_are_those_asked_for():
    columns = named(BATCHES, ["batch_id", "location"])
    batch = record_batch([ROW], columns)
    assert batch.schema.equals(arrow_schema(columns))
    assert batch.schema.names == ["batch_id", "location"]


def test_a_batch_is_bounded_by_rows_and_by_bytes(monkeypatch):
    monkeypatch.setattr(arrow, "BATCH_ROWS", 4)
    monkeypatch.setattr(arrow, "BATCH_BYTES", 200)
    heavy = ROW._replace(source=READ._replace(end_offset="x" * 100))
    rows = [BatchRow("light")] * 10 + [heavy] * 5
    assert [batch.num_rows for batch in record_batches(iter(rows), BATCHES)] == [4, 4, 4, 2, 1]
    assert list(record_batches(iter(()), BATCHES)) == []
