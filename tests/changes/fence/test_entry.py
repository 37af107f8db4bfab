"""The entry of a fence is the one that Spark would plan for a batch without rows."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.changes.fence.entry import empty_entry
from airflow_provider_ckpt.codec import commit_log, offset_log

CONF = '"conf":{"spark.sql.shuffle.partitions":"4"}'
CONTROL = '"controlBatchInfo":{"operationType":"repartition"}'


def entry(watermark_ms: int, version: int = 1, more: str = "") -> bytes:
    line = f'{{"batchWatermarkMs":{watermark_ms},"batchTimestampMs":17,{CONF}{more}}}'
    offset = '{"logOffset":5}' if version == 1 else 'orders:{"logOffset":5}'
    return f"v{version}\n{line}\n{offset}".encode()


def commit(watermark_ms: int) -> bytes:
    return b'v1\n{"nextBatchWatermarkMs":%d}' % watermark_ms


V2 = ',"sourceMetadataInfo":{}'
FENCE = ',"ckptFence":true'


@pytest.mark.parametrize(
    ("before", "coming_ms", "wanted"),
    [
        pytest.param(entry(0), 0, entry(0, more=FENCE), id="no watermark"),
        pytest.param(entry(20), 20, entry(20, more=FENCE), id="it has not moved"),
        pytest.param(entry(20), 30, entry(30, more=FENCE), id="it moves with the commit, as Spark moves it"),
        pytest.param(entry(20), 0, entry(20, more=FENCE), id="it never goes back"),
        pytest.param(entry(20, 2, V2), 30, entry(30, 2, V2 + FENCE), id="log version 2"),
        pytest.param(entry(20, 2, f"{V2},{CONTROL}"), 20, entry(20, 2, V2 + FENCE), id="behind a repartition"),
    ],
)
def test_offsets_confs_and_time_are_those_of_the_batch_before(before, coming_ms, wanted):
    made = empty_entry(offset_log.decode(before, "offsets/7"), commit_log.decode(commit(coming_ms), "commits/7"))
    assert made == wanted
    assert offset_log.decode(made, "offsets/8").offsets == offset_log.decode(before, "offsets/7").offsets


def test_every_golden_has_one_that_spark_would_read(goldens):
    for case in goldens:
        checkpoint = goldens[case] / "checkpoint"
        newest = max((int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")), default=None)
        if newest is None or not (checkpoint / f"offsets/{newest}").exists():
            continue
        before = offset_log.decode((checkpoint / f"offsets/{newest}").read_bytes(), "offsets/1")
        made = empty_entry(before, commit_log.decode((checkpoint / f"commits/{newest}").read_bytes(), "commits/1"))
        again = offset_log.decode(made, "offsets/2")
        assert again.offsets == before.offsets and again.metadata.fence, case
        if before.metadata is not None and again.metadata is not None:
            assert again.metadata.batch_timestamp_ms == before.metadata.batch_timestamp_ms, case
            assert json.dumps(dict(again.metadata.conf)) == json.dumps(dict(before.metadata.conf)), case
