"""The plan of a fence: one entry, what it proves, and what not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.changes.fence.plan import fence_of, is_closing, plan_closing, plan_fence
from airflow_provider_ckpt.codec import commit_log
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
