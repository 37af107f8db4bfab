"""How long it still takes, and when to poll again."""

from __future__ import annotations

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.times import duration_text
from airflow_provider_ckpt.waiting.conditions import Condition

#: A pause is between the interval over this and the interval times this.
STRETCH = 4


def pause_s(interval_s: float, condition: Condition, progress: Progress) -> float:
    """Seconds until the next poll: fewer when the condition is near, more when the query is slow.

    Args:
        interval_s: The requested interval, seconds; the pause is between a quarter of it and four times it.
        condition: The condition to wait for.
        progress: Result of the last poll.
    """
    eta_ms = _eta_ms(condition, progress)
    expected_ms = until_next_commit_ms(progress)
    if eta_ms is None:
        wanted_s = interval_s if expected_ms is None else expected_ms / 1000
    else:
        wanted_s = max(eta_ms, expected_ms or 0) / 1000
    return min(interval_s * STRETCH, max(interval_s / STRETCH, wanted_s))


def until_next_commit_ms(progress: Progress) -> float | None:
    """Milliseconds until the query commits again if it keeps its rhythm; once that is overdue, as long as it is quiet.

    None when the commit log does not show a rhythm.
    """
    gap_ms = progress.gap_ms
    if gap_ms is None or progress.committed_at_ms is None:
        return None
    return gap_ms - progress.quiet_ms if progress.quiet_ms <= gap_ms else progress.quiet_ms / 2


def eta_text(condition: Condition, progress: Progress) -> str:
    """The time that is left at the rate of the last batches, for people; empty when there is no telling."""
    eta_ms = _eta_ms(condition, progress)
    return "" if eta_ms is None else f", about {duration_text(eta_ms)} left"


def _eta_ms(condition: Condition, progress: Progress) -> float | None:
    """Milliseconds until the condition is reached; None for a query without a rate, or one that has left its rhythm."""
    gap_ms = progress.gap_ms
    is_late = gap_ms is not None and progress.committed_at_ms is not None and progress.quiet_ms > STRETCH * gap_ms
    return None if progress.earlier is None or is_late else condition.eta_ms(progress.earlier, progress)
