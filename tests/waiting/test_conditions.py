"""Each condition as a specification: when it holds, what it says, and what is left."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.errors import CheckpointError, MalformedEntryError
from airflow_provider_ckpt.waiting import (
    AllOf,
    AnyOf,
    BatchCommitted,
    Condition,
    FilesRead,
    FilesWritten,
    Idle,
    LagAtMost,
    Needs,
    NextBatch,
    OffsetsReached,
    SnapshotReached,
    SourceEndReached,
    Stalled,
    WatermarkPassed,
    is_relative,
)
from tests.waiting.at_noon import KAFKA, MINUTE_MS, NOON_MS, at, iceberg, kafka, stands

NOTHING = stands(None)
REACHED = {
    "the very batch": (BatchCommitted(5), stands(5), True),
    "a later batch": (BatchCommitted(5), stands(6), True),
    "an earlier batch": (BatchCommitted(5), stands(4), False),
    "no batch": (BatchCommitted(0), NOTHING, False),
    "a batch that began after": (NextBatch(NOON_MS), stands(began_ms=NOON_MS + 1), True),
    "a batch that began then": (NextBatch(NOON_MS), stands(began_ms=NOON_MS), False),
    "a next batch whose wait has not begun": (NextBatch(), stands(began_ms=NOON_MS + 1), False),
    "the very watermark": (WatermarkPassed(7), stands(watermark_ms=7), True),
    "a lower watermark": (WatermarkPassed(7), stands(watermark_ms=6), False),
    "no batch, no watermark": (WatermarkPassed(0), NOTHING, False),
    "every partition": (at(p0=5, p1=7), stands(5, kafka(p0=5, p1=9)), True),
    "one partition short": (at(p0=5, p1=7), stands(5, kafka(p0=99, p1=6)), False),
    "a partition that is not read yet": (at(p0=5, p1=0), stands(5, kafka(p0=9)), False),
    "partitions that were not asked for": (at(p0=5), stands(5, kafka(p0=5, p1=0)), True),
    "a source that has read nothing": (at(p0=0), stands(5, None), False),
    "short within the slack": (replace(at(p0=5, p1=7), slack=2), stands(5, kafka(p0=4, p1=6)), True),
    "short beyond the slack": (replace(at(p0=5, p1=7), slack=2), stands(5, kafka(p0=4, p1=5)), False),
    "one partition ahead does not make up for another": (
        replace(at(p0=5, p1=7), slack=2),
        stands(5, kafka(p0=99, p1=4)),
        False,
    ),
    "equal offsets of a source without order": (
        OffsetsReached({"0": json.dumps(iceberg(5, 1))}, {"0": "iceberg"}),
        stands(5, iceberg(5, 1)),
        True,
    ),
    "an ancestor": (SnapshotReached("0", 9, 2, (4, 5)), stands(5, iceberg(5, 8)), False),
    "the snapshot in part": (SnapshotReached("0", 9, 2, (4, 5)), stands(5, iceberg(9, 1)), False),
    "the whole snapshot": (SnapshotReached("0", 9, 2, (4, 5)), stands(5, iceberg(9, 2)), True),
    "a later snapshot": (SnapshotReached("0", 9, 2, (4, 5)), stands(5, iceberg(1, 0)), True),
    "no snapshot": (SnapshotReached("0", 9, 2), stands(5, iceberg(-1, 0)), False),
    "no offset of a source that reads snapshots": (SnapshotReached("0", 9, 2), stands(5, None), False),
    "no batch, no snapshot": (SnapshotReached("0", 9, 2), NOTHING, False),
    "no batch, no offsets": (at(p0=0), NOTHING, False),
    "no batch, no offsets, whatever the slack": (replace(at(p0=0), slack=9), NOTHING, False),
    "a source that has read nothing, whatever the slack": (replace(at(p0=0), slack=9), stands(5, None), False),
    "all files": (FilesRead("0", 0), NOTHING, True),
    "all files but one": (FilesRead("0", 1), NOTHING, False),
    "quiet for so long": (Idle(MINUTE_MS), stands(5, quiet_ms=MINUTE_MS, planned=5), True),
    "quiet, not long": (Idle(MINUTE_MS), stands(5, quiet_ms=MINUTE_MS - 1, planned=5), False),
    "quiet with a batch under way": (Idle(MINUTE_MS), stands(5, quiet_ms=MINUTE_MS, planned=6), False),
    "never begun is not idle": (Idle(0), NOTHING, False),
    "stalled with a batch under way": (Stalled(MINUTE_MS), stands(5, quiet_ms=MINUTE_MS, planned=6), True),
    "not stalled yet": (Stalled(MINUTE_MS), stands(5, quiet_ms=MINUTE_MS - 1), False),
    "stalled before the first commit": (Stalled(MINUTE_MS, since_ms=NOON_MS - MINUTE_MS), NOTHING, True),
    "time since the last commit, not since the wait": (Stalled(MINUTE_MS, since_ms=0), stands(5), False),
    "one of two": (AllOf((BatchCommitted(5), WatermarkPassed(7))), stands(5), False),
    "both": (AllOf((BatchCommitted(5), WatermarkPassed(7))), stands(5, watermark_ms=7), True),
    "either": (AnyOf((BatchCommitted(5), WatermarkPassed(7))), stands(5), True),
    "neither": (AnyOf((BatchCommitted(6), WatermarkPassed(7))), stands(5), False),
    "an end that is not known": (SourceEndReached(), stands(), False),
    "a lag that was not asked for": (LagAtMost(lag_ms=0), stands(), False),
    "a directory that was not read": (FilesWritten("0", 0), stands(), False),
}


@pytest.mark.parametrize(("condition", "progress", "reached"), REACHED.values(), ids=REACHED)
def test_when_a_condition_is_reached(condition, progress, reached):
    assert condition.reached(progress) is reached
    assert condition.explain(progress)
    if reached:
        assert condition.met(progress)
        assert condition.remaining(progress) in (None, 0) or condition.slack


EXPLAINED = {
    "committed batch 5, waiting for batch 7": (BatchCommitted(7), stands(5)),
    "committed batch none, waiting for batch 7": (BatchCommitted(7), NOTHING),
    "committed batch 5, waiting for one that began after 2026-01-01T12:00:00.000Z": (NextBatch(NOON_MS), stands(5)),
    "committed batch 5 with the watermark none, waiting for 2026-01-01T12:00:00.000Z": (
        WatermarkPassed(NOON_MS),
        replace(stands(5), offsets=None),
    ),
    'committed batch 5, waiting for source 0 to go from {"events": {"0": 4}} to {"events": {"0": 5}}': (
        at(p0=5),
        stands(5, kafka(p0=4)),
    ),
    "batch 5 was committed 90 s ago, batch 6 is in flight, waiting for 3 min without a commit": (
        Idle(3 * MINUTE_MS),
        stands(5, quiet_ms=90_000, planned=6),
    ),
    "batch 5 was committed 90 s ago, it counts as stalled after 3 min": (
        Stalled(3 * MINUTE_MS),
        stands(5, quiet_ms=90_000),
    ),
    "source 0 still has to read 1,200 files, such as f": (FilesRead("0", 1200, "f"), NOTHING),
    "committed batch 5, source 0 at file 1 of snapshot 4, waiting for file 2 of snapshot 9": (
        SnapshotReached("0", 9, 2),
        stands(5, iceberg(4, 1)),
    ),
    "waiting for a lag of at most 5 min": (LagAtMost(lag_ms=5 * MINUTE_MS), NOTHING),
    "waiting for a lag of at most 1,000 units": (LagAtMost(lag_units=1000), NOTHING),
    "waiting for all that was written until now": (SourceEndReached(), NOTHING),
    "committed batch 5, source 0 at nowhere, waiting for file 2 of snapshot 9": (
        SnapshotReached("0", 9, 2),
        stands(5, None),
    ),
    "no batch is committed, it counts as stalled after 3 min": (Stalled(3 * MINUTE_MS), NOTHING),
    "no batch is committed": (Idle(MINUTE_MS), NOTHING),
    "waiting for source 0 to read the files of 2026-01-01T12:00:00.000Z": (FilesWritten("0", NOON_MS), NOTHING),
}


@pytest.mark.parametrize(("text", "case"), EXPLAINED.items())
def test_a_condition_says_where_the_query_stands(text, case):
    condition, progress = case
    assert condition.explain(progress) == text


REFUSED = {
    "a source that the query does not have": (OffsetsReached({"7": "5"}), "no source '7'; its sources are 0"),
    "a source without a type": (OffsetsReached({"0": "5"}), "type is not known.*0=kafka"),
    "a type that is unknown": (OffsetsReached({"0": "5"}, {"0": "carrier pigeon"}), "unknown source type"),
    "an offset of another kind": (OffsetsReached({"0": "5"}, KAFKA), "not an offset of the source type kafka"),
    "positions without order": (OffsetsReached({"0": json.dumps(iceberg(5, 1))}, {"0": "iceberg"}), "ordered"),
}


@pytest.mark.parametrize(("condition", "problem"), REFUSED.values(), ids=REFUSED)
def test_a_condition_that_does_not_fit_the_query_is_refused(condition, problem):
    offset = iceberg(4, 1) if "ordered" in problem else kafka(p0=4)
    with pytest.raises(CheckpointError, match=problem):
        condition.reached(stands(5, offset))


def test_a_snapshot_of_a_source_that_is_no_iceberg_is_refused():
    with pytest.raises(MalformedEntryError):
        SnapshotReached("0", 9, 2).reached(stands(5, kafka(p0=1)))


def test_a_log_without_times_has_no_next_batch():
    old = replace(stands(5), offsets=codec.decode("offsets/0", b"v1\n\n5"))
    with pytest.raises(CheckpointError, match="does not say when a batch began"):
        NextBatch(1).reached(old)


@pytest.mark.parametrize("condition", [Idle(5), Stalled(5)])
def test_a_storage_without_times_cannot_tell_quiet(condition):
    timeless = replace(stands(5, planned=5), commits={5: None})
    with pytest.raises(CheckpointError, match="does not say when batch 5 was committed"):
        condition.reached(timeless)


def test_what_a_poll_has_to_bring():
    assert BatchCommitted(5).needs == Needs()
    assert WatermarkPassed(5).needs == Needs(offsets=True)
    assert Idle(5).needs == Needs(planned_after_ms=5)
    both = AllOf((Idle(5), AnyOf((Idle(3), WatermarkPassed(5)))))
    assert both.needs == Needs(offsets=True, planned_after_ms=3), "the earlier of two"


# --- doubts ----------------------------------------------------------------------------------------------------------

#: A query that commits every five minutes.
SLOW = replace(stands(5, planned=5), commits={4: NOON_MS - 5 * MINUTE_MS, 5: NOON_MS})
DOUBTED: dict[str, tuple[Condition, Progress, str | None]] = {
    "no watermark after two batches": (WatermarkPassed(7), stands(1), "The query has no watermark up to batch 1"),
    "no watermark in the first batch": (WatermarkPassed(7), stands(0), None),
    "a watermark": (WatermarkPassed(7), stands(1, watermark_ms=6), None),
    "a watermark that was not read": (WatermarkPassed(7), replace(stands(1), offsets=None), None),
    "idle for less than between two batches": (
        Idle(MINUTE_MS),
        SLOW,
        "commits about every 5 min, so 60 s .*it is idle",
    ),
    "idle for more": (Idle(6 * MINUTE_MS), SLOW, None),
    "a stall of less than between two batches": (Stalled(MINUTE_MS), SLOW, "so 60 s .* it is stalled"),
    "one commit has no rhythm": (Stalled(MINUTE_MS), stands(5), None),
    "a partition that is not read": (at(p0=9, p1=1), stands(5, kafka(p0=5)), "Source 0 has not read events-1; check"),
    "partitions that are not read": (at(p1=1, p2=1), stands(5, kafka(p0=5)), "has not read events-1 and 1 more; check"),
    "partitions that are read": (at(p0=9), stands(5, kafka(p0=5)), None),
    "a source that has read nothing": (at(p0=9), stands(5, None), None),
    "no batch": (at(p0=9), NOTHING, None),
    "what is reached": (at(p0=5), stands(5, kafka(p0=5)), None),
    "one of several": (AllOf((BatchCommitted(9), WatermarkPassed(7))), stands(1), "no watermark"),
}


@pytest.mark.parametrize(("condition", "progress", "doubt"), DOUBTED.values(), ids=DOUBTED)
def test_what_speaks_against_waiting(condition, progress, doubt):
    doubts = condition.doubts(progress)
    assert len(doubts) == (0 if doubt is None else 1)
    for text in doubts:
        assert re.search(doubt, text)


NEVER, MAYBE = WatermarkPassed(7), BatchCommitted(9)


@pytest.mark.parametrize(
    ("condition", "progress", "hopeless"),
    [
        (NEVER, stands(1), True),
        (MAYBE, stands(1), False),
        (AllOf((NEVER, MAYBE)), stands(1), True),
        (AllOf((MAYBE, MAYBE)), stands(1), False),
        (AnyOf((NEVER, MAYBE)), stands(1), False),
        (AnyOf((NEVER, NEVER)), stands(1), True),
        (AnyOf((NEVER, BatchCommitted(1))), stands(1), False),
        (Idle(MINUTE_MS), SLOW, False),
        (Stalled(MINUTE_MS), SLOW, False),
    ],
)
def test_a_wait_is_hopeless_when_the_query_cannot_get_there(condition, progress, hopeless):
    assert condition.is_hopeless(progress) is hopeless


def later(batch_id: int, *offsets: object, after_ms: int, **metadata: int) -> Progress:
    return stands(batch_id, *offsets, began_ms=NOON_MS + after_ms, **metadata)


TIMED = {
    "half of the way in a minute": (
        WatermarkPassed(30_000),
        stands(1, watermark_ms=10_000),
        later(2, after_ms=MINUTE_MS, watermark_ms=20_000),
        MINUTE_MS,
    ),
    "there": (WatermarkPassed(7), stands(1, watermark_ms=6), later(2, after_ms=1, watermark_ms=9), 0),
    "no nearer": (WatermarkPassed(9), stands(1, watermark_ms=6), later(2, after_ms=1, watermark_ms=6), None),
    "no time between": (WatermarkPassed(9), stands(1, watermark_ms=6), stands(2, watermark_ms=7), None),
    "nothing to measure": (NextBatch(NOON_MS), stands(1), later(2, after_ms=1), None),
    "two thirds of the records": (
        at(p0=30),
        stands(1, kafka(p0=0)),
        later(2, kafka(p0=20), after_ms=MINUTE_MS),
        30_000,
    ),
    "no offsets": (at(p0=30), NOTHING, NOTHING, None),
    "a source that has read nothing": (at(p0=30), stands(1, None), later(2, None, after_ms=1), None),
    "idle": (Idle(MINUTE_MS), NOTHING, stands(5, quiet_ms=20_000), 40_000),
    "idle long enough": (Idle(MINUTE_MS), NOTHING, stands(5, quiet_ms=2 * MINUTE_MS), 0),
    "idle without a batch": (Idle(MINUTE_MS), NOTHING, NOTHING, None),
    "stalled": (Stalled(MINUTE_MS), NOTHING, stands(5, quiet_ms=20_000), 40_000),
    "stalled without a batch": (Stalled(MINUTE_MS, since_ms=NOON_MS - 20_000), NOTHING, NOTHING, 40_000),
    "stalled in a wait that has not begun": (Stalled(MINUTE_MS), NOTHING, NOTHING, MINUTE_MS),
}


@pytest.mark.parametrize(("condition", "earlier", "latest", "left_ms"), TIMED.values(), ids=TIMED)
def test_the_time_until_a_condition_is_reached_at_the_rate_between_two_polls(condition, earlier, latest, left_ms):
    assert condition.eta_ms(earlier, latest) == left_ms


# --- now -------------------------------------------------------------------------------------------------------------


def test_now_becomes_a_time_once():
    for condition, begun in {
        NextBatch(): NextBatch(5),
        Stalled(9): Stalled(9, since_ms=5),
        AllOf((NextBatch(), BatchCommitted(1))): AllOf((NextBatch(5), BatchCommitted(1))),
        BatchCommitted(1): BatchCommitted(1),
    }.items():
        assert condition.resolved(5) == begun
        assert begun.resolved(6) == begun, "a wait that is taken up again waits for the same thing"


@pytest.mark.parametrize(
    ("condition", "now"),
    [
        (NextBatch(), True),
        (NextBatch(5), False),
        (SourceEndReached(), True),
        (SourceEndReached(5), False),
        (BatchCommitted(5), False),
        (AnyOf((BatchCommitted(5), AllOf((SourceEndReached(), BatchCommitted(1))))), True),
    ],
)
def test_which_conditions_mean_now(condition, now):
    assert is_relative(condition.to_dict()) is now


class Ends:
    """Says what it was asked."""

    def end_at(self, at_ms, progress, *, slack=0):
        return AllOf((FilesWritten("0", at_ms or 0), replace(at(p0=5), slack=slack)))

    def files_at(self, source_id, at_ms, progress):
        return FilesRead(source_id, at_ms)


def test_the_end_is_taken_once_and_the_directory_is_read_again():
    bound = AnyOf((SourceEndReached(7), BatchCommitted(9))).bound(Ends(), NOTHING)
    assert bound == AnyOf((AllOf((FilesWritten("0", 7), at(p0=5))), BatchCommitted(9)))
    assert bound.asks_ends, "for the directory"
    assert bound.at_poll(Ends(), NOTHING) == AnyOf((AllOf((FilesRead("0", 7), at(p0=5))), BatchCommitted(9)))


def test_a_lag_is_asked_for_at_every_poll():
    by_time = LagAtMost(lag_ms=1_000).at_poll(Ends(), NOTHING)
    assert by_time == AllOf((FilesRead("0", NOON_MS - 1_000), at(p0=5)))
    by_count = LagAtMost(lag_units=3).at_poll(Ends(), NOTHING)
    assert by_count == AllOf((FilesRead("0", 0), replace(at(p0=5), slack=3)))
