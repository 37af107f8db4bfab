"""How far a query is behind, from what it has read and what the sources hold."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.documents.positions import SourceLagFields
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.lag import PartitionLag, SourceLag, lag_of_kafka, lag_of_table
from airflow_provider_ckpt.sources.unread import Retention, Unread
from tests.json_documents import problems

T0, T1 = ("t", 0), ("t", 1)


def extent(**ranges: tuple[int, int]) -> Extent:
    by_number = {("t", int(name[1:])): ends for name, ends in ranges.items()}
    first, end = ({at: ends[part] for at, ends in by_number.items()} for part in (0, 1))
    return Extent({"t": "id"}, first, end)


@pytest.mark.parametrize(
    ("position", "there", "expected"),
    [
        (10, (0, 30), PartitionLag("t", 0, 10, 30, 20)),
        (30, (0, 30), PartitionLag("t", 0, 30, 30, 0)),
        (10, (15, 30), PartitionLag("t", 0, 10, 30, 15, lost=5)),
        (10, (30, 30), PartitionLag("t", 0, 10, 30, 0, lost=20)),
        (10, (10, 10), PartitionLag("t", 0, 10, 10, 0)),
        (10, (0, 4), PartitionLag("t", 0, 10, 4, 0)),
        (10, (4, 4), PartitionLag("t", 0, 10, 4, 0)),
        (None, (3, 8), PartitionLag("t", 0, None, 8, 5)),
    ],
)
def test_the_lag_of_a_partition(position, there, expected):
    lag = lag_of_kafka("0", {} if position is None else {T0: position}, extent(p0=there), {})
    assert lag.partitions == (expected,)
    assert (lag.unit, lag.total) == ("offsets", expected.unread)


def test_the_lag_of_a_source_is_that_of_its_partitions_and_as_old_as_the_oldest():
    there = extent(p0=(0, 30), p1=(0, 5), p2=(0, 0))
    lag = lag_of_kafka("0", {T0: 10, T1: 5}, there, {T0: 7_000})
    assert (lag.total, lag.age_ms) == (20, 7_000)
    assert list(problems(lag.to_dict(), SourceLagFields)) == []


def test_a_source_has_no_age_while_that_of_an_unread_partition_is_not_known():
    lag = lag_of_kafka("0", {T0: 10, T1: 4}, extent(p0=(0, 30), p1=(0, 5)), {T0: 7_000, T1: None})
    assert lag.age_ms is None
    assert lag.notes == ("the age of t-1 is not known: the records have no timestamps",)
    assert not lag.is_within(None, 7_000)
    kept = {"t": Retention(10_000, None)}
    known = lag_of_kafka("0", {T0: 10, T1: 4}, extent(p0=(0, 30), p1=(0, 5)), {T0: 7_000, T1: None}, kept)
    assert known.expires_ms == 3_000, "the warning is not lost"


@pytest.mark.parametrize(
    ("age_ms", "retention", "expires_ms"),
    [
        (7_000, Retention(10_000, None), 3_000),
        (17_000, Retention(10_000, None), 0),
        (7_000, Retention(None, None), None),
        (None, Retention(10_000, None), None),
        (7_000, None, None),
    ],
)
def test_an_unread_record_expires_after_the_retention_of_its_topic(age_ms, retention, expires_ms):
    kept = None if retention is None else {"t": retention}
    assert lag_of_kafka("0", {T0: 10}, extent(p0=(0, 30)), {T0: age_ms}, kept).expires_ms == expires_ms


def test_a_topic_that_is_limited_in_bytes_is_noted():
    lag = lag_of_kafka("0", {T0: 10}, extent(p0=(15, 30)), {}, {"t": Retention(None, 1_000)})
    assert "records may expire sooner" in lag.notes[0]
    assert lag.lost == 5


def test_what_does_not_fit_is_noted():
    gone = {("t", number): 1 for number in range(1, 6)}
    lag = lag_of_kafka("0", {T0: 10, **gone}, extent(p0=(0, 4)), {})
    assert len(lag.notes) == 2
    assert "does not have t-1, t-2, t-3 and 2 more" in lag.notes[0]
    assert lag.notes[1].startswith(
        "Spark does not start, unless failOnDataLoss is false: the query is past the end of t-0"
    )
    assert (lag.past_end, lag.is_partial) == (1, True)
    assert not lag.is_within(100, None), "what is in the present topic was never read"


def test_the_lag_of_a_table_is_as_old_as_its_oldest_unread_data():
    lag = lag_of_table("1", "delta", Unread("versions", 2, 5, 900, 4_000, "not all of it"), 10_000)
    assert (lag.unit, lag.total, lag.files, lag.size, lag.age_ms, lag.notes) == (
        *("versions", 2, 5, 900, 6_000),
        ("not all of it",),
    )
    assert not lag.is_partial
    assert lag_of_table("1", "file", Unread("files", 0, 0, 0), 10_000).age_ms is None
    assert lag.to_dict()["bytes"] == 900


@pytest.mark.parametrize(
    ("lag", "most", "max_age_ms", "is_within"),
    [
        (SourceLag("0", "kafka", "offsets", 5), 5, None, True),
        (SourceLag("0", "kafka", "offsets", 6), 5, None, False),
        (SourceLag("0", "kafka", "offsets", 6, age_ms=7), None, 7, True),
        (SourceLag("0", "kafka", "offsets", 6, age_ms=8), None, 7, False),
        (SourceLag("0", "kafka", "offsets", 6), None, 7, False),
        (SourceLag("0", "kafka", "offsets", 0), 0, 0, True),
        (lag_of_kafka("0", {T0: 10}, extent(p0=(30, 30)), {}), 0, None, False),
        (lag_of_kafka("0", {T0: 10}, extent(p0=(15, 30)), {T0: 5}), 100, 7, False),
        (lag_of_kafka("0", {T0: 30}, extent(p0=(30, 30)), {}), 0, None, True),
        (SourceLag("0", "rate"), 0, 0, True),
        (SourceLag("0", None), 0, 0, False),
        (lag_of_table("0", "delta", Unread("versions", 0, 0, 0, is_partial=True), 10_000), 0, None, False),
        (lag_of_table("0", "delta", Unread("versions", 0, 0, 0, is_partial=True), 10_000), None, 7, False),
    ],
)
def test_a_lag_is_within_its_limits(lag, most, max_age_ms, is_within):
    assert lag.is_within(most, max_age_ms) == is_within
