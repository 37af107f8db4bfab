"""The plan of a fence: one entry, what it proves, and what not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.fence.plan import empty_entry, fence_of, is_closing, plan_closing, plan_fence
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.codec import commit_log, offset_log
from airflow_provider_ckpt.codec.offset_log import CLOSING
from tests.views import offset_entry, view_of

COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'
ENTRIES = {f"offsets/{batch}": offset_entry() for batch in (6, 7)}


def idle():
    view = view_of(**ENTRIES, **{"commits/7": COMMIT})
    return plan_fence(view, 7, view.offset_seq(7), commit_log.decode(COMMIT, "commits/7"), 11)


def closing():
    return plan_closing(view_of(**ENTRIES, **{"commits/6": COMMIT}), 7, 11)


@pytest.mark.parametrize("plan", [idle(), closing()], ids=["idle", "in flight"])
def test_it_is_one_exclusive_create_behind_the_newest_batch_and_needs_no_word(plan):
    assert (plan.kind, plan.batch_id, plan.planned_at_ms, fence_of(plan).name) == ("fence", 7, 11, "offsets/8")
    assert {item.kind for item in plan.requirements} == {"query_id", "latest_committed", "latest_planned"}
    assert not plan.needs_stopped_query and plan.to_accept == () and plan.aim == "the end of batch 7"
    assert plan_from_dict(plan.to_dict()) == plan


def test_it_says_what_it_proves_and_what_not():
    said = " ".join((*idle().notes, *idle().warnings))
    for words in ("can plan no batch any more", "idle", "still writes to the sink", "supervisor", "Async progress"):
        assert words in said


@pytest.mark.parametrize(
    ("stateful", "coming_ms", "told"), [(True, 5000, True), (True, 0, False), (False, 5000, False)]
)
def test_a_watermark_that_moves_is_said_where_rows_could_become_late(stateful, coming_ms, told):
    view = replace(view_of(**ENTRIES, **{"commits/7": COMMIT}), stateful=stateful)
    commit = commit_log.decode(b'v1\n{"nextBatchWatermarkMs":%d}' % coming_ms, "commits/7")
    plan = plan_fence(view, 7, view.offset_seq(7), commit, 11)
    assert any("dropped as late" in text for text in plan.warnings) == told
    assert ("moves the watermark" in plan.effects[0].reason) == told


def test_behind_a_batch_in_flight_the_entry_closes_the_checkpoint():
    assert is_closing(closing()) and not is_closing(idle())
    assert fence_of(closing()).data.encode() == CLOSING
    assert "Batch 7 is in flight" in closing().notes[0] and "removed again" in closing().notes[1]


# --- the entry: the one that Spark would plan for a batch without rows ------------------------------------------------

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
