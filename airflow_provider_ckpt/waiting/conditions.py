"""Conditions of a wait, as small values: they compare, explain themselves, combine, and go through JSON.

Only committed batches count. A condition may be relative: the next batch is one after *now*, the end of the sources is
where they end now. A wait resolves and binds its condition when it begins and keeps the result, so that another process
which takes it up waits for the same thing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Protocol

from airflow_provider_ckpt.checkpoint.progress import Progress, or_none
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.times import duration_text, time_text


@dataclass(frozen=True, slots=True)
class Needs:
    """Data that a poll must read for a condition to be judged, besides the listing of the commit log.

    Args:
        offsets: The offset log entry of the newest committed batch.
        planned_after_ms: The newest planned batch, once nothing was committed for this long; None for never.
    """

    offsets: bool = False
    planned_after_ms: int | None = None

    def __or__(self, other: Needs) -> Needs:
        waits = [needs.planned_after_ms for needs in (self, other) if needs.planned_after_ms is not None]
        return Needs(self.offsets or other.offsets, min(waits, default=None))


class SourceEnds(Protocol):
    """Where the data of the query's sources ends."""

    def end_at(self, at_ms: int | None, progress: Progress, *, slack: int = 0) -> Condition:
        """All that was written to the sources at a time; None is now. May be short of it by ``slack`` units."""

    def files_at(self, source_id: str, at_ms: int, progress: Progress) -> Condition:
        """All files of one directory that were there at a time."""


class Condition(ABC):
    """Something to wait for."""

    name: ClassVar[str]
    #: What judging takes.
    needs: ClassVar[Needs] = Needs(offsets=True)
    #: Whether it takes the ends of the sources, when the wait begins or at each poll.
    asks_ends: ClassVar[bool] = False

    @abstractmethod
    def reached(self, progress: Progress) -> bool:
        """True if the committed progress has reached the condition."""

    @abstractmethod
    def explain(self, progress: Progress) -> str:
        """The position of the query against the condition, for people."""

    def remaining(self, progress: Progress) -> float | None:
        """How much is left, in a unit of the condition's own, 0 when it is reached; None when that cannot be said."""
        return None

    def eta_ms(self, earlier: Progress, latest: Progress) -> float | None:
        """Milliseconds until the condition is reached at the rate between two polls; None when there is no telling."""
        before, now = self.remaining(earlier), self.remaining(latest)
        if now == 0:
            return 0.0
        took_ms = latest.happened_at_ms - earlier.happened_at_ms
        if before is None or now is None or took_ms <= 0 or before <= now:
            return None
        return now * took_ms / (before - now)

    def doubts(self, progress: Progress) -> tuple[str, ...]:
        """Sentences against waiting for this condition: it will not be met in this state, or means little."""
        return () if self.reached(progress) else tuple(self._doubts(progress))

    def _doubts(self, progress: Progress) -> Iterable[str]:
        return ()

    def is_hopeless(self, progress: Progress) -> bool:
        """True if it will not be met in the present state of the checkpoint."""
        return bool(self.doubts(progress))

    def met(self, progress: Progress) -> tuple[Condition, ...]:
        """Reached conditions: this one, or those that it is made of."""
        return (self,) if self.reached(progress) else ()

    def resolved(self, now_ms: int) -> Condition:
        """The same condition with *now* replaced by a time, epoch milliseconds."""
        return self

    def bound(self, ends: SourceEnds, progress: Progress) -> Condition:
        """The same condition with the ends of the sources that are taken once, when the wait begins."""
        return self

    def at_poll(self, ends: SourceEnds, progress: Progress) -> Condition:
        """The same condition, with the ends of the sources asked anew at each poll."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; :func:`~airflow_provider_ckpt.waiting.condition_from_dict` is the way back."""
        return {"condition": self.name, **asdict(self)}  # type: ignore[call-overload]  # each condition is a dataclass, the base is not


@dataclass(frozen=True, slots=True)
class BatchCommitted(Condition):
    """Batch ``batch_id``, or a later one, is committed."""

    name: ClassVar[str] = "batch"
    needs: ClassVar[Needs] = Needs()

    batch_id: int

    def reached(self, progress: Progress) -> bool:
        """True once the batch, or a later one, is committed."""
        return progress.batch_id is not None and progress.batch_id >= self.batch_id

    def explain(self, progress: Progress) -> str:
        """Name the committed batch and the awaited one."""
        return f"committed batch {or_none(progress.batch_id)}, waiting for batch {self.batch_id}"

    def remaining(self, progress: Progress) -> float | None:
        """Batches."""
        return max(0, self.batch_id - (-1 if progress.batch_id is None else progress.batch_id))


@dataclass(frozen=True, slots=True)
class NextBatch(Condition):
    """A batch is committed that Spark planned after ``after_ms``; None is the beginning of the wait.

    The time is compared with ``batchTimestampMs`` of the offset log, which is by the clock of the Spark driver. A batch
    that was under way already does not count: it may have missed what was written last.
    """

    name: ClassVar[str] = "next_batch"

    after_ms: int | None = None

    def reached(self, progress: Progress) -> bool:
        """True once a batch that began after the given time is committed.

        Raises CheckpointError when the log does not say when batches began.
        """
        if self.after_ms is None or progress.offsets is None:
            return False
        if progress.offsets.metadata is None:
            raise CheckpointError(
                "the offset log does not say when a batch began, so the next batch after now cannot be known"
            )
        return progress.offsets.metadata.batch_timestamp_ms > self.after_ms

    def explain(self, progress: Progress) -> str:
        """Name the committed batch and the time after which the awaited one begins."""
        after = "now" if self.after_ms is None else time_text(self.after_ms)
        return f"committed batch {or_none(progress.batch_id)}, waiting for one that began after {after}"

    def resolved(self, now_ms: int) -> Condition:
        """The same condition with this time in the place of *now*."""
        return self if self.after_ms is not None else replace(self, after_ms=now_ms)


@dataclass(frozen=True, slots=True)
class WatermarkPassed(Condition):
    """The newest committed batch ran with a watermark of at least ``watermark_ms`` (epoch milliseconds)."""

    name: ClassVar[str] = "watermark"

    watermark_ms: int

    def reached(self, progress: Progress) -> bool:
        """True once the watermark is at the given time or past it."""
        return progress.watermark_ms is not None and progress.watermark_ms >= self.watermark_ms

    def _doubts(self, progress: Progress) -> Iterable[str]:
        # 0 is what a query without withWatermark has, and one with it before its first data was committed
        if progress.offsets is not None and not progress.watermark_ms and (progress.batch_id or 0) >= 1:
            yield (
                f"The query has no watermark up to batch {progress.batch_id}. If it does not call withWatermark, wait "
                "for a batch or for offsets instead."
            )

    def explain(self, progress: Progress) -> str:
        """Name the committed batch, its watermark and the awaited one."""
        stands = time_text(progress.watermark_ms) if progress.watermark_ms else "none"  # 0 is none, too
        return (
            f"committed batch {or_none(progress.batch_id)} with the watermark {stands}, "
            f"waiting for {time_text(self.watermark_ms)}"
        )

    def remaining(self, progress: Progress) -> float | None:
        """Milliseconds of event time; None while the query has no watermark (0 is none, too)."""
        return max(0, self.watermark_ms - progress.watermark_ms) if progress.watermark_ms else None


@dataclass(frozen=True, slots=True)
class Idle(Condition):
    """Every planned batch is committed, and nothing was committed for ``for_ms`` (milliseconds).

    That is by the clock of the storage, which says when the newest entry of the commit log was written.
    """

    name: ClassVar[str] = "idle"

    for_ms: int

    @property
    def needs(self) -> Needs:  # type: ignore[override]  # a class variable of the base, known here from the fields
        """The newest planned batch, once nothing was committed for the given time."""
        return Needs(planned_after_ms=self.for_ms)

    def reached(self, progress: Progress) -> bool:
        """True once nothing was committed for the given time and no batch is in flight.

        Raises CheckpointError when the storage does not say when an object was written.
        """
        if progress.batch_id is None:
            return False
        return progress.quiet_ms >= self.for_ms and progress.planned == progress.batch_id

    def _doubts(self, progress: Progress) -> Iterable[str]:
        return _shorter_than_rhythm(self.for_ms, progress, "idle")

    def is_hopeless(self, progress: Progress) -> bool:
        """Never: see :meth:`doubts`."""
        return False

    def explain(self, progress: Progress) -> str:
        """Say for how long nothing was committed, and which batch is in flight."""
        if progress.batch_id is None:
            return "no batch is committed"
        busy = f", batch {progress.planned} is in flight" if (progress.planned or 0) > progress.batch_id else ""
        return f"{_quiet(progress)}{busy}, waiting for {duration_text(self.for_ms)} without a commit"

    def eta_ms(self, earlier: Progress, latest: Progress) -> float | None:
        """Until the time is up, when nothing comes."""
        return max(0.0, self.for_ms - latest.quiet_ms) if latest.batch_id is not None else None


@dataclass(frozen=True, slots=True)
class Stalled(Condition):
    """Nothing was committed for ``for_ms`` (milliseconds), whatever the reason: no data, a stuck batch, a dead job.

    Before the first commit the time counts from ``since_ms`` (epoch milliseconds; None is the beginning of the wait).
    """

    name: ClassVar[str] = "stalled"
    needs: ClassVar[Needs] = Needs()

    for_ms: int
    since_ms: int | None = None

    def reached(self, progress: Progress) -> bool:
        """True once nothing was committed for the given time.

        Raises CheckpointError when the storage does not say when an object was written.
        """
        return self._quiet_ms(progress) >= self.for_ms

    def _doubts(self, progress: Progress) -> Iterable[str]:
        return _shorter_than_rhythm(self.for_ms, progress, "stalled")

    def is_hopeless(self, progress: Progress) -> bool:
        """Never: see :meth:`doubts`."""
        return False

    def _quiet_ms(self, progress: Progress) -> int:
        if progress.batch_id is not None:
            return progress.quiet_ms
        return 0 if self.since_ms is None else progress.polled_at_ms - self.since_ms

    def explain(self, progress: Progress) -> str:
        """Say for how long nothing was committed, and after how long the query counts as stalled."""
        return f"{_quiet(progress)}, it counts as stalled after {duration_text(self.for_ms)}"

    def eta_ms(self, earlier: Progress, latest: Progress) -> float | None:
        """Until the time is up, when nothing comes."""
        return max(0.0, self.for_ms - self._quiet_ms(latest))

    def resolved(self, now_ms: int) -> Condition:
        """The same condition, counted from this time if it names none."""
        return self if self.since_ms is not None else replace(self, since_ms=now_ms)


def _quiet(progress: Progress) -> str:
    if progress.batch_id is None:
        return "no batch is committed"
    return f"batch {progress.batch_id} was committed {duration_text(progress.quiet_ms)} ago"


def _shorter_than_rhythm(for_ms: int, progress: Progress, what: str) -> Iterable[str]:
    """A query that commits less often than that is quiet for so long between any two of its batches."""
    gap_ms = progress.gap_ms
    if gap_ms is not None and gap_ms > for_ms:
        yield (
            f"The query commits about every {duration_text(gap_ms)}, so {duration_text(for_ms)} without a commit does "
            f"not show that it is {what}. In real-time mode a batch is in the logs only after its end."
        )
