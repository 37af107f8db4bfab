"""A table under everything at once: streams that are killed and restarted, merging, vacuums and readers, in any order."""

from __future__ import annotations

import io
import os
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_ckpt.epochs.compact import compact
from airflow_provider_ckpt.epochs.manifest import COMMIT_WITHIN_MS, GRACE_MS, Written
from airflow_provider_ckpt.epochs.publish import abort, commit
from airflow_provider_ckpt.epochs.read import read_table
from airflow_provider_ckpt.epochs.vacuum import vacuum
from airflow_provider_ckpt.epochs.write_rows import write_rows
from airflow_provider_ckpt.errors import CheckpointNotFoundError, StoreError
from airflow_provider_ckpt.storage.store import Store
from tests.turns import Actor, Turns, TurnStore

SEEDS = range(400) if os.environ.get("CKPT_EXHAUSTIVE") else range(12)
QUERIES, EPOCHS, TASKS = ("orders", "clicks"), 5, 2
NOW_MS = 1_800_000_000_000


class World:
    """The queries with the commit log of each, and what they have written."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.turns = Turns(seed, NOW_MS)
        self.chance = self.turns.random
        self.done = dict.fromkeys(QUERIES, -1)  # Spark's commit log
        self.drivers: dict[str, Actor] = {}
        self.zombies: set[Actor] = set()
        self.restarts = self.reads = 0

    def act(self) -> None:
        """Let all of it happen, with failures for most of the time."""
        self.turns.fail_share = 0.04
        for query in QUERIES:
            self.start(query)
        self.turns.start("compactor", self.merge)
        self.turns.start("vacuumer", self.clean)
        self.turns.start("reader", self.read)
        self.turns.run(self.kill_or_restart)

    def start(self, query: str) -> None:
        self.drivers[query] = self.turns.start(f"driver of {query}", lambda actor: self.drive(query, actor))

    def kill_or_restart(self) -> None:
        """A driver dies, or is restarted while it is still at its commit; one that has failed is started again."""
        for query in QUERIES:
            driver = self.drivers[query]
            if driver.state == "waiting" and self.restarts < 12 and self.chance.random() < 0.02:
                self.restarts += 1
                self.zombies.add(driver)
                if self.chance.random() < 0.7:
                    driver.kill()
                self.start(query)
            elif driver.state == "done" and self.done[query] < EPOCHS - 1:
                self.start(query)

    def drive(self, query: str, actor: Actor) -> None:
        table = TurnStore.of(str(self.root), actor)
        while actor not in self.zombies and self.done[query] < EPOCHS - 1:
            epoch = self.done[query] + 1
            since_ms, written = self.turns.now_ms, []
            try:
                for task in range(TASKS):
                    while self.chance.random() < 0.2:  # an attempt that is lost, or a speculative one
                        list(write_rows(table, rows_of(query, epoch, task)))
                    files = tuple(write_rows(table, rows_of(query, epoch, task)))
                    written.append(Written(query, files, since_ms))
                commit(table, epoch, written, "{}", self.turns.now_ms)
            except StoreError:
                try:
                    abort(table, epoch, [*written, *[None] * (TASKS - len(written))])
                except StoreError:
                    return
                return
            if actor not in self.zombies:
                self.done[query] = epoch

    def merge(self, actor: Actor) -> None:
        for _ in range(6):
            try:
                compact(
                    TurnStore.of(str(self.root), actor),
                    self.turns.now_ms,
                    least_epochs=2,
                    most_bytes=self.chance.choice((1 << 10, 1 << 20)),
                )
            except StoreError:
                continue

    def clean(self, actor: Actor) -> None:
        for _ in range(8):
            try:
                vacuum(TurnStore.of(str(self.root), actor), self.turns.now_ms)
            except StoreError:
                continue

    def read(self, actor: Actor) -> None:
        for _ in range(8):
            self.read_once(TurnStore.of(str(self.root), actor))

    def read_once(self, table: Store) -> None:
        began_ms, done = self.turns.now_ms, dict(self.done)
        try:
            found = rows_in(table)
        except CheckpointNotFoundError as missing:
            # nothing is committed, or the reader took longer than what it reads is kept
            assert set(done.values()) == {-1} or self.turns.now_ms - began_ms > GRACE_MS, missing
            return
        except StoreError:
            return
        self.reads += 1
        assert set(found.values()) <= {1}, "a row is there twice"
        wanted = {row for query, last in done.items() for epoch in range(last + 1) for row in truth(query, epoch)}
        assert wanted <= found.keys(), "a row of an epoch that was committed before is missing"


def truth(query: str, epoch: int) -> set[tuple[str, int, int]]:
    """The rows of an epoch, whichever attempt wrote them."""
    return {(query, epoch, task) for task in range(TASKS) if (epoch + task) % 4}


def rows_of(query: str, epoch: int, task: int) -> list[pa.RecordBatch]:
    """The rows of a task, which may have none."""
    rows = [row for row in truth(query, epoch) if row[2] == task]
    columns = [pa.array([row[place] for row in rows]) for place in range(3)]
    return [pa.record_batch(columns, names=["query", "epoch", "task"])]


def rows_in(table: Store) -> Counter[tuple[str, int, int]]:
    """What a reader finds."""
    found: Counter[tuple[str, int, int]] = Counter()
    for file in read_table(table).files:
        rows = pq.read_table(io.BytesIO(table.read(file.name))).to_pylist()
        assert len(rows) == file.rows
        found.update((row["query"], row["epoch"], row["task"]) for row in rows)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_each_row_is_there_once_whatever_happens_when(tmp_path, seed):
    world = World(tmp_path, seed)
    world.act()
    table = Store.open(str(tmp_path))
    everything = {row for query in QUERIES for epoch in range(EPOCHS) for row in truth(query, epoch)}
    assert rows_in(table) == Counter(everything)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_lost_is_deleted_a_day_later_and_nothing_else(tmp_path, seed):
    world = World(tmp_path, seed)
    world.act()
    table = Store.open(str(tmp_path))
    rows = rows_in(table)
    later_ms = max(world.turns.now_ms, NOW_MS) + 400 * GRACE_MS  # the files have the time of the machine
    vacuum(table, later_ms)
    named = {file.name for file in read_table(table).files}
    assert set(table.find("data")) == named
    assert rows_in(table) == rows
    assert vacuum(table, later_ms).files == ()


def test_the_model_kills_restarts_merges_and_reads(tmp_path):
    """Or it would show nothing."""
    worlds = []
    for seed in SEEDS[:8]:
        worlds.append(World(tmp_path / str(seed), seed))
        worlds[-1].act()
    assert sum(world.restarts for world in worlds) > 10
    assert sum(world.reads for world in worlds) > 20
    assert list(tmp_path.glob("*/epochs/*/*.compact"))
    assert COMMIT_WITHIN_MS < GRACE_MS
