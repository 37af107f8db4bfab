"""When a query has no commit for much longer than its own rhythm."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.fleet.rhythm import stalled_ms

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
EACH_MINUTE = [number * MINUTE_MS for number in range(100)]
DAILY = [day * DAY_MS + number * MINUTE_MS for day in range(4) for number in range(5)]


@pytest.mark.parametrize(
    ("commits", "age_ms", "is_stalled"),
    [
        (EACH_MINUTE, 19 * MINUTE_MS, False),
        (EACH_MINUTE, 21 * MINUTE_MS, True),
        (EACH_MINUTE, 5 * DAY_MS, True),
        ([number * 1_000 for number in range(100)], 4 * MINUTE_MS, False),
        ([number * 1_000 for number in range(100)], 6 * MINUTE_MS, True),
        (DAILY, 2 * DAY_MS, False),
        (DAILY, 4 * DAY_MS, True),
        ([*EACH_MINUTE, EACH_MINUTE[-1] + 10 * HOUR_MS], 29 * HOUR_MS, False),
        ([*EACH_MINUTE, EACH_MINUTE[-1] + 10 * HOUR_MS], 31 * HOUR_MS, True),
        ([0, MINUTE_MS, 2 * MINUTE_MS], 5 * DAY_MS, False),
        ([5, 5, 5, 5, 5], 5 * DAY_MS, False),
        ([], 0, False),
    ],
    ids=["in time", "late", "days", "of seconds", "of seconds, late", "each day", "each day, late", "one long pause", "longer", "too few", "copied", "none"],
)  # fmt: skip
def test_it_is_stalled_by_its_own_pauses(commits, age_ms, is_stalled):
    now_ms = max(commits, default=0) + age_ms
    assert stalled_ms(reversed(commits), now_ms) == (age_ms if is_stalled else None)
