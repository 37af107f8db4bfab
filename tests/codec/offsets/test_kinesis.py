"""The offset of a Kinesis source: shards, their scales, and what is none."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.codec.offsets import kinesis as kinesis_offset

AFTER = {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": "5", "subSequenceNumber": "-1", "isLast": "true"}
VALUE = {"metadata": {"streamName": "s", "batchId": "7"}, "shard-1": AFTER}


def test_the_shards_and_the_stream():
    assert kinesis_offset.shards(VALUE) == {"shard-1": AFTER}
    assert kinesis_offset.with_shards(VALUE, {"shard-2": AFTER}) == {"metadata": VALUE["metadata"], "shard-2": AFTER}
    assert kinesis_offset.with_shards({"a": AFTER}, {"b": AFTER}) == {"b": AFTER}
    assert (kinesis_offset.stream_name(VALUE), kinesis_offset.stream_name({})) == ("s", "")


@pytest.mark.parametrize(("shard", "position", "scale"), [
    (AFTER, (5,), "sequence number"),
    (AFTER | {"iteratorType": "AT_SEQUENCE_NUMBER"}, (4, 0), "sequence number"),
    (AFTER | {"subSequenceNumber": "3"}, (5,), "sequence number"),
    (AFTER | {"subSequenceNumber": "3", "isLast": "false"}, (4, 1, 3), "sequence number"),
    ({"iteratorPosition": "5"}, (5,), "sequence number"),
    (AFTER | {"iteratorType": "TRIM_HORIZON", "iteratorPosition": ""}, (-1,), "sequence number"),
    (AFTER | {"iteratorType": "SHARD_END", "iteratorPosition": ""}, (10**200,), "sequence number"),
    (AFTER | {"iteratorType": "AT_TIMESTAMP", "iteratorPosition": "1700000000000"}, (1_700_000_000_000,), "timestamp"),
    (AFTER | {"iteratorType": "LATEST", "iteratorPosition": ""}, None, "moving end"),
    (AFTER | {"iteratorType": "SOMETHING"}, None, "position that ckpt cannot read"),
    (AFTER | {"iteratorPosition": "9" * 201}, None, "position that ckpt cannot read"),
    (AFTER | {"subSequenceNumber": "x"}, None, "position that ckpt cannot read"),
])  # fmt: skip
def test_the_position_of_a_shard(shard, position, scale):
    value = {"a": shard}
    assert kinesis_offset.positions(value) == ({} if position is None else {"a": position})
    assert kinesis_offset.scales(value) == {"a": scale}


@pytest.mark.parametrize("value", [None, [], {"a": 5}, {"a": {}}, {"a": {"iteratorPosition": None}}, {"metadata": 5}])
def test_what_is_none(value):
    assert not kinesis_offset.fits(value)
