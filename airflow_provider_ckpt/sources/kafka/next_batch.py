"""The next batch of a Kafka source, as Spark's ``KafkaMicroBatchStream.latestOffset`` decides it.

``maxOffsetsPerTrigger`` is shared among the partitions in proportion to what each has unread, in IEEE doubles and in
Spark's order of operations, so that the ends are the very ones that Spark will write. A share is rounded up below one
offset and down above, so a batch may read a few more offsets than the limit, or a few less.

Offsets are counted, not records: control records of transactions and records that compaction has removed count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.query.source_options import Limits
from airflow_provider_ckpt.query.trigger import AVAILABLE_NOW, ONCE, REAL_TIME
from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition

#: So many ends of partitions are worked out one batch after another; further batches are estimated.
MOST_ENDS = 1_000_000


@dataclass(frozen=True, slots=True)
class NextBatch:
    """Ranges that a batch reads.

    Args:
        starts: Where it begins in each partition, inclusive; a partition that the query does not know yet begins at the
            first offset that it has.
        ends: Where it ends in each partition, exclusive, as Spark will write it into the offset log. An end before the
            start is a partition that has lost data, at which Spark stops (failOnDataLoss). In real-time mode a batch
            ends there or later, because it reads what comes while it runs.
        waits_ms: It is held back until ``minOffsetsPerTrigger`` are there, or this long after the batch before it,
            milliseconds; None: it runs at once. The first batch after a start always does.
    """

    starts: Mapping[Partition, int]
    ends: Mapping[Partition, int]
    waits_ms: int | None = None

    @property
    def offsets(self) -> int:
        """How many offsets it reads: at least as many as there are records."""
        return sum(max(0, end - self.starts[partition]) for partition, end in self.ends.items())


def next_batch(
    position: Mapping[Partition, int], extent: Extent, limits: Limits, *, is_first: bool = True
) -> NextBatch:
    """Ranges that a batch reads from a position on.

    Args:
        position: Where the newest committed batch ended, exclusive; partitions that it does not have are new.
        extent: The topics of the source as the broker has them now.
        limits: The limits of the source.
        is_first: True if the query starts with this batch: ``minOffsetsPerTrigger`` then holds nothing back, since the
            time of the last trigger is only in the memory of the query.
    """
    starts = _starts(position, extent)
    if limits.trigger == ONCE:
        return NextBatch(starts, dict(extent.latest))
    if limits.least is not None and not is_first:
        # As Spark counts here, a new partition counts from 0, not from its first offset.
        unread = sum(end - position.get(partition, 0) for partition, end in extent.latest.items())
        if float(unread) < limits.least:
            return NextBatch(starts, dict(position), limits.delay_ms)
    if limits.most is None:
        return NextBatch(starts, dict(extent.latest))
    return NextBatch(starts, _shared(limits.most, starts, extent.latest))


@dataclass(frozen=True, slots=True)
class Outlook:
    """How a query gets to a target, if no record comes on the way.

    Args:
        at_least: Least number of batches that are needed; None when the target is never reached.
        at_most: Greatest number of batches; the same number where each batch was worked out. None when it is not known:
            the target is never reached, or in real-time mode, where a batch has a length of time and no range.
        unread: So many offsets at most the query leaves unread, and does not get to the target: with
            ``availableNow``, ``minOffsetsPerTrigger`` holds a last small batch back until the next start.
    """

    at_least: int | None
    at_most: int | None
    unread: int = 0

    @property
    def is_reached(self) -> bool:
        """True if one run of the query reaches the target."""
        return self.at_least is not None

    @property
    def text(self) -> str:
        """How many batches there are to the target, for people."""
        if self.at_least is None:
            return f"leaves at most {self.unread} offset{'' if self.unread == 1 else 's'} unread"
        if self.at_most is None:
            return f"at least {self.at_least} to the end"
        between = "" if self.at_most == self.at_least else f" to {self.at_most}"
        return f"{self.at_least}{between} to the end"


def batches_until(
    target: Mapping[Partition, int],
    position: Mapping[Partition, int],
    extent: Extent,
    limits: Limits,
    *,
    is_first: bool = True,
) -> Outlook:
    """How many batches a query needs until no partition is before its target.

    ``availableNow`` is taken to run for less than ``maxTriggerDelay``, a query that goes on to wait as long as it must.
    Args as :func:`next_batch`; a partition of the target that the broker does not have is never reached.
    """
    if any(end > extent.latest.get(partition, -1) for partition, end in target.items()):
        return Outlook(None, None)
    at, batches, left = dict(position), 0, MOST_ENDS
    if limits.trigger == REAL_TIME:
        return Outlook(0, 0) if _is_reached(target, at) else Outlook(1, None)
    ends_itself = limits.trigger in (AVAILABLE_NOW, ONCE)
    while not _is_reached(target, at):
        batch = next_batch(at, extent, limits, is_first=is_first)
        if batch.waits_ms is not None and not ends_itself:
            batch = next_batch(at, extent, limits)  # as after the delay
        if batch.ends == at or (limits.trigger == ONCE and batches):
            return Outlook(None, None, unread_after(at, extent))
        left -= len(batch.ends)
        if left < 0:
            return _estimated(batches, target, at, extent, limits)
        at, batches, is_first = dict(batch.ends), batches + 1, False
    return Outlook(batches, batches)


def unread_after(position: Mapping[Partition, int], extent: Extent) -> int:
    """How many offsets the topics have after a position; of a partition that it does not have, all."""
    starts = _starts(position, extent)
    return sum(max(0, end - starts[partition]) for partition, end in extent.latest.items())


def _starts(position: Mapping[Partition, int], extent: Extent) -> dict[Partition, int]:
    return {partition: position.get(partition, extent.earliest[partition]) for partition in extent.latest}


def _shared(most: int, starts: Mapping[Partition, int], latest: Mapping[Partition, int]) -> dict[Partition, int]:
    """The ends of a batch that has one limit for all its partitions together (``rateLimit``)."""
    sizes = {partition: end - starts[partition] for partition, end in latest.items() if end > starts[partition]}
    total = float(sum(sizes.values()))
    if total < 1:
        return dict(latest)
    ends = dict(latest)
    for partition, size in sizes.items():
        share = most * (size / total)
        ends[partition] = min(latest[partition], starts[partition] + _rounded(share))
    return ends


def _rounded(share: float) -> int:
    return math.ceil(share) if share < 1 else math.floor(share)


def _is_reached(target: Mapping[Partition, int], at: Mapping[Partition, int]) -> bool:
    return all(at.get(partition, 0) >= end for partition, end in target.items())


def _estimated(
    batches: int, target: Mapping[Partition, int], at: Mapping[Partition, int], extent: Extent, limits: Limits
) -> Outlook:
    """Bounds of the number, where working out each batch would take too long.

    A batch reads at most one offset more than the limit for each partition with data, and at least one of each. The
    shares follow what is unread, so that partitions are read to their ends together.
    """
    assert limits.most is not None  # without a limit there is one batch
    if limits.least is not None and limits.trigger == AVAILABLE_NOW:
        return Outlook(None, None, limits.least)
    unread, partitions = unread_after(at, extent), len(extent.latest)
    needed = sum(
        max(0, end - at.get(partition, extent.earliest.get(partition, 0))) for partition, end in target.items()
    )
    fewest = math.ceil(needed / (limits.most + partitions))
    return Outlook(batches + max(1, fewest), batches + math.ceil(unread / max(1, limits.most - partitions)))
