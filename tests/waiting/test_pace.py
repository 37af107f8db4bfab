"""How long it takes and when to poll again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.waiting import BatchCommitted, NextBatch, Stalled
from airflow_provider_ckpt.waiting.pace import STRETCH, eta_text, pause_s, until_next_commit_ms

INTERVAL_S = 60.0


def stands(newest: int, *, every_s: float, quiet_s: float, kept: int = 10, back: int | None = None) -> Progress:
    """A query that commits a batch every so often, the newest so long ago, and its rate over ``back`` batches."""
    now_ms = 10**12
    times = {newest - back: int(now_ms - (quiet_s + back * every_s) * 1000) for back in range(kept)}
    latest = Progress(newest, commits=times, polled_at_ms=now_ms)
    return latest if back is None else replace(latest, earlier=replace(latest, batch_id=newest - back))


PAUSES = {
    "the condition is two batches away": (BatchCommitted(102), 20, 0, 40),
    "the condition is near, a quarter of the interval": (BatchCommitted(101), 4, 0, 15),
    "the condition is far, four times the interval": (BatchCommitted(999), 20, 0, 240),
    "until the next commit, when nothing else is known": (NextBatch(5), 90, 20, 70),
    "until the next commit, which is due now": (NextBatch(5), 90, 90, 15),
    "a commit is overdue: as long as it is quiet, by half": (NextBatch(5), 20, 100, 50),
    "a query that is dead is looked at four times less often": (BatchCommitted(101), 5, 100_000, 240),
    "a stall has to be seen when it comes": (Stalled(100_000), 30, 0, 100),
}


@pytest.mark.parametrize(("condition", "every_s", "quiet_s", "pause"), PAUSES.values(), ids=PAUSES)
def test_the_pause_follows_the_stream(condition, every_s, quiet_s, pause):
    progress = stands(100, every_s=every_s, quiet_s=quiet_s, back=9)
    assert pause_s(INTERVAL_S, condition, progress) == pytest.approx(pause)


def test_without_a_rhythm_it_is_the_interval():
    for progress in (Progress(None), Progress(5, commits={5: None}, polled_at_ms=1), Progress(5, commits={5: 1})):
        assert until_next_commit_ms(progress) is None
        assert pause_s(INTERVAL_S, NextBatch(5), progress) == INTERVAL_S


@given(
    st.floats(0.05, 3600),
    st.integers(0, 10**6),
    st.floats(0, 10**5),
    st.floats(0, 10**6),
    st.integers(1, 30),
    st.booleans(),
)
def test_the_pause_stays_within_its_bounds(interval_s, batch_id, every_s, quiet_s, kept, has_rate):
    back = kept - 1 if has_rate and kept > 1 else None
    progress = stands(100, every_s=every_s, quiet_s=quiet_s, kept=kept, back=back)
    pause = pause_s(interval_s, BatchCommitted(batch_id), progress)
    assert interval_s / STRETCH <= pause <= interval_s * STRETCH


def test_the_time_that_is_left_is_said_while_the_query_keeps_its_rhythm():
    lively = stands(100, every_s=60, quiet_s=30, back=9)
    assert eta_text(BatchCommitted(110), lively) == ", about 10 min left"
    assert eta_text(BatchCommitted(110), replace(lively, earlier=None)) == ""
    late = stands(100, every_s=60, quiet_s=60 * STRETCH + 1, back=9)
    assert eta_text(BatchCommitted(110), late) == ""
    assert eta_text(NextBatch(5), lively) == ""
