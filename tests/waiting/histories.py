"""Histories of a query, and what each condition means in terms of them: the oracle that waits are judged by.

A history is played step by step. Each step is written to a real checkpoint directory as Spark would leave it, with the
times of a clock of its own; what happened is kept beside that, and :mod:`tests.waiting.meanings` reads nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest import mock
from uuid import UUID

from hypothesis import strategies as st

from airflow_provider_ckpt.waiting import poll

FIRST_MS = 1_767_225_600_000
#: The table of the Iceberg source: its snapshots, oldest first; their ids have no order.
SNAPSHOTS = (7_001, 12, 9_555, 3, 8_080)
#: Data files that each snapshot adds.
FILES = 2
HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Planned:
    """One offset log entry."""

    began_ms: int
    watermark_ms: int
    offsets: tuple[int, int]
    files: int

    @property
    def snapshot(self) -> tuple[int, int]:
        """Snapshot id and position."""
        last = max(0, self.files - 1) // FILES
        return SNAPSHOTS[last], self.files - last * FILES


@dataclass(frozen=True)
class Commit:
    """One commit log entry; no two are equal."""

    at_ms: int
    serial: int


@dataclass
class World:
    """A query, its sources, and the time."""

    root: Path
    now_ms: int = FIRST_MS
    query: int = 1
    planned: dict[int, Planned] = field(default_factory=dict)
    committed: dict[int, Commit] = field(default_factory=dict)
    #: How much each partition held, by the time since when it did.
    written: list[tuple[int, tuple[int, int]]] = field(default_factory=lambda: [(0, (0, 0))])
    files: int = 0
    serial: int = 0

    def __post_init__(self) -> None:
        self._write_metadata()

    @property
    def newest(self) -> int | None:
        return max(self.committed, default=None)

    @property
    def newest_entry(self) -> Planned | None:
        return None if self.newest is None else self.planned[self.newest]

    def ends_at(self, at_ms: int) -> tuple[int, int]:
        """How much each partition held at a time."""
        return [ends for since_ms, ends in self.written if since_ms <= at_ms][-1]

    # --- what happens ----------------------------------------------------------------------------------------------

    def write(self, first: int, second: int, files: int) -> None:
        """Records and files come into the sources."""
        before = self.written[-1][1]
        self.written.append((self.now_ms, (before[0] + first, before[1] + second)))
        self.files = min(self.files + files, len(SNAPSHOTS) * FILES)

    def plan(self, skipped: int, share: float, jump_ms: int) -> None:
        """Plan the next batch, unless one is under way; with asynchronous progress some before it left no entry."""
        newest_planned = max(self.planned, default=None)
        if newest_planned is not None and newest_planned not in self.committed:
            return
        batch_id = 0 if newest_planned is None else newest_planned + 1 + skipped
        before = self.planned.get(newest_planned, Planned(0, 0, (0, 0), 0))
        ends = self.written[-1][1]
        entry = Planned(
            self.now_ms,
            before.watermark_ms + jump_ms,
            tuple(low + round((high - low) * share) for low, high in zip(before.offsets, ends, strict=True)),
            before.files + round((self.files - before.files) * share),
        )
        self.planned[batch_id] = entry
        metadata = {"batchWatermarkMs": entry.watermark_ms, "batchTimestampMs": entry.began_ms, "conf": {}}
        snapshot_id, position = entry.snapshot
        sources = (
            {"events": {str(partition): offset for partition, offset in enumerate(entry.offsets)}},
            {"version": 1, "snapshot_id": snapshot_id, "position": position, "scan_all_files": False},
        )
        self._put(f"offsets/{batch_id}", "\n".join(["v1", json.dumps(metadata), *map(json.dumps, sources)]))

    def commit(self) -> None:
        """Commit the batch that is under way; also after a crash, which leaves it planned, and a restart."""
        batch_id = max(self.planned, default=None)
        if batch_id is None or batch_id in self.committed:
            return
        self.serial += 1
        self.committed[batch_id] = Commit(self.now_ms, self.serial)
        self._put(f"commits/{batch_id}", 'v1\n{"nextBatchWatermarkMs":0}')

    def purge(self, kept: int) -> None:
        """Remove all but the newest entries, in both logs."""
        for batch_id in sorted(self.committed)[:-kept]:
            self._remove(batch_id)

    def roll_back(self, batches: int) -> None:
        """Undo the newest commits, and what was planned since."""
        keep = sorted(self.committed)[:-batches]
        for batch_id in [planned for planned in self.planned if not keep or planned > keep[-1]]:
            self._remove(batch_id)

    def replace(self) -> None:
        """Another query begins in the same place."""
        self.planned, self.committed, self.query = {}, {}, self.query + 1
        shutil.rmtree(self.root)
        self._write_metadata()

    def pass_time(self, ms: int) -> None:
        self.now_ms += ms

    # --- files -----------------------------------------------------------------------------------------------------

    @property
    def query_id(self) -> str:
        return str(UUID(int=self.query))

    def _write_metadata(self) -> None:
        self._put("metadata", json.dumps({"id": self.query_id}))

    def _put(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, ns=(self.now_ms * 1_000_000,) * 2)

    def _remove(self, batch_id: int) -> None:
        del self.planned[batch_id]
        (self.root / f"offsets/{batch_id}").unlink()
        if self.committed.pop(batch_id, None):
            (self.root / f"commits/{batch_id}").unlink()


@dataclass(frozen=True)
class Step:
    """Something that happens; then some time passes, and perhaps somebody looks."""

    name: str
    arguments: tuple = ()
    pause_ms: int = 1
    looked_at: bool = True

    def on(self, world: World) -> None:
        world.pass_time(1)  # nothing happens in the very millisecond in which somebody looks
        getattr(world, self.name)(*self.arguments)
        world.pass_time(self.pause_ms)


few = st.integers(0, 3)
pauses_ms = st.one_of(st.integers(1, 2_000), st.sampled_from([60_000, HOUR_MS]))


def _steps(name: str, *arguments: st.SearchStrategy) -> st.SearchStrategy[Step]:
    return st.builds(Step, st.just(name), st.tuples(*arguments), pauses_ms, st.booleans())


writes = _steps("write", st.integers(0, 50), st.integers(0, 50), few)
plans = _steps(
    "plan",
    st.sampled_from([0, 0, 0, 2]),
    st.sampled_from([0.0, 0.5, 1.0, 1.0]),
    st.sampled_from([0, 1_000, 60_000, 5 * HOUR_MS]),
)
commits = _steps("commit")
batches = st.tuples(writes, plans, commits).map(list)
forward = st.one_of(batches, batches, writes.map(lambda step: [step]), plans.map(lambda step: [step]))
purges = _steps("purge", st.integers(1, 4)).map(lambda step: [step])
set_backs = st.one_of(
    _steps("roll_back", st.integers(1, 4)), _steps("roll_back", st.integers(1, 4)), _steps("replace")
).map(lambda step: [step])


def _unseen(steps: list[Step]) -> list[Step]:
    return [replace(step, looked_at=False) for step in steps]


#: Rolled back, and come as far again or further, before anybody looks.
come_backs = st.builds(
    lambda set_back, batches, last: [*_unseen([*set_back, *batches]), replace(last, looked_at=True)],
    set_backs,
    st.lists(batches, min_size=1, max_size=4).map(lambda lists: [step for steps in lists for step in steps]),
    commits,
)


def _histories(parts: st.SearchStrategy[list[Step]], fewest: int, most: int) -> st.SearchStrategy[list[Step]]:
    lists = st.lists(parts, min_size=fewest, max_size=most)
    return lists.map(lambda lists: [step for steps in lists for step in steps])


#: Nothing is undone.
sound_histories = _histories(st.one_of(forward, forward, forward, purges), 1, 10)
#: Anything may be.
histories = _histories(st.one_of(batches, batches, forward, purges, set_backs, come_backs), 4, 10)


@contextmanager
def world() -> Iterator[World]:
    """A query in a directory of its own, and its clock as everybody's."""
    root = tempfile.mkdtemp(prefix="history-")
    made = World(Path(root))
    try:
        with mock.patch.object(poll, "now_ms", lambda: made.now_ms):
            yield made
    finally:
        shutil.rmtree(root)
