"""How far a stream has read each checkpoint, and how far it reads next."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.batches.positions import (
    BatchRange,
    divided_evenly,
    limited,
    moved_to,
    poll_again_after_ms,
    ranges_between,
)
from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.codec.checkpoint_offset import CheckpointPosition


def at(timeline: int, first: int, batch: int, commit_ms: int | None) -> CheckpointPosition:
    return CheckpointPosition(timeline, first, batch, commit_ms)


def commits(*batches: int, since: int = 0) -> dict[int, int]:
    """Batch n is committed at 10 n, and later by as much as is said."""
    return {batch: 10 * batch + since for batch in batches}


#: What was read, what the commit log holds now, where the stream is then, and (timeline, first batch, batches) to read.
CASES = {
    "a new checkpoint, of which Spark has purged batches": (None, commits(3, 4, 5), None, (0, 3, [3, 4, 5])),
    "a new checkpoint without a commit": (None, {}, None, None),
    "nothing new": (at(0, 0, 5, 50), commits(4, 5), at(0, 0, 5, 50), None),
    "two more": (at(0, 0, 5, 50), commits(4, 5, 6, 7), at(0, 0, 5, 50), (0, 0, [6, 7])),
    "a gap, as of async progress tracking": (at(0, 0, 5, 50), commits(5, 8), at(0, 0, 5, 50), (0, 0, [8])),
    "purged meanwhile": (at(0, 0, 5, 50), commits(8, 9), at(0, 0, 5, 50), (0, 0, [8, 9])),
    "deleted": (at(0, 0, 5, 50), {}, at(0, 0, 5, 50), None),
    "rolled back": (at(0, 0, 5, 50), commits(2, 3), at(1, 4, 3, 30), None),
    "rolled back and run again": (
        at(0, 0, 5, 50),
        {**commits(2, 3), **commits(4, 5, since=100)},
        at(0, 0, 5, 50),
        (1, 4, [4, 5]),
    ),
    "rolled back and run again, not as far": (
        at(0, 0, 5, 50),
        {**commits(2, 3), **commits(4, since=100)},
        at(0, 0, 5, 50),
        (1, 4, [4]),
    ),
    "run again by a clock that was set back": (
        at(0, 0, 5, 50),
        {**commits(2, 3), 4: 31, 5: 41, 6: 51},
        at(0, 0, 5, 50),
        (1, 5, [5, 6]),
    ),
    "run again while a clock was set back": (
        at(0, 0, 5, 50),
        {**commits(2, 3), 4: 60, 5: 45, 6: 46},
        at(0, 0, 5, 50),
        (1, 4, [4, 5, 6]),
    ),
    "two more by a clock that was set back": (
        at(0, 0, 5, 50),
        {**commits(4, 5), 6: 20, 7: 21},
        at(0, 0, 5, 50),
        (0, 0, [6, 7]),
    ),
    "rolled back a second time": (at(1, 4, 5, 150), commits(2, 3), at(2, 4, 3, 30), None),
    "restored, with new times": (at(0, 2, 5, 50), commits(2, 3, since=100), at(0, 2, 5, 50), (1, 2, [2, 3])),
    "started anew at the same location": (at(0, 0, 5, 50), commits(0, since=100), at(0, 0, 5, 50), (1, 0, [0])),
    "after an undo the batches come back on the timeline of the rollback": (
        at(1, 4, 3, 30),
        commits(2, 3, 4, 5),
        at(1, 4, 3, 30),
        (1, 4, [4, 5]),
    ),
    "a storage that tells no times, and a rollback": (at(0, 0, 5, None), {3: None}, at(0, 0, 5, None), (1, 3, [3])),
    "a storage that tells no times": (at(0, 0, 5, None), {5: None, 6: None}, at(0, 0, 5, None), (0, 0, [6])),
}


@pytest.mark.parametrize(("known", "log", "position", "read"), CASES.values(), ids=CASES)
def test_where_a_checkpoint_is(known, log, position, read):
    moved, pending = moved_to(known, log)
    assert moved == position
    assert (pending and (pending.timeline, pending.first_batch, list(pending.batches))) == read


def test_a_part_of_what_is_pending_is_taken_with_the_time_of_its_last_batch():
    _, pending = moved_to(at(0, 0, 1, 10), commits(1, 2, 3, 4))
    position, rest = pending.after(2)
    assert position == at(0, 0, 3, 30)
    assert list(rest.batches) == [4]
    assert rest.after(1) == (at(0, 0, 4, 40), None)


def pending_of(**counts: int):
    return {name: moved_to(None, commits(*range(count)))[1] for name, count in counts.items()}


@pytest.mark.parametrize(
    ("counts", "most", "taken"),
    [
        ({"a": 60, "b": 30, "c": 10}, None, {"a": 60, "b": 30, "c": 10}),
        ({"a": 60, "b": 30, "c": 10}, 100, {"a": 60, "b": 30, "c": 10}),
        ({"a": 60, "b": 30, "c": 10}, 50, {"a": 30, "b": 15, "c": 5}),
        ({"a": 98, "b": 1, "c": 1}, 10, {"a": 9, "b": 1, "c": 1}),
        ({}, 10, {}),
    ],
)
def test_the_limit_is_in_proportion_and_no_checkpoint_starves(counts, most, taken):
    assert limited(pending_of(**counts), most) == taken


def test_the_limit_ends():
    """Taking again and again reads everything, each batch once."""
    todo, read = pending_of(a=60, b=30, c=1), {name: [] for name in "abc"}
    while todo:
        for name, count in limited(todo, 7).items():
            read[name] += todo[name].batches[:count]
            _, rest = todo.pop(name).after(count)
            todo |= {name: rest} if rest else {}
    assert read == {"a": list(range(60)), "b": list(range(30)), "c": [0]}


def test_ranges_between_two_offsets():
    start = {"a": at(0, 0, 5, 50), "b": at(0, 0, 5, 50), "c": at(0, 0, 5, 50), "d": at(0, 0, 5, 50)}
    end = {
        "a": at(0, 0, 7, 70),
        "b": at(1, 4, 6, 160),
        "c": at(0, 0, 5, 50),
        "d": at(1, 4, 3, 30),
        "e": at(0, 2, 4, 40),
    }
    assert list(ranges_between(start, end)) == [
        BatchRange("a", 0, 6, 7, 70),
        BatchRange("b", 1, 4, 6, 160),
        BatchRange("e", 0, 2, 4, 40),
    ]


def test_parts_have_about_as_many_batches():
    ranges = [BatchRange(str(number), 0, 1, 10, None) for number in range(10)]
    parts = divided_evenly(ranges, batches=25, most_parts=8)
    assert [item for part in parts for item in part] == ranges
    assert [sum(item.batches for item in part) for part in parts] == [30, 20, 30, 20]
    assert len(divided_evenly(ranges, batches=1, most_parts=3)) == 3
    assert divided_evenly([], batches=1, most_parts=3) == []


@pytest.mark.parametrize(
    ("every_ms", "quiet_ms", "kept", "pause_ms"),
    [
        (60_000, 20_000, 20, 40_000),  # the next commit is due in 40 s
        (60_000, 60_000, 20, 10_000),  # it is due now
        (1_000, 500, 20, 10_000),  # never more often than the least
        (60_000, 7_200_000, 100, 600_000),  # a query that has stopped: at most
        (60_000, 7_200_000, 4, 120_000),  # before half of what is kept can have been purged
    ],
)
def test_a_checkpoint_is_polled_by_its_own_rhythm(every_ms, quiet_ms, kept, pause_ms):
    times = {batch: every_ms * batch for batch in range(kept)}
    progress = Progress(kept - 1, commits=times, polled_at_ms=times[kept - 1] + quiet_ms)
    assert poll_again_after_ms(progress, 10_000, 600_000) == pause_ms


def test_without_a_rhythm_it_is_polled_at_a_multiple_of_the_least():
    assert poll_again_after_ms(Progress(None), 10_000, 600_000) == 40_000
