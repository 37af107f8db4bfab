"""A supervisor starts the real query at a random moment of a rollback with slow saves.

Whatever the moment: the rollback is refused or stopped with nothing lost, or it was over by then. After an undo every
byte is back, and the next start of the query computes what it should. On S3 the query runs on a copy on disk, as Spark
here cannot write there: it is copied out of the bucket when the query starts, and what the query wrote goes back in
the order in which it was written.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointNotFoundError, PlanError, StalePlanError
from airflow_provider_ckpt.lifecycle import Stores
from airflow_provider_ckpt.lifecycle.records import records_of
from airflow_provider_ckpt.store import Store
from tests.faults import Fault, FaultyStore
from tests.lifecycle.fake_query import read_all

pytestmark = pytest.mark.spark

BATCHES, KEEP = 6, 2
RUNS = 50 if os.environ.get("CKPT_EXHAUSTIVE") else 2
#: Seconds that each save takes, and before which the supervisor begins.
SAVE_S, WITHIN_S = 0.1, 2.5
STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}
Files = dict[str, bytes]


class Slow(Fault):
    """Every save takes a while, as a copy in an object store does."""

    def hits(self, call: str, store: Store) -> bool:
        if call == "keep":
            time.sleep(SAVE_S)
        return False


@dataclass
class Query:
    """A stateful query from files to a file sink: every row once."""

    spark: Any
    input: Path
    home: Path

    @property
    def checkpoint(self) -> Path:
        return self.home / "checkpoint"

    def write(self, number: int, values: list[int]) -> None:
        self.input.mkdir(parents=True, exist_ok=True)
        path = self.input / f"f{number:03d}.json"
        path.write_text("\n".join(json.dumps({"value": value}) for value in values))
        os.utime(path, (1_767_225_600 + number,) * 2)

    def run(self) -> str:
        """Start it and let it read all that there is; what Spark stopped with, or nothing."""
        session = self.spark.newSession()
        rows = session.readStream.schema("value long").option("maxFilesPerTrigger", 1).json(str(self.input))
        query = (
            rows.dropDuplicates(["value"])
            .writeStream.format("json")
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .start(str(self.home / "out"))
        )
        try:
            query.awaitTermination(120)
        except Exception as error:  # files vanish under it: what Spark makes of that is its own affair
            return str(error).splitlines()[0]
        return ""

    @property
    def result(self) -> list[int]:
        return sorted(row.value for row in self.spark.read.schema("value long").json(str(self.home / "out")).collect())


@pytest.fixture(scope="module")
def base(spark, tmp_path_factory) -> Query:
    """Six batches, and two files that are still to be read: one of new rows, one of old rows and a new one."""
    home = tmp_path_factory.mktemp("supervised")
    query = Query(spark, home / "input", home / "base")
    for number in range(BATCHES):
        query.write(number, [10 * number, 10 * number + 1])
    assert query.run() == ""
    query.write(BATCHES, [600, 601])
    query.write(BATCHES + 1, [*TRUTH[:-1], 700])
    return query


TRUTH = sorted([*(10 * number + one for number in range(BATCHES) for one in (0, 1)), 600, 601, 700])


class Place:
    """Where the checkpoint is that is rolled back: the query's own directory."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.store = Store.open(str(query.checkpoint))

    def supervise(self) -> str:
        """Start the query on what stands there now."""
        return self.query.run()


class Bucket(Place):
    """The same in a bucket."""

    def __init__(self, query: Query, store: Store) -> None:
        self.query, self.store = query, store
        for name, data in read_all(Store.open(str(query.checkpoint))).items():
            store.create(name, data)

    def supervise(self) -> str:
        shutil.rmtree(self.query.checkpoint)
        there = read_all_there(self.store)
        for name, data in there.items():
            path = self.query.checkpoint / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        stopped_with = self.query.run()
        files = [path for path in self.query.checkpoint.rglob("*") if path.is_file()]
        for path in sorted(files, key=lambda path: path.stat().st_mtime_ns):
            name, data = path.relative_to(self.query.checkpoint).as_posix(), path.read_bytes()
            if there.get(name) != data:
                self.store.write(name, data)
        return stopped_with


def read_all_there(store: Store) -> Files:
    """Every file that is there; some may go meanwhile."""
    found = {}
    for name in store.find():
        with suppress(CheckpointNotFoundError):
            found[name] = store.read(name)
    return found


@pytest.mark.parametrize("on", ["disk", pytest.param("s3", marks=pytest.mark.s3)])
def test_a_supervisor_that_starts_the_query_during_a_rollback(base, tmp_path, request, on, record_property):
    seed = int(os.environ.get("CKPT_SEED", time.time_ns() % 1_000_000))
    print(f"CKPT_SEED={seed}")
    rng, outcomes = random.Random(seed), []
    for run in range(RUNS):
        query = copied(base, tmp_path / f"run-{run}")
        place = (
            Place(query) if on == "disk" else Bucket(query, request.getfixturevalue("s3_store")(f"run-{run}/orders"))
        )
        outcomes.append(one_run(place, rng.uniform(0, WITHIN_S), f"CKPT_SEED={seed}, run {run}"))
        print(f"CKPT_SEED={seed}, run {run}: {outcomes[-1]}", flush=True)
        shutil.rmtree(tmp_path / f"run-{run}", ignore_errors=True)
    record_property("outcomes", str(outcomes))


def copied(base: Query, home: Path) -> Query:
    """The query with its sink elsewhere; the log of a file sink holds whole paths."""
    shutil.copytree(base.home, home, copy_function=shutil.copy2)
    for entry in (home / "out" / "_spark_metadata").iterdir():
        if entry.suffix == ".crc":
            entry.unlink()
        else:
            entry.write_text(entry.read_text().replace(str(base.home), str(home)))
    return Query(base.spark, base.input, home)


def one_run(place: Place, delay_s: float, where: str) -> str:
    before = read_all(place.store)
    plan = lifecycle.make_rollback(Stores(place.store), KEEP)
    done: list[str] = []
    supervisor = threading.Thread(target=lambda: (time.sleep(delay_s), done.append(place.supervise())))
    supervisor.start()
    try:
        lifecycle.apply(plan, Stores(FaultyStore.of(place.store, Slow())), **STOPPED)
        outcome = "applied"
    except (CheckpointBusyError, StalePlanError) as refused:
        assert refused.hint, where
        outcome = type(refused).__name__
    finally:
        supervisor.join(150)
    assert done, f"{where}: the query did not end"
    assert saved_or_there(place.store) >= set(before.items()), f"{where}: lost ({outcome})"
    state = take_back(place.store, before, where)
    assert_right_restart(place, where)
    return f"{outcome}, {state}"


def take_back(store: Store, before: Files, where: str) -> str:
    """Undo, unless nothing was done; afterwards every byte is there."""
    (state,) = [record.state for record in lifecycle.history(store) if record.plan.kind == "rollback"] or ["none"]
    if state in ("applied", "interrupted"):
        lifecycle.apply(lifecycle.make_undo(Stores(store)), Stores(store), **STOPPED)
        left = read_all(store)
        assert {name for name in before if left.get(name) != before[name]} == set(), f"{where}: undone from {state}"
    else:
        with pytest.raises(PlanError, match="nothing to undo"):
            lifecycle.make_undo(Stores(store))
    return state


def assert_right_restart(place: Place, where: str) -> None:
    """The next start reads what is left to be read; every row is in the sink once, and none of the old ones again."""
    assert place.supervise() == "", where
    assert place.query.result == TRUTH, where
    errors = [item for item in lifecycle.inspect(place.store, deep=True) if item.severity == "error"]
    assert errors == [], where


def saved_or_there(store: Store) -> set[tuple[str, bytes]]:
    left = set(read_all_there(store).items())
    for record in records_of(store).ls()[1]:
        left |= set(read_all(records_of(store).child(f"{record}/saved/checkpoint")).items())
    return left
