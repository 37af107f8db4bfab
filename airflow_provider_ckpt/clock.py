"""The clock of this machine."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


#: Clocks of two machines differ by so much, milliseconds, and nothing is wrong with either.
SKEW_MS = 60_000
#: Why an age is not known, where the time is later than that.
AHEAD = "the clock of the storage is ahead of this machine's"


def age_ms(at_ms: int, seen_ms: int) -> int | None:
    """How long before ``seen_ms`` something was written; None for what is written later, but for a small skew."""
    return max(0, seen_ms - at_ms) if at_ms <= seen_ms + SKEW_MS else None
