"""What filters of a query save reading."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import datasource as pushed

from airflow_provider_ckpt.batches.selection import Selection
from airflow_provider_ckpt.spark.filters import Admitted

AT = datetime(1970, 1, 1, 0, 0, 5, 250_400, tzinfo=UTC)
BATCH, TIME, LOCATION = ("batch_id",), ("batch_time",), ("location",)


@pytest.mark.parametrize(
    ("filters", "selection"),
    [
        ([pushed.EqualTo(BATCH, 5)], Selection(5, 5)),
        ([pushed.In(BATCH, (7, 3))], Selection(3, 7)),
        ([pushed.In(BATCH, (7, None))], Selection(7, 7)),
        ([pushed.In(BATCH, (None,))], Selection()),
        ([pushed.GreaterThan(BATCH, 5), pushed.LessThan(BATCH, 9)], Selection(6, 8)),
        ([pushed.GreaterThanOrEqual(BATCH, 5), pushed.LessThanOrEqual(BATCH, 9)], Selection(5, 9)),
        ([pushed.GreaterThanOrEqual(TIME, AT)], Selection(from_ms=5_250)),
        ([pushed.GreaterThan(TIME, AT)], Selection(from_ms=5_250)),
        ([pushed.LessThan(TIME, AT)], Selection(until_ms=5_251)),
        ([pushed.LessThanOrEqual(TIME, AT)], Selection(until_ms=5_251)),
        ([pushed.Not(pushed.EqualTo(BATCH, 5)), pushed.IsNotNull(BATCH)], Selection()),
        ([pushed.EqualTo(("advanced",), 5), pushed.EqualTo(("partitions", "start"), 5)], Selection()),
    ],
)
def test_batches(filters, selection):
    assert Admitted.by(filters) == Admitted(selection)


@pytest.mark.parametrize(
    ("filters", "locations"),
    [
        ([], "abc"),
        ([pushed.EqualTo(LOCATION, "s3://a")], "a"),
        ([pushed.In(LOCATION, ("s3://a", "s3://b"))], "ab"),
        ([pushed.In(LOCATION, ("s3://a", "s3://b")), pushed.EqualTo(LOCATION, "s3://b")], "b"),
        ([pushed.StringStartsWith(LOCATION, "s3://"), pushed.StringStartsWith(LOCATION, "s3://c")], "c"),
        ([pushed.StringEndsWith(LOCATION, "c")], "abc"),
    ],
)
def test_checkpoints(filters, locations):
    admitted = Admitted.by(filters)
    assert "".join(name for name in "abc" if admitted.admits_location(f"s3://{name}")) == locations
