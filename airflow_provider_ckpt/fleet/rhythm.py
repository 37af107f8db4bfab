"""Tells a stalled query by its own rhythm: the times between batches in its commit log."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

#: A query is stalled when it has no commit for so many times its longest pause, and its usual one.
OF_LONGEST, OF_USUAL = 3, 20
#: And for so long at least, milliseconds: short pauses are nobody's concern.
LEAST_MS = 300_000
#: So many commits show a rhythm.
LEAST_COMMITS = 4


def stalled_ms(commits_ms: Iterable[int], now_ms: int) -> int | None:
    """Time without a commit of a query, where that is much longer than its rhythm.

    Args:
        commits_ms: When each batch was committed, epoch milliseconds.
        now_ms: Now, by the same clock.

    Returns:
        Milliseconds; None where it is not stalled, or its commits show no rhythm. A query without new data commits
        nothing either, and neither does one that runs once a day and keeps the commits of its last run alone.
    """
    times = sorted(commits_ms)
    if len(times) < LEAST_COMMITS or times[0] == times[-1]:
        return None
    pauses = sorted(later - earlier for earlier, later in pairwise(times))
    age_ms = now_ms - times[-1]
    limit_ms = max(LEAST_MS, OF_LONGEST * pauses[-1], OF_USUAL * pauses[len(pauses) // 2])
    return age_ms if age_ms > limit_ms else None
