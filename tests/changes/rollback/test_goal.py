"""Where a rollback goes to, decided over log entries alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.changes.rollback.goal import (
    BeforeDeploy,
    ToBatch,
    ToOffsets,
    ToTimestamp,
    ToWatermark,
    choose,
    notes_of,
    parse_target,
)
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.restart.bookmark import Bookmark

KAFKA = {"0": "kafka"}


def entry(began: int, watermark: int, *offsets: object):
    metadata = {"batchWatermarkMs": watermark, "batchTimestampMs": began, "conf": {}}
    lines = ["v1", json.dumps(metadata), *("-" if offset is None else json.dumps(offset) for offset in offsets)]
    return codec.decode("offsets/0", "\n".join(lines).encode())


LOG = [
    (7, entry(700, 70, {"t": {"0": 30, "1": 9}})),
    (6, entry(600, 50, {"t": {"0": 20, "1": 5}})),
    (5, entry(500, 50, {"t": {"0": 20}})),
    (3, entry(300, 0, None)),
]


@pytest.mark.parametrize(
    ("target", "batch_id"),
    {
        "a time between two batches": (ToTimestamp(650), 6),
        "the very time of a batch": (ToTimestamp(600), 6),
        "a time over a gap in the log": (ToTimestamp(450), 3),
        "a time before the log": (ToTimestamp(299), None),
        "of batches with one watermark the newest": (ToWatermark(50), 6),
        "a watermark that none had": (ToWatermark(60), 6),
        "before the first watermark": (ToWatermark(49), 3),
        "offsets of one partition": (ToOffsets({"0": '{"t":{"0":20}}'}, KAFKA), 6),
        "a partition that did not exist yet is not past": (ToOffsets({"0": '{"t":{"0":25,"1":4}}'}, KAFKA), 5),
        "a source that has read nothing is not past": (ToOffsets({"0": '{"t":{"0":19}}'}, KAFKA), 3),
        "offsets ahead of the query": (ToOffsets({"0": '{"t":{"0":99,"1":99}}'}, KAFKA), 7),
    }.values(),
)
def test_the_newest_batch_that_is_not_past_the_target(target, batch_id):
    assert choose(target, LOG) == batch_id


def test_entries_are_read_only_as_far_as_needed():
    newest_first = iter(LOG)
    assert choose(ToTimestamp(650), newest_first) == 6
    assert next(newest_first)[0] == 5


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        (ToOffsets({"0": '{"t":{"0":1}}'}), "type is not known"),
        (ToOffsets({"1": '{"t":{"0":1}}'}, KAFKA), "no source '1'"),
        (ToOffsets({"0": "5"}, KAFKA), "not an offset of the source type kafka"),
    ],
)
def test_offsets_that_cannot_be_compared_are_refused(target, problem):
    with pytest.raises(CheckpointError, match=problem):
        choose(target, LOG)


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ({"batch": 4, "timestamp": ""}, ToBatch(4)),
        ({"batch": "4"}, ToBatch(4)),
        ({"timestamp": "2026-01-01T00:00:00Z"}, ToTimestamp(1_767_225_600_000)),
        ({"watermark": 1_767_225_600_000}, ToWatermark(1_767_225_600_000)),
        ({"offsets": '{"0": {"t": {"0": 5}}}', "source_types": KAFKA}, ToOffsets({"0": '{"t":{"0":5}}'}, KAFKA)),
        ({"offsets": {"0": 5}}, ToOffsets({"0": "5"})),
        ({"before_deploy": {"query_id": "q", "batch_id": 4}}, BeforeDeploy(Bookmark("q", 4))),
        ({"before_deploy": '{"query_id": "q", "batch_id": 4}'}, BeforeDeploy(Bookmark("q", 4))),
    ],
)
def test_what_people_and_templates_write(given, target):
    assert parse_target(**given) == target


@pytest.mark.parametrize(
    "given",
    [{}, {"batch": 1, "timestamp": 2}, {"batch": "-1"}, {"timestamp": "soon"}, {"offsets": "{"}, {"offsets": "[]"}],
)
def test_what_is_no_target(given):
    with pytest.raises(ValueError):
        parse_target(**given)


def test_the_notes_say_how_and_what_is_read_again():
    notes = notes_of(ToTimestamp(650), 6, LOG[1][1], LOG[0][1], KAFKA)
    assert notes == (
        "Batch 6 is the newest committed one that began at or before 1970-01-01T00:00:00.650Z.",
        "Batch 6 began at 1970-01-01T00:00:00.600Z with the watermark 1970-01-01T00:00:00.050Z.",
        "Source 0 (kafka) is read again: 14 records.",
    )
    nothing = notes_of(ToBatch(6), 6, LOG[1][1], replace(LOG[1][1], version=LOG[1][1].version + 1), KAFKA)
    assert nothing[1:] == ("Nothing of source 0 (kafka) is read again.",)
    begun = notes_of(ToBatch(6), 6, replace(LOG[1][1], offsets=()), LOG[0][1], {})
    assert not [note for note in begun if "None" in note]
    untyped = notes_of(ToBatch(6), 6, LOG[1][1], LOG[0][1], {})
    assert "the amount is not known: the type of the source is not declared" in untyped[-1]
