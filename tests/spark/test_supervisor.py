"""A supervisor starts the real query at a random moment of a rollback with slow saves and slow removals.

A third of the starts falls into the saves, a third into the removals, a third after the end. Whatever the moment: the
rollback is refused or stopped with nothing lost, or it was over by then. After an undo every byte is back, also in the
log of the sink, and the next start of the query computes what it should. On S3 the query runs on a copy on disk, as
Spark here cannot write there: it is copied out of the bucket when the query starts, and what the query writes goes into
the bucket as soon as it is there.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.find_records import records_of
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointNotFoundError, PlanError, StalePlanError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import read_all
from tests.faults import Fault, FaultyStore

pytestmark = pytest.mark.spark

BATCHES, KEEP = 5, 2
EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))
RUNS = 50 if EXHAUSTIVE else 3
#: Seconds that each save and each removal takes.
SLOW_S = 0.05
SAVING, REMOVING, AFTER = "while it saved", "while it removed", "after its end"
STOPPED = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": "unknown"}
Files = dict[str, bytes]


class Slow(Fault):
    """Every save and every removal takes a while, as in an object store; during one of them somebody is called.

    Args:
        moment: After how many saves and removals; a fraction is one of the time that the next one takes.
        call: Who is called then, with what the rollback is at.
    """

    def __init__(self, moment: float, call: Any) -> None:
        super().__init__()
        self.moment, self.call, self.removed = moment, call, 0

    def hits(self, call: str, store: Store) -> bool:
        if call in ("keep", "delete_if"):
            until_s = (self.moment - self.calls) * SLOW_S
            self.calls += 1
            if 0 <= until_s < SLOW_S:
                time.sleep(until_s)
                self.call(SAVING if call == "keep" else REMOVING)
                time.sleep(SLOW_S - until_s)
            else:
                time.sleep(SLOW_S)
            self.removed += call == "delete_if"
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
            query.awaitTermination(600)
        except Exception as error:  # files vanish under it: what Spark makes of that is its own affair
            return str(error).splitlines()[0]
        return ""

    @property
    def sink(self) -> Store:
        return Store.open(str(self.home / "out"))

    @property
    def result(self) -> list[int]:
        return sorted(row.value for row in self.spark.read.schema("value long").json(str(self.home / "out")).collect())


@pytest.fixture(scope="module")
def base(spark, tmp_path_factory) -> Query:
    """Five batches, and two files that are still to be read: one of new rows, one of old rows and a new one."""
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

    @property
    def stores(self) -> Stores:
        return Stores(self.store, self.query.sink)

    def supervise(self) -> str:
        """Start the query on what stands there now."""
        return self.query.run()


class Bucket(Place):
    """The same in a bucket, where Hadoop keeps no checksum files."""

    def __init__(self, query: Query, store: Store) -> None:
        self.query, self.store = query, store
        for name, data in read_all(Store.open(str(query.checkpoint))).items():
            if not name.endswith(".crc"):
                store.create(name, data)

    def supervise(self) -> str:
        shutil.rmtree(self.query.checkpoint)
        for name, data in read_all_there(self.store).items():
            path = self.query.checkpoint / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        local, ended = Store.open(str(self.query.checkpoint)), list[str]()
        known = {name: stored.identity for name, stored in local.find().items()}
        running = threading.Thread(target=lambda: ended.append(self.query.run()))
        running.start()
        while running.is_alive():
            running.join(0.05)
            self._upload(local, known)
        self._upload(local, known)
        return ended[0]

    def _upload(self, local: Store, known: dict[str, str]) -> None:
        """What the query has written since the files that are known, in the order in which it was written."""
        written = {name: stored for name, stored in local.find().items() if stored.identity != known.get(name)}
        for name, stored in sorted(written.items(), key=lambda item: item[1].modified_ms or 0):
            if ".tmp" not in name and not name.endswith(".crc"):
                with suppress(CheckpointNotFoundError):
                    self.store.write(name, local.read(name))
                    known[name] = stored.identity


def read_all_there(store: Store) -> Files:
    """Every file that is there; some may go meanwhile."""
    found = {}
    for name in store.find():
        with suppress(CheckpointNotFoundError):
            found[name] = store.read(name)
    return found


@pytest.mark.parametrize("on", ["disk", pytest.param("s3", marks=[pytest.mark.s3, pytest.mark.exhaustive])])
def test_a_supervisor_that_starts_the_query_during_a_rollback(base, tmp_path, request, on):
    seed = int(os.environ.get("CKPT_SEED", time.time_ns() % 1_000_000 if EXHAUSTIVE else 385_838))
    rng, seen = random.Random(seed), Counter()
    for run, part in enumerate(rng.sample(range(RUNS), RUNS)):
        query = copied(base, tmp_path / f"run-{run}")
        place = (
            Place(query) if on == "disk" else Bucket(query, request.getfixturevalue("s3_store")(f"run-{run}/orders"))
        )
        where = f"CKPT_SEED={seed}, run {run} on {on}"
        fell, removed, outcome = one_run(place, (part + rng.random()) / RUNS, where)
        seen[fell, outcome] += 1
        print(f"{where}: started {fell} ({removed}); {outcome}", flush=True)
        shutil.rmtree(tmp_path / f"run-{run}", ignore_errors=True)
    for (fell, outcome), times in sorted(seen.items()):
        print(f"CKPT_SEED={seed} on {on}: {times} of {RUNS} started {fell}; {outcome}")
    assert {fell for fell, _ in seen} == {SAVING, REMOVING, AFTER}


def copied(base: Query, home: Path) -> Query:
    """The query with its sink elsewhere; the log of a file sink holds whole paths."""
    shutil.copytree(base.home, home, copy_function=shutil.copy2)
    for entry in (home / "out" / "_spark_metadata").iterdir():
        if entry.suffix == ".crc":
            entry.unlink()
        else:
            entry.write_text(entry.read_text().replace(str(base.home), str(home)))
    return Query(base.spark, base.input, home)


def one_run(place: Place, share: float, where: str) -> tuple[str, str, str]:
    """Roll back, with a start after a share of the time: a third of it is for saves, for removals, and after the end.

    Returns:
        When the start fell, how many files were gone by then, and what came of both.
    """
    before = everything(place)
    plan = make_rollback(place.stores, KEEP, trim_sink_log=True)
    steps = len(plan.actions)
    ended: list[str] = []
    fell: list[str] = []

    def start(when: str) -> None:
        fell.extend((when, f"{slow.removed} of {steps} files were gone"))
        supervisor.start()

    supervisor = threading.Thread(target=lambda: ended.append(place.supervise()))
    slow = Slow(share * 3 * steps, start)
    slowly = Stores(FaultyStore.of(place.store, slow), FaultyStore.of(place.query.sink, slow))
    try:
        apply(plan, slowly, **STOPPED)
        outcome = "applied"
        assert slow.calls == 2 * steps, where
    except (CheckpointBusyError, StalePlanError) as refused:
        assert refused.hint, where
        outcome = f"refused ({type(refused).__name__})"
    if not fell:
        time.sleep((slow.moment - 2 * steps) * SLOW_S)
        start(AFTER)
    supervisor.join(600)
    assert ended, f"{where}: the query did not end"
    assert saved_or_there(place) >= set(before.items()), f"{where}: lost ({outcome})"
    state = take_back(place, before, where)
    assert_right_restart(place, where)
    came_of_it = f"{outcome}, {state} by the record, the query {'was stopped by an error' if ended[0] else 'ran'}"
    return fell[0], fell[1], came_of_it


def everything(place: Place) -> Files:
    """The checkpoint and the log of the sink."""
    found = {f"checkpoint/{name}": data for name, data in read_all_there(place.store).items()}
    log = place.query.sink.child("_spark_metadata")
    return found | {f"sink/_spark_metadata/{name}": data for name, data in read_all_there(log).items()}


def take_back(place: Place, before: Files, where: str) -> str:
    """Undo, unless nothing was done; afterwards every byte is there."""
    records = [record.state for record in history(place.store) if record.plan.kind == "rollback"]
    (state,) = records or ["none"]
    if state in ("applied", "interrupted"):
        apply(make_undo(place.stores), place.stores, **STOPPED)
        left = everything(place)
        assert {name for name in before if left.get(name) != before[name]} == set(), f"{where}: undone from {state}"
    else:
        with pytest.raises(PlanError, match="no change that can be undone"):
            make_undo(place.stores)
    return state


def assert_right_restart(place: Place, where: str) -> None:
    """The next start reads what is left to be read; every row is in the sink once, and none of the old ones again."""
    assert place.supervise() == "", where
    assert place.query.result == TRUTH, where
    errors = [item for item in inspect(place.store, deep=True) if item.severity == "error"]
    assert errors == [], where


def saved_or_there(place: Place) -> set[tuple[str, bytes]]:
    left = set(everything(place).items())
    records = records_of(place.store)
    for record in records.ls()[1]:
        left |= set(read_all(records.child(f"{record}/saved")).items())
    return left
