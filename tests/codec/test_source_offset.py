"""Typed views of source offsets: how they compare, what they count, and where they say that they cannot."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.source_offset import SourceOffset, kind_of_provider
from airflow_provider_ckpt.errors import MalformedEntryError

DELTA = '{"sourceVersion":1,"reservoirId":"%s","reservoirVersion":%d,"index":%d,"isStartingVersion":false}'
KINESIS = '{"metadata":{"streamName":"s","batchId":"1"},"shard-1":{"iteratorType":"AFTER_SEQUENCE_NUMBER","iteratorPosition":"%s"}}'

#: kind: (earlier, later, what lies between by lane, or None where it cannot be counted)
STEPS = {
    "kafka": ('{"t":{"0":5,"1":7}}', '{"t":{"0":9,"1":7}}', {"t-0": 4, "t-1": 0}),
    "eventhubs": ('{"hub":{"0":-1}}', '{"hub":{"0":23}}', {"hub-0": 24}),
    "file": ('{"logOffset":3}', '{"logOffset":5}', {"log": 2}),
    "rate": ("3", "10", {"value": 7}),
    "rate-micro-batch": ('{"offset":10,"timestamp":1000}', '{"offset":20,"timestamp":2000}', {"offset": 10}),
    "delta": (DELTA % ("t", 4, 8), DELTA % ("t", 6, 0), {"table": 2}),
    "kinesis": (
        KINESIS % "49590338271490256608559692538361571095921575989136588898",
        KINESIS % "49590338271490256608559692538361571095921575989136588899",
        None,
    ),
    "pulsar": ('{"t":[8,11,16,101,24,1]}', '{"t":[8,11,16,-25,1,24,1]}', None),
    "cloudFiles": (
        '{"seqNum":234,"sourceVersion":1}',
        '{"seqNum":300,"sourceVersion":3,"lastInputPath":"x"}',
        {"files": 66},
    ),
}


@pytest.mark.parametrize(("kind", "step"), STEPS.items())
def test_order_and_distance(kind, step):
    earlier, later = (SourceOffset(text).view(kind) for text in step[:2])
    assert later.has_reached(earlier)
    assert later.has_reached(later)
    assert not earlier.has_reached(later)
    if step[2] is None:
        with pytest.raises(ValueError, match="can be ordered, not counted"):
            later.minus(earlier)
    else:
        assert later.minus(earlier) == step[2]


def test_a_target_names_the_partitions_that_count():
    current = SourceOffset('{"t":{"0":9,"1":2}}').view("kafka")
    assert current.has_reached(SourceOffset('{"t":{"0":5}}').view("kafka"))
    assert not current.has_reached(SourceOffset('{"t":{"0":5,"1":3}}').view("kafka"))
    assert not current.has_reached(SourceOffset('{"t":{"2":0}}').view("kafka")), "a partition that is not there yet"


def test_the_first_offset_counts_from_the_start():
    assert SourceOffset('{"t":{"0":9}}').view("kafka").minus(None) == {"t-0": 9}


def test_a_bare_number_is_a_file_offset_of_old():
    assert SourceOffset("3").view("file").positions == {"log": (3,)}


def test_iceberg_snapshots_have_no_order():
    first = SourceOffset('{"version":1,"snapshot_id":5,"position":0,"scan_all_files":false}').view("iceberg")
    second = SourceOffset('{"version":1,"snapshot_id":4,"position":0,"scan_all_files":false}').view("iceberg")
    assert first.has_reached(first)
    with pytest.raises(ValueError, match="no order of their own"):
        first.has_reached(second)


def test_two_delta_tables_cannot_be_compared():
    with pytest.raises(ValueError, match="two tables"):
        SourceOffset(DELTA % ("a", 1, 0)).view("delta").has_reached(SourceOffset(DELTA % ("b", 1, 0)).view("delta"))


def test_kinds_are_not_mixed():
    with pytest.raises(ValueError, match="kafka offset, the other a eventhubs"):
        SourceOffset('{"t":{"0":1}}').view("kafka").has_reached(SourceOffset('{"t":{"0":2}}').view("eventhubs"))


def test_offsets_are_equal_when_their_text_is():
    assert SourceOffset('{"a":1}') == SourceOffset('{"a":1}') != SourceOffset('{"a": 1}')


@pytest.mark.parametrize(("kind", "text"), [
    ("kafka", '{"t":{"0":"5"}}'), ("kafka", '{"t":{"0":true}}'), ("kafka", "5"), ("kafka", "nonsense"), ("kafka", '{"t":{"0":NaN}}'),
    ("file", '{"offset":1}'), ("rate", "1.5"), ("delta", "{}"), ("pulsar", '{"t":[300]}'), ("kinesis", '{"s":{"iteratorType":"LATEST"}}'),
    ("nokind", "1"), ("kafka", "[" * 100_000),
])  # fmt: skip
def test_other_shapes_are_format_errors(kind, text):
    with pytest.raises(MalformedEntryError) as caught:
        SourceOffset(text).view(kind, "offsets/6")
    assert caught.value.name == "offsets/6" and len(str(caught.value)) < 300


@pytest.mark.parametrize(("provider", "kind"), [
    ("org.apache.spark.sql.kafka010.KafkaSourceProvider", "kafka"), ("kafka", "kafka"),
    ("org.apache.spark.sql.execution.streaming.runtime.FileStreamSource", "file"), ("com.example.Other", None),
])  # fmt: skip
def test_the_provider_tells_the_kind(provider, kind):
    assert kind_of_provider(provider) == kind
