"""How a query gets to what is waited for, by what its user has declared of it: in batches, or not at all."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.times import duration_text
from airflow_provider_ckpt.waiting.pace import STRETCH
from airflow_provider_ckpt.waiting.wait_start import Start

#: A run that ends by itself plans batch after batch: one that has planned none for so long has ended, milliseconds.
ENDED_MS = 60_000


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The way of a query to a condition. Records that come meanwhile only make it longer.

    Args:
        at_least: Least number of batches that are needed; None when that is not known.
        at_most: Greatest number of batches; None when that is not known.
        if_quiet: Number of batches if no record comes on the way; None when that is not known.
        held: A sentence on why the next batch may come late; None when nothing holds it back.
        problem: A sentence on why the query does not reach the target; None when it may reach it.
        is_final: True if no later start of the query, with the same options, helps.
        ends_itself: True if a run of the query ends by itself (``availableNow``, ``once``).
    """

    at_least: int | None = None
    at_most: int | None = None
    if_quiet: int | None = None
    held: str | None = None
    problem: str | None = None
    is_final: bool = False
    ends_itself: bool = False

    def text(self, progress: Progress, *, has_rate: bool) -> str:
        """How many batches are left, for the line of a wait; without a measured rate also how long they take.

        Args:
            progress: Result of the last poll.
            has_rate: True if the line has a time already, by what is left and the rate of the last batches.
        """
        parts = []
        if self.at_least is not None:
            most = "" if self.at_most in (None, self.at_least) else f", at most {self.at_most:,}"
            quiet = "" if self.if_quiet in (None, self.at_least) else f", {self.if_quiet:,} if nothing more is written"
            unit = "batch" if self.at_least == 1 and not most else "batches"
            parts.append(f"at least {self.at_least:,} {unit}{most}{quiet}")
            if not has_rate and self.problem is None:
                gap_ms = progress.gap_ms
                took = "unknown" if gap_ms is None else f"about {duration_text(gap_ms)} for each by the last batches"
                parts.append(f"time {took}")
        sentences = [sentence.rstrip(".") for sentence in (self.held, self.problem) if sentence is not None]
        return "".join((*(f"; {part}" for part in parts), *(f". {sentence}" for sentence in sentences)))

    def why_over(self, start: Start, progress: Progress) -> str | None:
        """A sentence on why waiting is of no use any more; None while the condition may still be met.

        A run that ends by itself is over when a batch was committed since the wait began, none is in flight, and none
        was planned for a while. A query that has not run since the wait began may still be started.

        Args:
            start: The position of the query when the wait began.
            progress: Result of the last poll.
        """
        if self.problem is not None and self.is_final:
            return self.problem
        if not self.ends_itself or progress.batch_id is None or progress.batch_id == start.batch_id:
            return None
        if progress.planned != progress.batch_id or progress.committed_at_ms is None:
            return None
        if progress.quiet_ms < max(ENDED_MS, STRETCH * (progress.gap_ms or 0)):
            return None
        ended = f"The run of the query has ended with batch {progress.batch_id}, before the condition was met."
        return ended if self.problem is None else f"{ended} {self.problem}"


#: Nothing was declared.
NOTHING = Foreseen()
