"""The entry that a fork gets: the beginning of one batch of the live query, and the end of another."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.blue_green.planned_batch import planned_batch, same_end


def entry(*offsets: str, watermark_ms: int = 0, partitions: int = 2, version: int = 1):
    metadata = f'{{"batchWatermarkMs":{watermark_ms},"batchTimestampMs":7,"conf":{{"p":"{partitions}"}}}}'
    return codec.decode("offsets/5", "\n".join([f"v{version}", metadata, *offsets]).encode())


def test_one_batch_is_the_very_entry_of_the_live_query():
    one = entry('{"offset": 10}', watermark_ms=5)
    assert planned_batch(one, one).encode() == one.encode()


def test_several_batches_begin_as_the_first_and_end_as_the_last():
    made = planned_batch(entry('{"offset":10}', watermark_ms=5), entry('{"offset":30}', watermark_ms=9))
    read = codec.decode("offsets/5", made.encode())
    assert made.encode().splitlines()[1:] == entry('{"offset":30}', watermark_ms=5).encode().splitlines()[1:]
    assert same_end(read, entry('{"offset":30}')) and read.metadata.batch_watermark_ms == 5


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (entry("1", "2"), "sources"),
        (entry("1", partitions=4), "repartition"),
        (codec.decode("offsets/5", b'v2\n{"batchWatermarkMs":0,"batchTimestampMs":7,"conf":{}}\na:1'), "version"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_batches_of_two_plans_are_not_one(last, reason):
    with pytest.raises(ValueError, match=reason):
        planned_batch(entry("0"), last)
