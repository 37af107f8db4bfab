"""How far a query is behind, from what it has read and what the sources hold."""

from __future__ import annotations

import os

import pytest

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.documents.positions import LagSummaryFields, SourceLagFields
from airflow_provider_ckpt.query.source import parse_asked
from airflow_provider_ckpt.sources.kafka.extent import Extent, Retention
from airflow_provider_ckpt.sources.lag import (
    MOST_NAMED,
    PartitionLag,
    SourceLag,
    lag_of_kafka,
    lag_of_table,
    summary_of,
    worst_of,
)
from airflow_provider_ckpt.sources.open_end import Access, open_table_end
from airflow_provider_ckpt.sources.table_loss import Unread
from airflow_provider_ckpt.storage.store import Store
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


PARTS = tuple(PartitionLag("t", number, 0, 100, number, lost=7 if number == 3 else 0) for number in range(50))
KAFKA = SourceLag("0", "kafka", "offsets", sum(range(50)), PARTS)


def test_the_partitions_that_are_furthest_behind_are_named_and_the_others_counted():
    summary = summary_of(KAFKA)
    assert list(problems(summary, LagSummaryFields)) == []
    named = [part["partition"] for part in summary["partitions"]]
    assert named == [3, *range(49, 49 - MOST_NAMED + 1, -1)], "lost records come first"
    assert (summary["others"], summary["partition_count"], summary["lost"]) == (40, 50, 7)
    assert sum(part["unread"] for part in summary["partitions"]) + summary["others_unread"] == summary["total"]


def test_a_partition_that_is_not_behind_is_not_named():
    lag = SourceLag("0", "kafka", "offsets", 0, PARTS[:1])
    assert worst_of(lag) == ()
    assert (summary_of(lag)["others"], summary_of(lag)["others_unread"]) == (1, 0)


def test_tables_have_no_partitions():
    summary = summary_of(SourceLag("1", "delta", "versions", 2, files=5, size=900))
    assert (summary["total"], summary["bytes"], summary["partitions"], summary["next_batch"]) == (2, 900, [], None)


@pytest.fixture
def unread(tmp_path):
    """What is unread of the directory ``in`` by a query that has read some of its files."""
    (tmp_path / "in").mkdir()
    log = tmp_path / "checkpoint/sources/0"
    log.mkdir(parents=True)

    def ask(read: list[str]) -> Unread:
        for number, name in enumerate(read):
            entry = f'{{"path":"file://{tmp_path}/in/{name}","timestamp":1000,"batchId":{number}}}'
            (log / str(number)).write_text(f"v1\n{entry}")
        access = Access(Store.open, Store.open(str(tmp_path / "checkpoint")))
        end = open_table_end(parse_asked(f"file:{tmp_path}/in"), "0", access)
        return end.unread_now(SourceOffset(f'{{"logOffset":{len(read) - 1}}}') if read else None)

    return ask


def test_files_that_are_in_no_batch_count_with_their_bytes(unread, tmp_path):
    for name, size, modified_s in (("a", 3, 1_000), ("b", 5, 2_000), ("c", 7, 3_000)):
        (tmp_path / "in" / name).write_bytes(b"x" * size)
        os.utime(tmp_path / "in" / name, (modified_s, modified_s))
    assert unread([]) == Unread("files", 3, 3, 15, 1_000_000)
    assert unread(["a"]) == Unread("files", 2, 2, 12, 2_000_000)
    assert unread(["a", "b", "c"]) == Unread("files", 0, 0, 0, None)
