"""How long it takes and when to look again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.progress import Progress
from airflow_provider_ckpt.waiting import BatchCommitted, NextBatch, Stalled
from airflow_provider_ckpt.waiting.pace import STRETCH, eta_text, pause_s, until_next_commit_ms

INTERVAL_S = 60.0


def stands(newest: int, *, every_s: float, quiet_s: float, kept: int = 10) -> Progress:
    """A query that has committed a batch every so often, the newest so long ago."""
    now_ms = 10**12
    times = {newest - back: int(now_ms - (quiet_s + back * every_s) * 1000) for back in range(kept)}
    return Progress(newest, commits=times, looked_at_ms=now_ms)


def earlier(latest: Progress, batches: int) -> Progress:
    return Progress(latest.batch_id - batches, commits=latest.commits, looked_at_ms=latest.looked_at_ms)


PAUSES = {
    "the target is two batches away": (BatchCommitted(102), 20, 0, 40),
    "the target is near, a quarter of the interval": (BatchCommitted(101), 4, 0, 15),
    "the target is far, four times the interval": (BatchCommitted(999), 20, 0, 240),
    "until the next commit, when nothing else is known": (NextBatch(5), 90, 20, 70),
    "until the next commit, which is due now": (NextBatch(5), 90, 90, 15),
    "a commit is overdue: as long as it is quiet, by half": (NextBatch(5), 20, 100, 50),
    "a query that is dead is looked at four times less often": (BatchCommitted(101), 5, 100_000, 240),
    "a stall has to be seen when it comes": (Stalled(100_000), 30, 0, 100),
}


@pytest.mark.parametrize(("target", "every_s", "quiet_s", "pause"), PAUSES.values(), ids=PAUSES)
def test_the_pause_follows_the_stream(target, every_s, quiet_s, pause):
    progress = stands(100, every_s=every_s, quiet_s=quiet_s)
    assert pause_s(INTERVAL_S, target, progress, earlier(progress, 9)) == pytest.approx(pause)


def test_without_a_rhythm_it_is_the_interval():
    for progress in (Progress(None), Progress(5, commits={5: None}, looked_at_ms=1), Progress(5, commits={5: 1})):
        assert until_next_commit_ms(progress) is None
        assert pause_s(INTERVAL_S, NextBatch(5), progress, None) == INTERVAL_S


@given(
    st.floats(0.05, 3600),
    st.integers(0, 10**6),
    st.floats(0, 10**5),
    st.floats(0, 10**6),
    st.integers(1, 30),
    st.booleans(),
)
def test_the_pause_stays_within_its_bounds(interval_s, batch_id, every_s, quiet_s, kept, has_rate):
    progress = stands(100, every_s=every_s, quiet_s=quiet_s, kept=kept)
    before = earlier(progress, kept - 1) if has_rate and kept > 1 else None
    pause = pause_s(interval_s, BatchCommitted(batch_id), progress, before)
    assert interval_s / STRETCH <= pause <= interval_s * STRETCH


def test_the_time_that_is_left_is_said_while_the_query_keeps_its_rhythm():
    lively = stands(100, every_s=60, quiet_s=30)
    assert eta_text(BatchCommitted(110), lively, earlier(lively, 9)) == ", about 10 min left"
    assert eta_text(BatchCommitted(110), lively, None) == ""
    late = stands(100, every_s=60, quiet_s=60 * STRETCH + 1)
    assert eta_text(BatchCommitted(110), late, earlier(late, 9)) == ""
    assert eta_text(NextBatch(5), lively, earlier(lively, 9)) == ""
