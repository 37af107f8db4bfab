"""The way of a query to what is waited for: what the line of a wait says, and when waiting is of no use any more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.errors import WaitLostError
from airflow_provider_ckpt.waiting import BatchCommitted, Needs
from airflow_provider_ckpt.waiting.foreseen import ENDED_MS, NOTHING, Foreseen
from airflow_provider_ckpt.waiting.wait import Lost, Pending, Waiting
from airflow_provider_ckpt.waiting.wait_start import Start

COMMITTED_MS = 1_767_225_600_000
#: A query that commits a batch every ten seconds, and has done so long enough ago to count as ended.
QUIET = Progress(
    7,
    planned=7,
    commits={6: COMMITTED_MS - 10_000, 7: COMMITTED_MS},
    polled_at_ms=COMMITTED_MS + ENDED_MS,
)
TAIL = "With availableNow and minOffsetsPerTrigger=20 the query ends with at most 5 offsets of source 0 unread."


@pytest.mark.parametrize(
    ("foreseen", "has_rate", "text"),
    [
        (NOTHING, True, ""),
        (NOTHING, False, ""),
        (Foreseen(1, 2, 1), True, "; at least 1 batches, at most 2"),
        (Foreseen(1, 1, 1), True, "; at least 1 batch"),
        (Foreseen(1), True, "; at least 1 batch"),
        (Foreseen(3, 1_000, 4), True, "; at least 3 batches, at most 1,000, 4 if nothing more is written"),
        (Foreseen(3, 9, 3), False, "; at least 3 batches, at most 9; time about 10 s for each by the last batches"),
        (Foreseen(1, held="It waits."), True, "; at least 1 batch. It waits"),
        (Foreseen(problem=TAIL), False, f". {TAIL.rstrip('.')}"),
    ],
)
def test_the_line_of_a_wait_says_how_many_batches_are_left(foreseen, has_rate, text):
    assert foreseen.text(QUIET, has_rate=has_rate) == text


def test_a_time_that_nobody_knows_is_said_to_be_unknown():
    assert Foreseen(3).text(Progress(None), has_rate=False) == "; at least 3 batches; time unknown"


ENDS = Foreseen(problem=TAIL, ends_itself=True)
BEFORE = Start("id", 5)


@pytest.mark.parametrize(
    ("foreseen", "start", "progress", "is_over"),
    [
        pytest.param(ENDS, BEFORE, QUIET, True, id="a run was seen, and has ended"),
        pytest.param(Foreseen(2, ends_itself=True), BEFORE, QUIET, True, id="whatever it leaves"),
        pytest.param(ENDS, Start("id", None), QUIET, True, id="its first run"),
        pytest.param(ENDS, Start("id", 7), QUIET, False, id="it has not run since"),
        pytest.param(replace(ENDS, ends_itself=False), BEFORE, QUIET, False, id="a query that goes on"),
        pytest.param(ENDS, BEFORE, replace(QUIET, planned=8), False, id="a batch is in flight"),
        pytest.param(ENDS, BEFORE, replace(QUIET, planned=None), False, id="nobody knows what is planned"),
        pytest.param(ENDS, BEFORE, replace(QUIET, polled_at_ms=COMMITTED_MS + ENDED_MS - 1), False, id="too early"),
        pytest.param(
            ENDS,
            BEFORE,
            replace(QUIET, commits={6: COMMITTED_MS - 10 * ENDED_MS, 7: COMMITTED_MS}),
            False,
            id="a slow query",
        ),
        pytest.param(ENDS, BEFORE, replace(QUIET, commits={7: None}), False, id="a storage without times"),
        pytest.param(ENDS, BEFORE, Progress(None), False, id="no batch"),
        pytest.param(replace(ENDS, is_final=True), Start("id", 7), QUIET, True, id="no start helps"),
    ],
)
def test_a_wait_is_over_when_a_run_was_seen_to_end(foreseen, start, progress, is_over):
    assert (foreseen.why_over(start, progress) is not None) == is_over


def waiting(foreseen: Foreseen, **more: object) -> tuple[Waiting, list[int | None]]:
    """A wait for batch 9 that began at batch 5, and the batches at which it has asked for the way."""
    asked: list[int | None] = []

    def foresee(condition: object, progress: Progress) -> Foreseen:
        asked.append(progress.batch_id)
        return foreseen

    return Waiting("/orders", BatchCommitted(9), BEFORE, foresee=foresee, **more), asked  # type: ignore[arg-type]


def test_a_wait_ends_with_the_reason_when_the_run_has_ended():
    wait, _ = waiting(ENDS)
    busy = replace(QUIET, planned=None, polled_at_ms=COMMITTED_MS)
    step = wait.step(busy, 0)
    assert isinstance(step, Pending) and TAIL.rstrip(".") in step.text
    assert step.warnings == (TAIL,)
    assert wait.step(busy, 0).warnings == (), "it is a warning once, and in every line"
    lost = wait.step(QUIET, 0)
    assert isinstance(lost, Lost) and isinstance(lost.error, WaitLostError)
    assert "has ended with batch 7" in str(lost.error) and TAIL.rstrip(".") in str(lost.error)


def test_with_fail_fast_a_problem_ends_it_at_once():
    wait, _ = waiting(Foreseen(problem=TAIL), fail_fast=True)
    lost = wait.step(replace(QUIET, polled_at_ms=COMMITTED_MS), 0)
    assert isinstance(lost, Lost) and TAIL in str(lost.error)


def test_the_sources_are_asked_again_when_a_batch_was_committed_and_at_no_other_poll():
    wait, asked = waiting(Foreseen(2))
    for batch_id in (6, 6, 7, 7, 8):
        wait.step(replace(QUIET, batch_id=batch_id, planned=batch_id, polled_at_ms=COMMITTED_MS), 0)
    assert asked == [6, 7, 8]


def test_a_poll_brings_what_is_planned_only_where_the_way_is_foreseen():
    assert Waiting("/orders", BatchCommitted(9)).needs == Needs()
    wait, _ = waiting(NOTHING)
    assert wait.needs == Needs(offsets=True, planned_after_ms=ENDED_MS)
    assert wait.asks_sources
