"""The states of a wait as tables: what each poll makes of it, what it remembers, and what it takes up again."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.errors import CheckpointError, StoreUnavailableError
from airflow_provider_ckpt.waiting import (
    BatchCommitted,
    FilesRead,
    LagAtMost,
    NextBatch,
    OffsetsReached,
    SourceEndReached,
    Start,
    WatermarkPassed,
    all_of,
)
from airflow_provider_ckpt.waiting.wait import Lost, Pending, Reached, TimedOut, Waiting, outcome, read_wait

NOW_MS, DEADLINE_MS = 1_000_000, 1_060_000
AWAY = StoreUnavailableError("does not answer", location="s3://lake/orders")


def stands(*batches: int, query: str | None = "one", at: dict[int, int] | None = None) -> Progress:
    """A commit log with these batches, each committed at its own number unless ``at`` says otherwise."""
    commits = {batch: batch for batch in batches} | (at or {})
    return Progress(max(batches, default=None), query_id=query, commits=commits, polled_at_ms=NOW_MS)


NOTHING = stands(query=None)


class Ends:
    """Sources that end where the query stands after a batch, as long as they answer."""

    def __init__(self, batch_id: int, away: bool = False) -> None:
        self.batch_id, self.away = batch_id, away

    def end_at(self, at_ms, progress, *, slack=0):
        if self.away:
            raise AWAY
        return BatchCommitted(self.batch_id)

    def files_at(self, source_id, at_ms, progress):
        return FilesRead(source_id, 0)


STEPS = {
    "reached by the first poll": (BatchCommitted(5), [stands(5)], Reached),
    "reached by a later poll": (BatchCommitted(5), [stands(4), stands(4, 5)], Reached),
    "not reached": (BatchCommitted(5), [stands(4), stands(4)], Pending),
    "no checkpoint yet": (BatchCommitted(0), [NOTHING, NOTHING], Pending),
    "a checkpoint that has come": (BatchCommitted(0), [NOTHING, stands(0)], Reached),
    "another query": (BatchCommitted(5), [stands(4), stands(4, query="two")], Lost),
    "another query that is there already": (BatchCommitted(5), [stands(4), stands(5, query="two")], Lost),
    "rolled back": (BatchCommitted(5), [stands(3, 4), stands(3)], Lost),
    "rolled back and come past it": (BatchCommitted(6), [stands(3, 4), stands(3, 4, 5, at={4: 9})], Lost),
    "rolled back to where it began": (BatchCommitted(6), [stands(4), stands(4, 5), stands(4)], Pending),
}


@pytest.mark.parametrize(("condition", "polls", "last"), STEPS.values(), ids=STEPS)
def test_what_each_poll_makes_of_a_wait(condition, polls, last):
    waiting = Waiting("s3://lake/orders", condition)
    *before, step = [waiting.step(progress, NOW_MS) for progress in polls]
    assert all(type(earlier) is Pending for earlier in before)
    assert type(step) is last
    if isinstance(step, Lost):
        assert step.error.location == "s3://lake/orders" and "ckpt history" in str(step.error)
        assert not step.error.retryable
    else:
        assert "batch" in step.text


# --- deadline and pause ----------------------------------------------------------------------------------------------

CLOCK = {
    "before the deadline": (BatchCommitted(9), DEADLINE_MS - 20_000, Pending, 20.0),
    "the pause ends at the deadline": (BatchCommitted(9), DEADLINE_MS - 1, Pending, 0.001),
    "at the deadline": (BatchCommitted(9), DEADLINE_MS, TimedOut, 0.0),
    "long after it": (BatchCommitted(9), DEADLINE_MS + 10**9, TimedOut, 0.0),
    "reached after the deadline is reached": (BatchCommitted(5), DEADLINE_MS + 1, Reached, None),
    "far from the deadline": (BatchCommitted(9), NOW_MS, Pending, 30.0),
}


@pytest.mark.parametrize(("condition", "now_ms", "kind", "pause_s"), CLOCK.values(), ids=CLOCK)
def test_the_deadline_counts_for_what_is_not_reached(condition, now_ms, kind, pause_s):
    step = Waiting("here", condition, deadline_ms=DEADLINE_MS).step(stands(5), now_ms)
    assert type(step) is kind
    assert pause_s is None or step.pause_s == pytest.approx(pause_s)


@given(st.floats(0.9, 1.1), st.integers(0, 10**7), st.booleans())
def test_no_pause_goes_past_the_deadline(spread, left_ms, answered):
    waiting = Waiting("here", BatchCommitted(9), spread=spread, deadline_ms=NOW_MS + left_ms)
    step = waiting.step(stands(5), NOW_MS) if answered else waiting.unanswered(AWAY, NOW_MS)
    assert 0 <= step.pause_s * 1000 <= left_ms + 1e-6
    assert isinstance(step, TimedOut) is (left_ms == 0)


def test_how_a_wait_ended():
    waiting = Waiting("here", all_of(BatchCommitted(5), BatchCommitted(4)), deadline_ms=NOW_MS)
    begins = {"batch_id": 4, "watermark_ms": None, "query_id": "one"}
    timed_out = waiting.step(stands(4), NOW_MS)
    assert outcome("timeout", timed_out.progress) == {"status": "timeout", **begins, "met": []}
    assert timed_out.text == "committed batch 4, waiting for batch 5"
    reached = waiting.step(stands(4, 5), NOW_MS)
    ended = outcome("reached", reached.progress, reached.condition)
    assert ended == {"status": "reached", **begins, "batch_id": 5, "met": ["batch", "batch"]}


# --- who does not answer ---------------------------------------------------------------------------------------------


def test_a_storage_that_does_not_answer_is_asked_again_until_the_deadline():
    waiting = Waiting("here", BatchCommitted(5), deadline_ms=DEADLINE_MS)
    step = waiting.unanswered(AWAY, NOW_MS)
    assert type(step) is Pending and step.unanswered is AWAY and step.pause_s == 30 and "does not answer" in step.text
    assert waiting.start is None, "the wait begins with the first poll that brings something"
    assert type(waiting.step(stands(4), NOW_MS)) is Pending
    last = waiting.unanswered(AWAY, DEADLINE_MS)
    assert type(last) is TimedOut and last.unanswered is AWAY
    assert last.progress.batch_id == 4, "where the query stood when it was last seen"


@pytest.mark.parametrize("condition", [SourceEndReached(), LagAtMost(lag_ms=0)])
def test_a_source_that_does_not_answer_is_asked_again(condition):
    ends = Ends(5, away=True)
    waiting = Waiting("here", condition, ends=ends)
    assert waiting.step(stands(5), NOW_MS).unanswered is AWAY
    ends.away = False
    assert type(waiting.step(stands(5), NOW_MS)) is Reached


def test_the_end_of_now_is_taken_once_and_a_lag_at_each_poll():
    for condition, last in ((SourceEndReached(), Reached), (LagAtMost(lag_ms=0), Pending)):
        ends = Ends(5)
        waiting = Waiting("here", condition, ends=ends)
        assert type(waiting.step(stands(4), NOW_MS)) is Pending
        ends.batch_id = 6
        assert type(waiting.step(stands(4, 5), NOW_MS)) is last


@pytest.mark.parametrize("start", [None, Start("one", 5, 5)], ids=["new", "taken up"])
@pytest.mark.parametrize(
    "condition", [SourceEndReached(), LagAtMost(lag_ms=0), all_of(BatchCommitted(1), SourceEndReached())]
)
def test_ends_that_nobody_declared_are_refused_before_the_first_poll(condition, start):
    with pytest.raises(CheckpointError, match="no source was declared.*0=kafka"):
        Waiting("here", condition, start)


def test_what_does_not_fit_the_query_is_refused_at_the_first_poll(golden_progress):
    with pytest.raises(CheckpointError, match="no source '7'"):
        Waiting("here", OffsetsReached({"7": "5"})).step(golden_progress, NOW_MS)


# --- doubts ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def golden_progress(tmp_path) -> Progress:
    """Two batches of a query without a watermark."""
    from airflow_provider_ckpt import codec

    entry = codec.decode("offsets/1", b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":5,"conf":{}}\n5')
    return replace(stands(0, 1), offsets=entry)


def test_a_doubt_is_said_once(golden_progress):
    waiting = Waiting("here", WatermarkPassed(5))
    (warning,) = waiting.step(golden_progress, NOW_MS).warnings
    assert "has no watermark" in warning
    assert waiting.step(golden_progress, NOW_MS).warnings == ()


def test_why_there_is_no_checkpoint_is_asked_for_once_and_only_while_there_is_none():
    asked = []
    waiting = Waiting("here", BatchCommitted(0), why_absent=lambda: asked.append(1) or "It is not there.")
    assert waiting.step(NOTHING, NOW_MS).warnings == ("It is not there.",)
    assert waiting.step(NOTHING, NOW_MS).warnings == ()
    assert len(asked) == 1
    Waiting("here", BatchCommitted(9), why_absent=lambda: asked.append(1)).step(stands(5), NOW_MS)
    assert len(asked) == 1


@pytest.mark.parametrize(("fail_fast", "last"), [(False, Pending), (True, Lost)])
def test_a_doubt_that_could_not_be_asked_about_is_asked_about_again(fail_fast, last):
    answers = [AWAY, "It is not there."]

    def why_absent():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    waiting = Waiting("here", BatchCommitted(0), fail_fast=fail_fast, why_absent=why_absent)
    assert waiting.step(NOTHING, NOW_MS).unanswered is AWAY
    step = waiting.step(NOTHING, NOW_MS)
    assert type(step) is last
    assert "It is not there." in (str(step.error) if isinstance(step, Lost) else step.warnings)


@pytest.mark.parametrize(("condition", "first"), [(WatermarkPassed(5), None), (BatchCommitted(9), NOTHING)])
def test_with_fail_fast_what_will_not_be_met_is_lost(condition, first, golden_progress):
    waiting = Waiting("here", condition, fail_fast=True, why_absent=lambda: "It is not there.")
    step = waiting.step(first or golden_progress, NOW_MS)
    assert type(step) is Lost and "will not be met in the present state of the checkpoint" in str(step.error)


# --- another process takes it up -------------------------------------------------------------------------------------


def test_a_wait_that_has_begun_goes_through_json():
    waiting = Waiting("s3://lake/orders", all_of(NextBatch(), SourceEndReached(), LagAtMost(lag_ms=7)), ends=Ends(5))
    assert type(waiting.step(stands(4), NOW_MS)) is Pending
    condition, start = read_wait(json.loads(json.dumps(waiting.to_dict())))
    assert condition == all_of(NextBatch(NOW_MS), BatchCommitted(5), LagAtMost(lag_ms=7)) == waiting.condition
    assert start == Start("one", 4, 4) == waiting.start


#: As they were written before there was one state machine; Airflow keeps them over an upgrade.
WRITTEN = {
    "a batch": (
        '{"location": "/c", "target": {"target": "batch", "batch_id": 9}, '
        '"start": {"query_id": "one", "batch_id": 5, "committed_at_ms": 5}}',
        BatchCommitted(9),
    ),
    "a next batch": (
        '{"location": "/c", "target": {"target": "next_batch", "after_ms": 7}, '
        '"start": {"query_id": null, "batch_id": null, "committed_at_ms": null}}',
        NextBatch(7),
    ),
    "several": (
        '{"location": "/c", "target": {"target": "all_of", "targets": [{"target": "offsets", "offsets": {"0": "5"}, '
        '"kinds": {"0": "kafka"}, "slack": 0}, {"target": "caught_up", "lag_ms": 5, "lag_units": null}]}, '
        '"start": {"query_id": "one", "batch_id": 5, "committed_at_ms": 5}}',
        all_of(OffsetsReached({"0": "5"}, {"0": "kafka"}), LagAtMost(lag_ms=5)),
    ),
}
DAMAGED = {
    "nothing": ("{}", "does not have a condition and a start"),
    "no object": ("5", "does not have a condition and a start"),
    "no start": ('{"condition": {"condition": "batch", "batch_id": 9}}', "does not have a condition and a start"),
    "another start": (
        '{"condition": {"condition": "batch", "batch_id": 9}, "start": {"batch": 5}}',
        "not the start of a wait",
    ),
    "a condition of a later version": ('{"condition": {"condition": "moon"}, "start": {}}', "not a condition"),
}


@pytest.mark.parametrize(("text", "condition"), WRITTEN.values(), ids=WRITTEN)
def test_what_was_written_before_is_still_read(text, condition):
    assert read_wait(json.loads(text))[0] == condition


@pytest.mark.parametrize(("text", "problem"), DAMAGED.values(), ids=DAMAGED)
def test_what_cannot_be_read_is_refused(text, problem):
    with pytest.raises(CheckpointError, match=problem):
        read_wait(json.loads(text))
