"""How many batches a query has committed over the time that its commit log still shows, in a few numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from airflow_provider_ckpt.documents.as_document import Documented

#: The time is divided into so many parts.
PARTS = 24


@dataclass(frozen=True, slots=True)
class BatchRate(Documented):
    """Committed batches in equal parts of a time."""

    from_ms: Annotated[int, "when the oldest batch of the commit log was committed, epoch milliseconds"]
    until_ms: Annotated[int, "when the checkpoint was listed, epoch milliseconds"]
    batches: Annotated[tuple[int, ...], "number of committed batches in each part, oldest first"]


def batch_rate(commits_ms: Iterable[int], until_ms: int, parts: int = PARTS) -> BatchRate | None:
    """The rate of commits.

    Args:
        commits_ms: When each batch was committed, epoch milliseconds.
        until_ms: Now, by the same clock.
        parts: Into how many parts the time is divided.

    Returns:
        None for less than two commits, or for commits of one moment: they make no rate.
    """
    times = sorted(commits_ms)
    if len(times) < 2 or times[0] == times[-1]:
        return None
    until_ms = max(until_ms, times[-1])
    counts = [0] * parts
    for at_ms in times:
        counts[min(parts - 1, (at_ms - times[0]) * parts // (until_ms - times[0]))] += 1
    return BatchRate(times[0], until_ms, tuple(counts))


def rate_from_dict(fields: Mapping[str, Any] | None) -> BatchRate | None:
    """Parse the result of :meth:`BatchRate.to_dict`. Raises ValueError for anything else."""
    if fields is None:
        return None
    batches = fields.get("batches")
    numbers: list[Any] = [fields.get("from_ms"), fields.get("until_ms")]
    numbers += batches if isinstance(batches, list) and 0 < len(batches) <= PARTS else [None]
    if not all(type(number) is int and 0 <= number < 1 << 63 for number in numbers):
        raise ValueError("the batch rate is not made of whole numbers")
    return BatchRate(numbers[0], numbers[1], tuple(numbers[2:]))
