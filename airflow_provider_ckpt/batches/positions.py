"""How far a stream has read each checkpoint, and how far it reads next.

A log only grows, unless somebody rolls it back, restores it or starts another query at its location. The stream knows
the newest commit that it has read by its time; when that commit is gone or is another one, a new timeline begins: what
was committed since is read on it, although batches of these ids were read before.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec.checkpoint_offset import CheckpointPosition
from airflow_provider_ckpt.waiting.pace import STRETCH, until_next_commit_ms

_UNKNOWN_MS = -1


@dataclass(frozen=True, slots=True)
class Pending:
    """Committed batches of one checkpoint that were not read yet, by one listing of its commit log.

    Args:
        timeline: The timeline that they are on.
        first_batch: The first batch of the timeline that is read.
        batches: Their ids, ascending.
        commits_ms: When each was committed, epoch milliseconds; -1 where the storage does not say.
    """

    timeline: int
    first_batch: int
    batches: array[int]
    commits_ms: array[int]

    def after(self, count: int) -> tuple[CheckpointPosition, Pending | None]:
        """Where it is after the first so many are read (at least one), and what is pending then."""
        commit_ms = self.commits_ms[count - 1]
        position = CheckpointPosition(
            self.timeline, self.first_batch, self.batches[count - 1], None if commit_ms == _UNKNOWN_MS else commit_ms
        )
        rest = Pending(self.timeline, self.first_batch, self.batches[count:], self.commits_ms[count:])
        return position, rest if rest.batches else None


def moved_to(
    known: CheckpointPosition | None, commits: Mapping[int, int | None]
) -> tuple[CheckpointPosition | None, Pending | None]:
    """The position of a checkpoint by a listing of its commit log, and its pending batches.

    Args:
        known: How far it was read; None for a new one, of which everything that the log still holds is read.
        commits: When each batch of the commit log was committed, epoch milliseconds; None where nobody says.

    Returns:
        The position, changed when a new timeline has begun (None for a checkpoint without any commit), and the batches
        to read; None when there are none.
    """
    if not commits:
        return known, None
    batches = sorted(commits)
    if known is None:
        return None, _pending(0, batches[0], batches, commits)
    if _is_continued(known, batches, commits):
        return known, _pending(
            known.timeline, known.first_batch, batches[bisect_right(batches, known.batch_id) :], commits
        )
    newer = (batch for batch in batches if batch >= known.batch_id or _is_newer(commits[batch], known.committed_at_ms))
    first = next(newer, None)  # and whatever is after it, since a clock may go back
    if first is not None:
        return known, _pending(known.timeline + 1, first, batches[bisect_left(batches, first) :], commits)
    return CheckpointPosition(known.timeline + 1, batches[-1] + 1, batches[-1], commits[batches[-1]]), None


def _is_continued(known: CheckpointPosition, batches: list[int], commits: Mapping[int, int | None]) -> bool:
    """True if the newest commit that was read is unchanged, or was purged and others came after it."""
    if known.batch_id in commits:
        return commits[known.batch_id] == known.committed_at_ms
    return batches[0] > known.batch_id


def _is_newer(commit_ms: int | None, than_ms: int | None) -> bool:
    return commit_ms is None or than_ms is None or commit_ms > than_ms


def _pending(timeline: int, first_batch: int, batches: list[int], commits: Mapping[int, int | None]) -> Pending | None:
    if not batches:
        return None
    known = (commits[batch] for batch in batches)
    times = array("q", (_UNKNOWN_MS if at_ms is None else at_ms for at_ms in known))
    return Pending(timeline, first_batch, array("q", batches), times)


def limited(pending: Mapping[str, Pending], most: int | None) -> dict[str, int]:
    """How many batches of each checkpoint to read next: in proportion to what is pending, and at least one of each.

    That is how Spark's Kafka source applies ``maxOffsetsPerTrigger``.

    Args:
        pending: Pending batches, by location.
        most: How many batches in all; None for every one.
    """
    total = sum(len(item.batches) for item in pending.values())
    if most is None or total <= most:
        return {location: len(item.batches) for location, item in pending.items()}
    return {location: max(1, len(item.batches) * most // total) for location, item in pending.items()}


@dataclass(frozen=True, slots=True)
class BatchRange:
    """Batches of one timeline of a checkpoint that a micro-batch reads.

    Args:
        location: URI of the checkpoint.
        timeline: The timeline.
        first: The first of them (inclusive).
        last: The last of them (inclusive).
        last_committed_at_ms: When the last one was committed, epoch milliseconds; batches committed later are of
            another timeline. None where the storage does not say.
    """

    location: str
    timeline: int
    first: int
    last: int
    last_committed_at_ms: int | None

    @property
    def batches(self) -> int:
        """How many ids are in it; there may be fewer batches."""
        return self.last - self.first + 1


def ranges_between(
    start: Mapping[str, CheckpointPosition], end: Mapping[str, CheckpointPosition]
) -> Iterator[BatchRange]:
    """Yield the ranges after one offset (exclusive) up to another (inclusive), in the order of the locations."""
    for location, now in end.items():
        before = start.get(location)
        if before == now:
            continue
        first = before.batch_id + 1 if before is not None and before.timeline == now.timeline else now.first_batch
        if first <= now.batch_id:
            yield BatchRange(location, now.timeline, first, now.batch_id, now.committed_at_ms)


def divided_evenly(ranges: Iterable[BatchRange], batches: int, most_parts: int) -> list[tuple[BatchRange, ...]]:
    """Parts of about so many batches each, but no more parts than that; a range is in one part."""
    todo = list(ranges)
    total = sum(item.batches for item in todo)
    count = max(1, min(most_parts, -(-total // batches), len(todo)))
    parts: list[list[BatchRange]] = [[] for _ in range(count)]
    done = 0
    for item in todo:
        parts[min(count - 1, done * count // max(total, 1))].append(item)
        done += item.batches
    return [tuple(part) for part in parts if part]


def poll_again_after_ms(progress: Progress, least_ms: int, most_ms: int) -> float:
    """Time until the next poll of a checkpoint, milliseconds from its last poll: when its query is expected to commit.

    Args:
        progress: Result of that poll: the commit log.
        least_ms: Not earlier than this.
        most_ms: Not later than this; and not later than when half of the log can have been purged.
    """
    expected_ms = until_next_commit_ms(progress)
    if expected_ms is None:
        expected_ms = least_ms * STRETCH
    if progress.gap_ms:
        most_ms = min(most_ms, int(progress.gap_ms * len(progress.commits) / 2))
    return max(least_ms, min(most_ms, expected_ms))
