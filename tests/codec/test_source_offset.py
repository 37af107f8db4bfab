"""Typed views of source offsets: how they compare, what they count, and where they say that they cannot."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError

DELTA = '{"sourceVersion":1,"reservoirId":"%s","reservoirVersion":%d,"index":%d,"isStartingVersion":false}'
KINESIS = '{"metadata":{"streamName":"s","batchId":"1"},"shard-1":{"iteratorType":"AFTER_SEQUENCE_NUMBER","iteratorPosition":"%s"}}'

#: kind: (earlier, later, what lies between by partition, or None where it cannot be counted)
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
    "pubsub": ('{"sourceVersion":1,"seqNum":3,"fetchEpoch":9}', '{"sourceVersion":1,"seqNum":4,"fetchEpoch":1}', None),
    "sequential-union": (
        '{"activeSourceName":"a","allSourceNames":["a","b"],"completedSourceNames":[]}',
        '{"activeSourceName":"b","allSourceNames":["a","b"],"completedSourceNames":["a"]}',
        {"sources": 1},
    ),
    "hudi": ('{"commitTime":"20240101120000"}', '{"commitTime":"20240101120000001"}', None),
    "paimon": (
        '{"snapshotId":3,"index":7,"scanSnapshot":true}',
        '{"snapshotId":4,"index":0,"scanSnapshot":false}',
        {"table": 1},
    ),
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
        with pytest.raises(ValueError, match="can be ordered but not counted"):
            later.minus(earlier)
    else:
        assert later.minus(earlier) == step[2]


def test_a_target_names_the_partitions_that_count():
    current = SourceOffset('{"t":{"0":9,"1":2}}').view("kafka")
    assert current.has_reached(SourceOffset('{"t":{"0":5}}').view("kafka"))
    assert not current.has_reached(SourceOffset('{"t":{"0":5,"1":3}}').view("kafka"))
    assert not current.has_reached(SourceOffset('{"t":{"2":0}}').view("kafka")), "a partition that is not there yet"


@pytest.mark.parametrize(("kind", "first", "read"), [
    ("file", '{"logOffset":0}', {"log": 1}), ("file", "2", {"log": 3}),
    ("socket", "4", {"value": 5}), ("rate", "3", {"value": 3}),
    ("rate-micro-batch", '{"offset":10,"timestamp":0}', {"offset": 10}),
])  # fmt: skip
def test_the_first_batch_counts_from_where_its_source_begins(kind, first, read):
    assert SourceOffset(first).view(kind).minus(None) == read


@pytest.mark.parametrize(("kind", "first"), [
    ("kafka", '{"t":{"0":9}}'), ("eventhubs", '{"hub":{"0":9}}'), ("delta", DELTA % ("t", 6, 0)),
    ("cloudFiles", '{"seqNum":234,"sourceVersion":1}'),
])  # fmt: skip
def test_where_a_source_began_may_be_unknown(kind, first):
    with pytest.raises(ValueError, match="does not say where"):
        SourceOffset(first).view(kind).minus(None)


#: Delta's positions, ascending; those of one row are the same.
DELTA_ORDER = [
    [(1, 4, 8)],
    [(1, 5, -1), (1, 5, -100)],
    [(3, 5, -20)],
    [(3, 5, -19)],
    [(1, 5, 0)],
    [(1, 5, 7)],
    [(1, 6, -1), (3, 6, -100)],
]


def test_the_order_of_delta_is_that_of_its_indices_as_version_3_writes_them():
    text = '{"sourceVersion":%d,"reservoirId":"t","reservoirVersion":%d,"index":%d,"isStartingVersion":false}'
    rows = [[SourceOffset(text % position).view("delta") for position in row] for row in DELTA_ORDER]
    for at, row in enumerate(rows):
        for one in row:
            assert [one.has_reached(other) for others in rows for other in others] == [
                there <= at for there, others in enumerate(rows) for _ in others
            ]


def kinesis(**shards):
    """Shards as ``TYPE position [sub]``."""
    value = {"metadata": {"streamName": "s", "batchId": "7"}}
    for shard, text in shards.items():
        kind, position, *sub = text.split(" ")
        value[shard] = {"iteratorType": kind, "iteratorPosition": position, "subSequenceNumber": (sub or ["-1"])[0]}
    return SourceOffset(json.dumps(value)).view("kinesis")


#: Where a shard can stand, ascending.
SHARD_ORDER = (
    "TRIM_HORIZON ", "AT_SEQUENCE_NUMBER 5", "AFTER_SEQUENCE_NUMBER 5 0", "AFTER_SEQUENCE_NUMBER 5 3",
    "AFTER_SEQUENCE_NUMBER 5", "AT_SEQUENCE_NUMBER 6", "AFTER_SEQUENCE_NUMBER 4959" + "0" * 52, "SHARD_END ",
)  # fmt: skip


def test_the_order_of_a_shard():
    stands = [kinesis(a=text) for text in SHARD_ORDER]
    for at, one in enumerate(stands):
        assert [one.has_reached(other) for other in stands] == [there <= at for there in range(len(stands))]


@pytest.mark.parametrize("other", ["AT_TIMESTAMP 1700000000000", "LATEST ", "SOMETHING 5", "AFTER_SEQUENCE_NUMBER x"])
def test_a_shard_that_cannot_be_compared_says_so_and_spoils_no_other(other):
    mixed, plain = kinesis(a=other, b="AFTER_SEQUENCE_NUMBER 5"), kinesis(a="AFTER_SEQUENCE_NUMBER 5")
    assert "b" in mixed.positions
    assert mixed.has_reached(kinesis(b="AFTER_SEQUENCE_NUMBER 4"))
    with pytest.raises(ValueError, match="a is a "):
        mixed.has_reached(plain)


def test_iceberg_snapshots_have_no_order():
    first = SourceOffset('{"version":1,"snapshot_id":5,"position":0,"scan_all_files":false}').view("iceberg")
    second = SourceOffset('{"version":1,"snapshot_id":4,"position":0,"scan_all_files":false}').view("iceberg")
    assert first.has_reached(first)
    with pytest.raises(ValueError, match="cannot be ordered without the table"):
        first.has_reached(second)


def test_two_delta_tables_cannot_be_compared():
    with pytest.raises(ValueError, match="the tables are not the same"):
        SourceOffset(DELTA % ("a", 1, 0)).view("delta").has_reached(SourceOffset(DELTA % ("b", 1, 0)).view("delta"))


def test_kinds_are_not_mixed():
    with pytest.raises(ValueError, match="source type kafka, the other one eventhubs"):
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
