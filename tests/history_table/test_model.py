"""A table under everything at once: streams that are killed, restarted and rolled back, merging, vacuums and readers."""

from __future__ import annotations

import io
import os
from collections import Counter
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_ckpt import clock
from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreError
from airflow_provider_ckpt.history_table.compact import compact
from airflow_provider_ckpt.history_table.manifest import COMMIT_WITHIN_MS, GRACE_MS, Written
from airflow_provider_ckpt.history_table.publish import abort, commit
from airflow_provider_ckpt.history_table.read import read_manifest, read_table, undone_places
from airflow_provider_ckpt.history_table.rewind import rewind
from airflow_provider_ckpt.history_table.vacuum import vacuum
from airflow_provider_ckpt.history_table.write_rows import write_rows
from airflow_provider_ckpt.storage.store import Store
from tests.turns import Actor, Turns, TurnStore

SEEDS = range(400) if os.environ.get("CKPT_EXHAUSTIVE") else range(8, 20)
QUERIES, EPOCHS, TASKS = ("orders", "clicks"), 7, 2
#: A rollback goes back so many epochs at most, and one may be there that is not committed in Spark, and that of a zombie.
ROLLBACK, KEPT = 1, 3
NOW_MS = 1_800_000_000_000
#: Query, epoch, task, and which plan of the epoch it is of.
Row = tuple[str, int, int, int]


class World:
    """The queries with the commit log of each, and what they have written."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.turns = Turns(seed, NOW_MS)
        self.chance = self.turns.random
        self.done = dict.fromkeys(QUERIES, -1)  # Spark's commit log
        self.plans: dict[str, dict[int, int]] = {query: {} for query in QUERIES}  # its offset log
        self.furthest = dict(self.done)
        self.planned = 0
        self.drivers: dict[str, Actor] = {}
        self.zombies: set[Actor] = set()
        self.restarts = self.reads = self.rollbacks = self.refused = self.merged = 0
        self.table = Store.open(str(root))

    def act(self) -> None:
        """Let all of it happen, with failures for most of the time."""
        self.turns.fail_share = 0.04
        for query in QUERIES:
            self.start(query)
        for number in range(2):
            self.turns.start(f"compactor {number}", self.merge)
            self.turns.start(f"vacuumer {number}", self.clean)
        self.turns.start("reader", self.read)
        self.turns.run(self.kill_or_restart)

    def start(self, query: str) -> None:
        self.drivers[query] = self.turns.start(f"driver of {query}", lambda actor: self.drive(query, actor))

    def kill_or_restart(self) -> None:
        """A driver dies, or is restarted while it is still at its commit; one that has failed is started again."""
        for query in QUERIES:
            driver = self.drivers[query]
            if self.rollbacks < 4 and self.done[query] == self.furthest[query] >= 0 and self.chance.random() < 0.01:
                self.roll_back(query)
            elif driver.state == "waiting" and self.restarts < 12 and self.chance.random() < 0.02:
                self.restarts += 1
                self.zombies.add(driver)
                if self.chance.random() < 0.7:
                    driver.kill()
                self.start(query)
            elif driver.state == "done" and self.done[query] < EPOCHS - 1:
                self.start(query)

    def roll_back(self, query: str) -> None:
        """The query is stopped, or seems to be, its checkpoint goes back, and it is started again; its table stays."""
        self.rollbacks += 1
        self.zombies.add(self.drivers[query])
        if self.chance.random() < 0.7:  # or it sleeps, and nobody has noticed
            self.drivers[query].kill()
        self.done[query] = max(-1, self.done[query] - self.chance.randint(0, ROLLBACK))
        self.plans[query] = {epoch: plan for epoch, plan in self.plans[query].items() if epoch <= self.done[query]}
        self.start(query)

    def plan(self, query: str) -> tuple[int, int]:
        """The next epoch, and which plan of it this is: that of the offset log, or a new one."""
        epoch = self.done[query] + 1
        self.planned += 1
        return epoch, self.plans[query].setdefault(epoch, self.planned)

    def drive(self, query: str, actor: Actor) -> None:
        table = TurnStore.of(str(self.root), actor)
        while actor not in self.zombies and self.done[query] < EPOCHS - 1:
            epoch, plan = self.plan(query)
            since_ms, written = self.turns.now_ms, []
            try:
                for task in range(TASKS):
                    while self.chance.random() < 0.2:  # an attempt that is lost, or a speculative one
                        list(write_rows(table, rows_of((query, epoch, task, plan))))
                    files = tuple(write_rows(table, rows_of((query, epoch, task, plan))))
                    written.append(Written(query, files, since_ms, str(plan)))
                planned = self.plans[query].get(epoch)  # by now it may be another one, or none, for a zombie
                commit(table, epoch, written, "{}", self.turns.now_ms, None if planned is None else str(planned))
            except StoreError as error:
                try:
                    if "the table go back as well" in (error.hint or "") and actor not in self.zombies:
                        self.refused += 1
                        rewind(table, query, epoch - 1, self.turns.now_ms)
                    abort(table, epoch, [*written, *[None] * (TASKS - len(written))])
                except StoreError:
                    return
                return
            if actor not in self.zombies:
                self.done[query] = epoch
                self.furthest[query] = max(epoch, self.furthest[query])

    def merge(self, actor: Actor) -> None:
        for _ in range(40):
            try:
                compact(
                    TurnStore.of(str(self.root), actor),
                    self.turns.now_ms,
                    least_epochs=2,
                    kept_epochs=KEPT,
                    most_bytes=self.chance.choice((1 << 10, 1 << 20)),
                )
            except StoreError:
                continue

    def clean(self, actor: Actor) -> None:
        for _ in range(6):
            try:
                vacuum(TurnStore.of(str(self.root), actor), self.turns.now_ms)
            except StoreError:
                continue

    def read(self, actor: Actor) -> None:
        for _ in range(8):
            self.read_once(TurnStore.of(str(self.root), actor))

    def read_once(self, table: Store) -> None:
        began_ms, done, rollbacks = self.turns.now_ms, dict(self.done), self.rollbacks
        try:
            found = rows_in(table)
        except CheckpointNotFoundError as missing:
            # nothing is committed, the reader took longer than what it reads is kept, or the table was taken back
            took_long = self.turns.now_ms - began_ms > GRACE_MS
            assert set(done.values()) == {-1} or took_long or self.refused, missing
            return
        except StoreError:
            return
        self.reads += 1
        assert set(found.values()) <= {1}, "a row is there twice"
        tasks = Counter(row[:3] for row in found)
        if rollbacks == self.rollbacks == 0:
            assert set(tasks.values()) <= {1}, "rows of two plans of an epoch are there"
        if rollbacks == self.rollbacks:
            wanted = {
                task for query, last in done.items() for epoch in range(last + 1) for task in tasks_of(query, epoch)
            }
            assert wanted <= tasks.keys(), "a row of an epoch that was committed before is missing"

    def everything(self) -> set[Row]:
        """The rows of each epoch by its last plan."""
        epochs = ((query, epoch, plan) for query in QUERIES for epoch, plan in self.plans[query].items())
        return {(*task, plan) for query, epoch, plan in epochs for task in tasks_of(query, epoch)}


def tasks_of(query: str, epoch: int) -> set[tuple[str, int, int]]:
    """The tasks of an epoch that have a row."""
    return {(query, epoch, task) for task in range(TASKS) if (epoch + task) % 4}


def rows_of(row: Row) -> list[pa.RecordBatch]:
    """The rows of a task, which may have none."""
    rows = [row] if row[:3] in tasks_of(*row[:2]) else []
    columns = [pa.array([row[place] for row in rows]) for place in range(4)]
    return [pa.record_batch(columns, names=["query", "epoch", "task", "plan"])]


def rows_in(table: Store) -> Counter[Row]:
    """What a reader finds."""
    found: Counter[Row] = Counter()
    for file in read_table(table).files:
        rows = pq.read_table(io.BytesIO(table.read(file.name))).to_pylist()
        assert len(rows) == file.rows
        found.update((row["query"], row["epoch"], row["task"], row["plan"]) for row in rows)
    return found


@pytest.fixture(scope="module")
def world_of(tmp_path_factory):
    """The world of a seed after all has happened in it, once for all tests, which take away what is lost at most.

    Who asks this machine for the time gets the world's.
    """

    @cache
    def make(seed: int) -> World:
        world = World(tmp_path_factory.mktemp(f"world-{seed}"), seed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(clock, "now_ms", lambda: world.turns.now_ms)
            world.act()
        world.merged = len(list(world.root.glob("epochs/*/*.compact")))
        return world

    return make


@pytest.mark.parametrize("seed", SEEDS)
def test_each_row_is_there_once_whatever_happens_when(world_of, seed):
    world = world_of(seed)
    assert [len(plans) for plans in world.plans.values()] == [EPOCHS] * len(QUERIES)
    assert rows_in(world.table) == Counter(world.everything())


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_lost_is_deleted_a_day_later_and_nothing_else(world_of, monkeypatch, seed):
    world = world_of(seed)
    monkeypatch.setattr(clock, "now_ms", lambda: world.turns.now_ms)
    table = world.table
    rows = rows_in(table)
    later_ms = max(world.turns.now_ms, NOW_MS) + 400 * GRACE_MS  # the files have the time of the machine
    vacuum(table, later_ms)
    undone = [read_manifest(table, place, name) for name, place in undone_places(table).items()]
    kept = (*read_table(table).manifests, *undone)
    assert set(table.find("data")) == {file.name for manifest in kept for file in manifest.files}
    assert rows_in(table) == rows
    assert vacuum(table, later_ms).files == ()


def test_the_model_kills_restarts_rolls_back_merges_and_reads(world_of):
    """Or it would show nothing."""
    worlds = [world_of(seed) for seed in SEEDS[:8]]
    assert sum(world.restarts for world in worlds) > 10
    assert sum(world.reads for world in worlds) > 20
    assert sum(world.rollbacks for world in worlds) > 10
    assert sum(world.refused for world in worlds) > 5
    assert sum(world.merged for world in worlds) > 0
    assert COMMIT_WITHIN_MS < GRACE_MS
