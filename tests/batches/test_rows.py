"""The rows of a batch: one for each source, with what both logs say of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.batches.columns import BATCHES
from airflow_provider_ckpt.batches.read_logs import list_log, one_after_the_other, read_batches, read_origin
from airflow_provider_ckpt.batches.rows import (
    MOST_LOST_ROWS,
    PURGED,
    LoggedBatch,
    Origin,
    digest_of,
    lost_rows,
    rows_of,
)
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq, OffsetSeqMetadata
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointNotFoundError, MalformedEntryError
from airflow_provider_ckpt.storage.store import Store
from tests.batches.directly import declared_types, rows_by_hand
from tests.goldens import CASES

AT = Origin("s3://lake/orders", "7f0c", 3, {"0": "kafka", "1": "rate"})
METADATA = OffsetSeqMetadata(5_000, 9_000, {"b": "2", "a": "1"})


def entry(*texts: str | None, metadata: OffsetSeqMetadata | None = METADATA) -> OffsetSeq:
    offsets = (None if text is None else SourceOffset(text) for text in texts)
    return OffsetSeq(1, metadata, tuple((str(number), offset) for number, offset in enumerate(offsets)))


@pytest.mark.parametrize("case", CASES)
def test_the_rows_of_a_golden_are_what_its_files_say(goldens, case):
    checkpoint = goldens[case] / "checkpoint"
    store, declared = Store.open(str(checkpoint)), declared_types(checkpoint)
    listing = list_log(store)
    origin = read_origin(store, listing, Origin(store.location, declared=declared))
    rows = [
        {column.name: column.value(row) for column in BATCHES}
        for batch in read_batches(store, listing, listing.batches, one_after_the_other(store))
        for row in rows_of(batch, origin)
    ]
    assert rows
    expected = list(rows_by_hand(Path(store.location), declared))
    assert [{key: row[key] for key in expected[0]} for row in rows] == expected


def test_a_row_for_each_source():
    batch = LoggedBatch(
        7,
        planned=True,
        committed=True,
        committed_at_ms=9_500,
        offsets=entry('{"t":{"0":5,"1":9}}', "4"),
        commit=CommitMetadata(2, 6_000),
        previous=entry('{"t":{"0":2}}', "1"),
    )
    kafka, rate = rows_of(batch, AT)
    assert (kafka.location, kafka.query_id, kafka.timeline, kafka.batch_id) == ("s3://lake/orders", "7f0c", 3, 7)
    assert (kafka.offset_log_version, kafka.commit_log_version, kafka.planned, kafka.committed) == (1, 2, True, True)
    assert (kafka.batch_time_ms, kafka.committed_at_ms) == (9_000, 9_500)
    assert (kafka.watermark_ms, kafka.next_watermark_ms, kafka.confs) == (5_000, 6_000, {"a": "1", "b": "2"})
    assert kafka.source.partitions == (("t-0", 2, 5, 3), ("t-1", None, 9, 9))
    assert (kafka.source.unit, kafka.source.total, rate.source.unit, rate.source.total) == ("records", 12, "seconds", 3)
    assert (kafka.problem, kafka.source.problem) == (None, None)


def test_without_a_watermark_there_is_none():
    [row] = rows_of(LoggedBatch(0, offsets=entry("1", metadata=OffsetSeqMetadata()), commit=CommitMetadata(1)), AT)
    assert (row.watermark_ms, row.next_watermark_ms) == (None, None)


@pytest.mark.parametrize(
    ("batch", "why"),
    [
        (LoggedBatch(7, offsets=entry('{"t":{"0":5}}')), "the offset entry before it is missing"),
        (LoggedBatch(7, offsets=entry("5"), previous=entry("4")), "not an offset of the source type kafka: '5'"),
        (LoggedBatch(7, offsets=entry("5"), previous=entry("5")), "not an offset of the source type kafka: '5'"),
        (LoggedBatch(7, offsets=entry(None), previous=entry("4")), "the source has no offset"),
        (
            LoggedBatch(
                7, offsets=entry(f'{{"t":{{"0":{2**63 - 1}}}}}'), previous=entry(f'{{"t":{{"0":{-(2**63)}}}}}')
            ),
            "the number does not fit into 64 bits",
        ),
    ],
)
def test_what_cannot_be_counted_says_why(batch, why):
    [row] = rows_of(batch, AT)
    assert (row.source.total, row.source.partitions, row.problem) == (None, (), None)
    assert why in row.source.problem


def test_a_batch_without_a_readable_offset_entry_is_one_row():
    damaged = MalformedEntryError("nonsense", location="s3://lake/orders", name="offsets/7")
    [row] = rows_of(LoggedBatch(7, planned=True, committed=True, commit=CommitMetadata(1), problems=(damaged,)), AT)
    assert (row.batch_id, row.planned, row.committed, row.confs, row.source) == (7, True, True, None, None)
    assert row.problem == "s3://lake/orders/offsets/7: nonsense"


def test_a_batch_has_vanished_when_an_entry_was_gone_and_not_when_one_is_damaged():
    assert LoggedBatch(7, problems=(CheckpointNotFoundError("gone"),)).vanished
    assert not LoggedBatch(7, problems=(MalformedEntryError("nonsense"),)).vanished


def test_confs_have_one_digest_in_any_order():
    assert digest_of({"a": "1", "b": None}) == digest_of({"b": None, "a": "1"})
    assert digest_of({"a": "1"}) != digest_of({"a": "2"})


def test_each_lost_batch_is_a_row():
    rows = list(lost_rows(AT, 4, 6, PURGED))
    assert [(row.batch_id, row.timeline, row.problem) for row in rows] == [(number, 3, PURGED) for number in (4, 5, 6)]


def test_no_number_in_a_log_makes_more_rows_than_the_bound():
    rows = list(lost_rows(AT, 4, 10**18, PURGED))
    assert len(rows) == MOST_LOST_ROWS + 1
    assert (rows[0].batch_id, rows[0].problem) == (4, f"{PURGED}, as was every batch up to {rows[1].batch_id - 1}")
    assert rows[-1].batch_id == 10**18
