"""One wait as a state machine: each poll takes it a step further, until it is reached, lost, or out of time.

What a poll means for a wait is decided here alone. The command, the sensor and the trigger poll, sleep, log, and
translate how it ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.errors import CheckpointError, StoreUnavailableError, WaitLostError
from airflow_provider_ckpt.waiting.combined import condition_from_dict
from airflow_provider_ckpt.waiting.conditions import Condition, Needs, SourceEnds
from airflow_provider_ckpt.waiting.foreseen import ENDED_MS, NOTHING, Foreseen
from airflow_provider_ckpt.waiting.pace import eta_text, pause_s
from airflow_provider_ckpt.waiting.wait_start import Start, start_from_dict, take_start, why_lost

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.waits import OutcomeFields


#: What to do about a query that has ended, or stays, before the condition.
_START_AGAIN = "Start the query, with other options if need be, and wait again; or wait for less, such as for a lag."


@dataclass(frozen=True, slots=True)
class Reached:
    """The condition is reached.

    Args:
        condition: The reached condition, with the ends that the sources had at this poll.
        progress: The position of the query.
    """

    condition: Condition
    progress: Progress

    @property
    def text(self) -> str:
        """The position of the query, for people."""
        return self.condition.explain(self.progress)


@dataclass(frozen=True, slots=True)
class Pending:
    """The condition is not reached yet, or nobody can tell.

    Args:
        text: The position of the query and how long it still takes, or who did not answer; for people.
        pause_s: Seconds until the next poll; it ends at the deadline at the latest.
        progress: Result of the last poll; None when none has brought anything.
        remaining: How much is left, in a unit of the condition's own; None when that cannot be said.
        warnings: Sentences against waiting on; a wait says each of them once.
        unanswered: The storage, or a source, did not answer; another poll can help.
    """

    text: str
    pause_s: float
    progress: Progress | None = None
    remaining: float | None = None
    warnings: tuple[str, ...] = ()
    unanswered: StoreUnavailableError | None = None


@dataclass(frozen=True, slots=True)
class TimedOut(Pending):
    """The condition is not reached, and the deadline has passed."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The condition cannot be reached any more."""

    error: WaitLostError


@dataclass(slots=True)
class Waiting:
    """One wait. It begins with its first step, or goes on where another process left it.

    Args:
        location: The checkpoint, for errors.
        condition: The awaited one. From the first step on it is no longer relative to *now*, and the ends of the
            sources that are taken once are taken.
        start: The position of the query at the first step; None before it.
        ends: Where the data of the sources ends; None when the condition does not ask.
        interval_s: Seconds between two polls, as the user asked for; a pause is a quarter of it to four times it.
        spread: Every pause is multiplied by this, so that many waits do not poll in step.
        deadline_ms: When to give up, epoch milliseconds; None for never.
        fail_fast: True if a condition that will not be met in the present state of the checkpoint is lost.
        why_quiet: Says why no batch may run for now, or None; called when the wait begins.
        why_absent: Says why there is no checkpoint (yet), or None; called while a poll brings nothing at all.
        foresee: Says how the query gets to the condition, by what was declared of it; called when a batch was
            committed. None when nothing was declared.

    Raises:
        CheckpointError: The condition asks for the ends of sources, and none was declared.
    """

    location: str
    condition: Condition
    start: Start | None = None
    ends: SourceEnds | None = None
    interval_s: float = 30.0
    spread: float = 1.0
    deadline_ms: int | None = None
    fail_fast: bool = False
    why_absent: Callable[[], str | None] = lambda: None
    why_quiet: Callable[[], str | None] = lambda: None
    foresee: Callable[[Condition, Progress], Foreseen] | None = None
    _progress: Progress | None = field(default=None, repr=False)
    _doubted: int | None = field(default=-1, repr=False)
    _warned: set[str] = field(default_factory=set, repr=False)
    _foreseen: tuple[int | None, Foreseen] = field(default=(-1, NOTHING), repr=False)

    def __post_init__(self) -> None:
        if self.condition.asks_ends and self.ends is None:
            raise CheckpointError(
                "the condition needs the latest offsets of the sources, but no source was declared",
                location=self.location,
                hint="Declare where each source reads from, for example 0=kafka:host:9092 or 0=delta:s3://lake/orders.",
            )

    @property
    def needs(self) -> Needs:
        """Data that a poll must read."""
        return self.condition.needs if self.foresee is None else self.condition.needs | Needs(True, ENDED_MS)

    @property
    def asks_sources(self) -> bool:
        """True if a step may ask the sources, and so block."""
        return self.ends is not None or self.foresee is not None

    def step(self, progress: Progress, now_ms: int) -> Reached | Pending | Lost:
        """Judge what a poll has brought; may ask the sources where they end.

        Args:
            progress: Result of the poll; *now* is when it was made.
            now_ms: The time that the deadline is compared with, epoch milliseconds.

        Raises:
            CheckpointError: The condition does not fit the query, or a source cannot be read.
        """
        self._progress = progress
        try:
            if problem := why_lost(self.start or self._begin(progress), progress):
                hint = "Find out who changed the checkpoint (ckpt history), then start the wait again."
                return Lost(self._lost(f"{problem}.", hint))
            condition = self.condition.at_poll(self.ends, progress) if self.ends else self.condition
            if condition.reached(progress):
                return Reached(condition, progress)
            foreseen = self._way(condition, progress)
            warnings = self._doubts(condition, progress, foreseen)
        except WaitLostError as error:
            return Lost(error)
        except StoreUnavailableError as error:
            return self.unanswered(error, now_ms)
        eta = eta_text(condition, progress)
        text = condition.explain(progress) + eta + foreseen.text(progress, has_rate=bool(eta))
        pause = pause_s(self.interval_s, condition, progress)
        return self._pending(text, pause, now_ms, remaining=condition.remaining(progress), warnings=warnings)

    def unanswered(self, error: StoreUnavailableError, now_ms: int) -> Pending:
        """A poll that the storage, or a source, did not answer: it is asked again until the deadline."""
        return self._pending(str(error), self.interval_s, now_ms, unanswered=error)

    def to_dict(self) -> dict[str, Any]:
        """A wait that has begun, JSON-ready; :func:`read_wait` is the way back."""
        start = self.start.to_dict() if self.start else None
        return {"location": self.location, "condition": self.condition.to_dict(), "start": start}

    def _begin(self, progress: Progress) -> Start:
        resolved = self.condition.resolved(progress.polled_at_ms)
        self.condition = resolved.bound(self.ends, progress) if self.ends else resolved
        self.start = take_start(progress)
        return self.start

    def _way(self, condition: Condition, progress: Progress) -> Foreseen:
        """How the query gets to the condition. Raises WaitLostError when it does not, whoever waits."""
        if self.foresee is None:
            return NOTHING
        if progress.batch_id != self._foreseen[0]:
            self._foreseen = (progress.batch_id, self.foresee(condition, progress))
        foreseen = self._foreseen[1]
        if over := foreseen.why_over(self.start or take_start(progress), progress):
            raise self._lost(f"{over} {condition.explain(progress)}", _START_AGAIN)
        return foreseen

    def _doubts(self, condition: Condition, progress: Progress, foreseen: Foreseen) -> tuple[str, ...]:
        """New sentences against waiting on. Raises WaitLostError when a doubt is to be fatal."""
        if progress.batch_id == self._doubted:  # a doubt may cost requests, and does not change with every poll
            return ()
        absent = self.why_absent() if progress.batch_id is None and progress.query_id is None else None
        doubts = (absent,) if absent else condition.doubts(progress)
        doubts = (*doubts, foreseen.problem) if foreseen.problem else doubts
        if self.fail_fast and (absent or foreseen.problem or condition.is_hopeless(progress)):
            problem = f"the condition will not be met in the present state of the checkpoint. {' '.join(doubts)}"
            raise self._lost(
                problem, "Wait for another condition, or leave out --fail-fast (fail_fast=False in a DAG)."
            )
        if self._doubted == -1 and not absent and (quiet := self.why_quiet()):
            doubts = (*doubts, quiet)
        new = tuple(doubt for doubt in doubts if doubt not in self._warned)
        self._warned.update(new)
        self._doubted = progress.batch_id
        return new

    def _lost(self, problem: str, hint: str) -> WaitLostError:
        batch_id = self._progress.batch_id if self._progress else None
        return WaitLostError(problem, location=self.location, batch_id=batch_id, hint=hint)

    def _pending(self, text: str, pause: float, now_ms: int, **rest: Any) -> Pending:
        left_s = math.inf if self.deadline_ms is None else (self.deadline_ms - now_ms) / 1000
        kind = Pending if left_s > 0 else TimedOut
        return kind(text, max(0.0, min(pause * self.spread, left_s)), self._progress, **rest)


def read_wait(fields: Mapping[str, Any]) -> tuple[Condition, Start]:
    """Condition and start of the wait that :meth:`Waiting.to_dict` wrote. Raises CheckpointError for anything else."""
    try:
        condition, start = fields["condition" if "condition" in fields else "target"], fields["start"]
    except (KeyError, TypeError):
        hint = "Clear the task, so that the wait starts again."
        raise CheckpointError(
            "the record of this wait cannot be read: it does not have a condition and a start", hint=hint
        ) from None
    return condition_from_dict(condition), start_from_dict(start)


def outcome(status: str, progress: Progress | None, condition: Condition | None = None) -> OutcomeFields:
    """How a wait ended and the position of the query, JSON-ready.

    ``met`` names the conditions that were reached, those of a combined one each on its own.
    """
    return {
        "status": status,
        "batch_id": progress.batch_id if progress else None,
        "watermark_ms": (progress.watermark_ms or None) if progress else None,  # 0 is none
        "query_id": progress.query_id if progress else None,
        "met": [met.name for met in condition.met(progress)] if condition and progress else [],
    }
