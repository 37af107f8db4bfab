"""Selection of batches and checkpoints, and the declared types of their sources."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from airflow_provider_ckpt.codec.source_kinds import KINDS

#: Clocks of drivers and of a storage are no further apart, milliseconds.
CLOCKS_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of batches of a checkpoint.

    Args:
        first_batch: Not before this batch (inclusive).
        last_batch: Not after this batch (inclusive).
        last_batches: At most this many, the newest that the log holds.
        from_ms: Not planned before this time (inclusive), epoch milliseconds.
        until_ms: Planned before this time (exclusive), epoch milliseconds.
    """

    first_batch: int | None = None
    last_batch: int | None = None
    last_batches: int | None = None
    from_ms: int | None = None
    until_ms: int | None = None

    def of(self, batches: Sequence[int]) -> Sequence[int]:
        """Batches of a log (ascending) that their ids admit."""
        newest = batches if self.last_batches is None else batches[-self.last_batches :]
        first = 0 if self.first_batch is None else bisect_left(newest, self.first_batch)
        end = len(newest) if self.last_batch is None else bisect_right(newest, self.last_batch)
        return newest[first:end]

    def is_too_old(self, committed_at_ms: int | None) -> bool:
        """True if a batch with this commit need not be read: it was planned before its commit."""
        return self.from_ms is not None and committed_at_ms is not None and committed_at_ms < self.from_ms - CLOCKS_MS

    def admits_time(self, batch_time_ms: int | None) -> bool:
        """True if a batch was planned in the selected time; also true for one without a time."""
        if batch_time_ms is None:
            return True
        if self.from_ms is not None and batch_time_ms < self.from_ms:
            return False
        return self.until_ms is None or batch_time_ms < self.until_ms

    def within(self, other: Selection) -> Selection:
        """The selection of what both admit."""
        return Selection(
            _latest(self.first_batch, other.first_batch),
            _earliest(self.last_batch, other.last_batch),
            _earliest(self.last_batches, other.last_batches),
            _latest(self.from_ms, other.from_ms),
            _earliest(self.until_ms, other.until_ms),
        )


def _latest(one: int | None, other: int | None) -> int | None:
    return max((value for value in (one, other) if value is not None), default=None)


def _earliest(one: int | None, other: int | None) -> int | None:
    return min((value for value in (one, other) if value is not None), default=None)


@dataclass(frozen=True, slots=True)
class DeclaredTypes:
    """Declared source types of a fleet, for offset logs that do not name them (version 1).

    Args:
        by_pattern: Source type by source id, by a pattern of locations (``fnmatch``); the first that fits counts.
    """

    by_pattern: tuple[tuple[str, Mapping[str, str]], ...] = ()

    @classmethod
    def parse(cls, fields: Mapping[str, object]) -> DeclaredTypes:
        """``{"0": "kafka"}`` for every checkpoint, or ``{"s3://lake/orders*": {"0": "kafka"}}``. Raises ValueError."""
        if all(isinstance(value, str) for value in fields.values()):
            return cls((("*", _types(fields)),) if fields else ())
        return cls(tuple((pattern, _types(value)) for pattern, value in fields.items()))

    def of(self, location: str) -> Mapping[str, str]:
        """Source type by source id of one checkpoint."""
        return next((types for pattern, types in self.by_pattern if fnmatchcase(location, pattern)), {})


def _types(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(kind, str) for kind in value.values()):
        raise ValueError('declare source types as {"0": "kafka"}, or as {"s3://lake/orders*": {"0": "kafka"}}')
    unknown = [kind for kind in value.values() if kind not in KINDS]
    if unknown:
        raise ValueError(f"unknown source type {unknown[0]!r}; known are {', '.join(sorted(KINDS))}")
    return {str(source_id): kind for source_id, kind in value.items()}
