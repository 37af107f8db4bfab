"""What each condition means, said in terms of what has happened, and nothing of what the package says."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from airflow_provider_ckpt.waiting import (
    BatchCommitted,
    Condition,
    Idle,
    LagAtMost,
    NextBatch,
    OffsetsReached,
    SnapshotReached,
    SourceEndReached,
    Stalled,
    WatermarkPassed,
    all_of,
    any_of,
)
from tests.waiting.histories import FILES, HOUR_MS, SNAPSHOTS, World

__all__ = ["KAFKA", "KINDS", "Begun", "Ends", "Meaning", "is_lost", "meanings", "meant", "monotone_meanings"]

KAFKA = {"0": "kafka"}
ICEBERG = "1"


@dataclass(frozen=True)
class Begun:
    """Where a query stood when a wait began."""

    at_ms: int
    query: int
    newest: int | None
    serial: int | None

    @classmethod
    def of(cls, world: World) -> Begun:
        newest = world.newest
        return cls(world.now_ms, world.query, newest, None if newest is None else world.committed[newest].serial)


def is_lost(begun: Begun, world: World) -> bool:
    """Another query, or fewer batches than at the beginning, or the newest of that time committed anew."""
    if world.query != begun.query:
        return True
    if begun.newest is None:
        return False
    if world.newest is None or world.newest < begun.newest:
        return True
    kept = world.committed.get(begun.newest)
    return kept is not None and kept.serial != begun.serial


@dataclass(frozen=True)
class Meaning:
    """A condition and when it is reached."""

    condition: Condition
    holds: Callable[[World, Begun], bool]

    def __repr__(self) -> str:
        return repr(self.condition)


class Ends:
    """The ends of the sources of a world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def end_at(self, at_ms, progress, *, slack=0):
        ends = self.world.ends_at(self.world.now_ms if at_ms is None else at_ms)
        return OffsetsReached({"0": _kafka(dict(enumerate(ends)))}, KAFKA, slack)

    def files_at(self, source_id, at_ms, progress):
        raise AssertionError


def _kafka(partitions: dict[int, int]) -> str:
    return json.dumps({"events": partitions})


def _has_read(world: World, ends: tuple[int, int]) -> bool:
    entry = world.newest_entry
    return entry is not None and all(stands >= end for stands, end in zip(entry.offsets, ends, strict=True))


def _quiet_ms(world: World) -> int:
    return world.now_ms - world.committed[world.newest].at_ms


def batch(batch_id: int) -> Meaning:
    return Meaning(BatchCommitted(batch_id), lambda world, _: world.newest is not None and world.newest >= batch_id)


def next_batch() -> Meaning:
    def holds(world: World, begun: Begun) -> bool:
        return world.newest_entry is not None and world.newest_entry.began_ms > begun.at_ms

    return Meaning(NextBatch(), holds)


def watermark(watermark_ms: int) -> Meaning:
    def holds(world: World, _: Begun) -> bool:
        return world.newest_entry is not None and world.newest_entry.watermark_ms >= watermark_ms

    return Meaning(WatermarkPassed(watermark_ms), holds)


def offsets(first: int, second: int | None) -> Meaning:
    partitions = {0: first} if second is None else {0: first, 1: second}
    return Meaning(
        OffsetsReached({"0": _kafka(partitions)}, KAFKA), lambda world, _: _has_read(world, (first, second or 0))
    )


def snapshot(number: int, position: int) -> Meaning:
    condition = SnapshotReached(ICEBERG, SNAPSHOTS[number], position, SNAPSHOTS[:number])
    wanted = number * FILES + position

    def holds(world: World, _: Begun) -> bool:
        return world.newest_entry is not None and world.newest_entry.files >= wanted

    return Meaning(condition, holds)


def frozen_end(ago_ms: int | None) -> Meaning:
    """All that was written when the wait began, or so long after the beginning of time."""
    at_ms = None if ago_ms is None else 1_767_225_600_000 + ago_ms

    def holds(world: World, begun: Begun) -> bool:
        return _has_read(world, world.ends_at(begun.at_ms if at_ms is None else min(at_ms, begun.at_ms)))

    return Meaning(SourceEndReached(at_ms), holds)


def caught_up_by_time(lag_ms: int) -> Meaning:
    return Meaning(LagAtMost(lag_ms=lag_ms), lambda world, _: _has_read(world, world.ends_at(world.now_ms - lag_ms)))


def caught_up_by_count(lag_units: int) -> Meaning:
    def holds(world: World, _: Begun) -> bool:
        entry = world.newest_entry
        return entry is not None and sum(world.written[-1][1]) - sum(entry.offsets) <= lag_units

    return Meaning(LagAtMost(lag_units=lag_units), holds)


def idle(for_ms: int) -> Meaning:
    def holds(world: World, _: Begun) -> bool:
        return world.newest is not None and world.newest == max(world.planned) and _quiet_ms(world) >= for_ms

    return Meaning(Idle(for_ms), holds)


def stalled(for_ms: int) -> Meaning:
    def holds(world: World, begun: Begun) -> bool:
        since_ms = begun.at_ms if world.newest is None else world.committed[world.newest].at_ms
        return world.now_ms - since_ms >= for_ms

    return Meaning(Stalled(for_ms), holds)


def every(parts: list[Meaning]) -> Meaning:
    return Meaning(
        all_of(*(part.condition for part in parts)),
        lambda world, begun: all(part.holds(world, begun) for part in parts),
    )


def one(parts: list[Meaning]) -> Meaning:
    return Meaning(
        any_of(*(part.condition for part in parts)),
        lambda world, begun: any(part.holds(world, begun) for part in parts),
    )


durations_ms = st.sampled_from([0, 1, 1_500, 60_000, HOUR_MS])
MONOTONE = {
    "batch": st.builds(batch, st.integers(0, 12)),
    "next_batch": st.builds(next_batch),
    "watermark": st.builds(watermark, st.sampled_from([1, 1_000, 61_000, 5 * HOUR_MS, 11 * HOUR_MS])),
    "offsets": st.builds(offsets, st.integers(0, 200), st.none() | st.integers(0, 200)),
    "snapshot": st.builds(snapshot, st.integers(0, len(SNAPSHOTS) - 1), st.integers(1, FILES)),
    "source_end": st.builds(frozen_end, st.none() | durations_ms),
}
#: Every kind of condition.
KINDS = {
    **MONOTONE,
    "caught_up, time": st.builds(caught_up_by_time, durations_ms),
    "caught_up, records": st.builds(caught_up_by_count, st.integers(0, 100)),
    "idle": st.builds(idle, durations_ms),
    "stalled": st.builds(stalled, durations_ms),
}


def _combined(leaves: st.SearchStrategy[Meaning]) -> st.SearchStrategy[Meaning]:
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3).map(every) | st.lists(inner, min_size=1, max_size=3).map(one)
        ),
        max_leaves=4,
    )


#: What holds once nothing is undone, holds for ever.
monotone_meanings = _combined(st.one_of(*MONOTONE.values()))
meanings = _combined(st.one_of(*KINDS.values()))
KINDS["combined"] = meanings


def meant(meaning: Meaning, world: World, begun: Begun) -> str:
    """The verdict that the definition gives."""
    if is_lost(begun, world):
        return "lost"
    return "reached" if meaning.holds(world, begun) else "open"
