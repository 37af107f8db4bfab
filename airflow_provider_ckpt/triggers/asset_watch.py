"""Progress that a watcher has seen of a stream, and its rule for news."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.waiting import Needs
from airflow_provider_ckpt.waiting.windows import Windows

BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Seen:
    """The position of a stream when it was last told of.

    Args:
        query_id: Id of the query.
        batch_id: The newest committed batch.
        boundary_ms: The newest window end that the watermark had passed, epoch milliseconds; None without windows.
    """

    query_id: str | None
    batch_id: int | None
    boundary_ms: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any] | None) -> Self | None:
        """Parse the result of :meth:`to_dict`; None for None."""
        return None if fields is None else cls(**fields)


class Every:
    """How often a watcher fires.

    Args:
        every: ``batch``, or the length of event-time windows as ISO 8601.
        timezone: The zone of the windows.

    Raises:
        CheckpointError: That is no length of windows.
    """

    def __init__(self, every: str, timezone: str = "UTC") -> None:
        self._windows = None if every == BATCH else Windows(every, timezone)

    @property
    def needs(self) -> Needs:
        """Data that a poll must read: an event tells of the watermark."""
        return Needs(offsets=True)

    def seen(self, progress: Progress) -> Seen | None:
        """The position of a stream; None while there is nothing to tell of."""
        if progress.batch_id is None:
            return None
        if self._windows is None:
            return Seen(progress.query_id, progress.batch_id)
        if not progress.watermark_ms:
            return None
        return Seen(progress.query_id, progress.batch_id, self._windows.boundary(progress.watermark_ms))

    def is_news(self, before: Seen | None, now: Seen) -> bool:
        """True if the stream has progressed, or has become another one."""
        if before is None or before.query_id != now.query_id:
            return True
        if self._windows is None:
            return before.batch_id != now.batch_id
        return now.boundary_ms is not None and (before.boundary_ms is None or now.boundary_ms > before.boundary_ms)
