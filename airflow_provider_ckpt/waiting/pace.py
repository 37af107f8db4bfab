"""How long it still takes, and when to look again."""

from __future__ import annotations

from airflow_provider_ckpt.progress import Progress
from airflow_provider_ckpt.times import duration_text
from airflow_provider_ckpt.waiting.targets import Target

#: A pause is between the interval over this and the interval times this.
STRETCH = 4


def pause_s(interval_s: float, target: Target, progress: Progress, earlier: Progress | None) -> float:
    """Seconds until the next look: fewer when the target is near, more when the query is slow.

    Args:
        interval_s: What the user asked for, seconds; the pause is between a quarter of it and four times it.
        target: What is waited for.
        progress: What the last look showed.
        earlier: An older batch, to take the rate from.
    """
    eta_ms = target.eta_ms(earlier, progress) if earlier is not None and not _is_late(progress) else None
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


def eta_text(target: Target, progress: Progress, earlier: Progress | None) -> str:
    """The time that is left at the rate of the last batches, for people; empty when there is no telling."""
    if earlier is None or _is_late(progress):
        return ""
    eta_ms = target.eta_ms(earlier, progress)
    return "" if eta_ms is None else f", about {duration_text(eta_ms)} left"


def _is_late(progress: Progress) -> bool:
    """Whether a query has left its rhythm: then its rate says nothing of the time that is left."""
    gap_ms = progress.gap_ms
    return gap_ms is not None and progress.committed_at_ms is not None and progress.quiet_ms > STRETCH * gap_ms
