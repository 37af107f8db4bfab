"""What starts another reader exactly where a query is."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError, PlanError
from airflow_provider_ckpt.sources.kafka.starting_options import FORMS

KAFKA = '{"b":{"10":7,"2":0},"a-1.x_y":{"0": 9223372036854775807}}'


def delta(version: int, index: int, *, starting: bool = False, source_version: int = 1) -> str:
    fields = {"reservoirVersion": version, "index": index, "isStartingVersion": starting}
    return json.dumps({"sourceVersion": source_version, "reservoirId": "r", **fields})


@pytest.mark.parametrize(
    ("form", "offset", "text"),
    [
        ("startingOffsets", KAFKA, '{"a-1.x_y":{"0":9223372036854775807},"b":{"2":0,"10":7}}'),
        ("startingOffsets", "{}", "{}"),
        ("csv", KAFKA, "a-1.x_y,0,9223372036854775807\nb,2,0\nb,10,7"),
        ("startingVersion", delta(5, -1), "5"),
        ("startingVersion", delta(5, -100, source_version=3), "5"),
        ("startingVersion", delta(5, -100), "5"),
    ],
)
def test_the_text_is_what_the_option_takes(form, offset, text):
    assert FORMS[form].text(SourceOffset(offset), "offsets/3") == text


@pytest.mark.parametrize(
    ("offset", "problem"),
    [
        (delta(5, 2), "a part of version 5, and no startingVersion"),
        (delta(5, -1, starting=True), "a part of the table as it was at version 5, and no startingVersion"),
        (delta(5, -20, source_version=3), "a part of version 5"),
    ],
)
def test_a_position_that_no_version_means_is_refused(offset, problem):
    with pytest.raises(PlanError, match=problem):
        FORMS["startingVersion"].text(SourceOffset(offset), "offsets/3")


@pytest.mark.parametrize(
    ("form", "offset"),
    [("startingOffsets", delta(5, -1)), ("csv", '{"logOffset":3}'), ("startingVersion", KAFKA), ("csv", "{")],
)
def test_an_offset_of_another_source_is_refused(form, offset):
    with pytest.raises(MalformedEntryError, match="offsets/3: not an offset of the source type"):
        FORMS[form].text(SourceOffset(offset), "offsets/3")


def kinesis(**shards: str) -> str:
    iterators = {
        shard: {
            "iteratorType": text.split()[0],
            "iteratorPosition": " ".join(text.split()[1:]),
            "subSequenceNumber": "-1",
            "isLast": "true",
        }
        for shard, text in shards.items()
    }
    return json.dumps({"metadata": {"streamName": "s", "batchId": "7"}, **iterators})


@pytest.mark.parametrize(
    "text", [kinesis(a="AFTER_SEQUENCE_NUMBER 4960", b="TRIM_HORIZON"), kinesis(a="AT_TIMESTAMP 1700000000000")]
)
def test_the_option_of_kinesis_takes_the_offset_as_it_is(text):
    assert FORMS["startingPosition"].text(SourceOffset(text), "offsets/3") == text


@pytest.mark.parametrize("text", [kinesis(a="AFTER_SEQUENCE_NUMBER 1", b="LATEST"), kinesis(b="SOMETHING 5")])
def test_a_shard_at_no_fixed_position_is_refused(text):
    with pytest.raises(PlanError, match="the shard b has no position that a reader could begin at"):
        FORMS["startingPosition"].text(SourceOffset(text), "offsets/3")


def test_no_time_means_a_position_of_iceberg():
    offset = SourceOffset('{"version":1,"snapshot_id":5,"position":3,"scan_all_files":false}')
    with pytest.raises(PlanError, match="no stream-from-timestamp means that"):
        FORMS["stream-from-timestamp"].text(offset, "offsets/3")


def test_each_form_is_shown_here():
    assert {form: wanted.source_type for form, wanted in FORMS.items()} == {
        "startingOffsets": "kafka",
        "startingVersion": "delta",
        "startingPosition": "kinesis",
        "stream-from-timestamp": "iceberg",
        "csv": "kafka",
    }


@pytest.mark.parametrize("form", ["startingOffsets", "csv"])
@pytest.mark.parametrize("position", [-1, -2, -7])
def test_a_number_below_0_is_no_position(form, position):
    offset = SourceOffset(json.dumps({"orders": {"0": 5, "1": position}}))
    with pytest.raises(PlanError, match=f"partition orders-1 is at {position}, which is no position"):
        FORMS[form].text(offset, "offsets/3")
