"""Fences against live queries of real Spark: each case is a query, a place, a moment, and what becomes of its driver.

A driver is a process that runs the queries of one round. In the midst of the fences it is killed, so some of its queries
die before, in or after their fence. The driver of the next round starts all of them again, and each must go on: no row
of the sink is missing, and none is there twice.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.fence.plan import fence_of
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.fence.put_fence import put_fence
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.codec import commit_log, offset_log
from airflow_provider_ckpt.errors import CheckpointBusyError, CheckpointError
from airflow_provider_ckpt.storage.store import Store
from tests.changes.fence.driver import ADVANCE_MS, ROWS, SHARED, START_MS

#: What becomes of the writer: it lives; it has died; it dies about then; two of them share the checkpoint.
ALIVE, DEAD, DYING, TWO = "alive", "dead", "dying", "two drivers"
KINDS = ("stateless", "windows", "sessions", "distinct")
STATES = ("hdfs", "rocksdb", "rocksdb-changelog", "rocksdb-v2")
#: Spark finds the entry before it writes its own, or when it gives its own the name.
CONDITIONS = ("CONCURRENT_STREAM_LOG_UPDATE", "_LEGACY_ERROR_TEMP_2207")
WINDOW_MS, GAP_MS = 5000, 1500
#: A fault of Spark 4.3: with state format 2 it never gets over a batch that the log of its file sink has and its commit
#: log has not, with or without a fence (``tests/changes/fence/control.py``). A rollback of both logs helps.
SPARKS_OWN = "CheckpointInfo length: 0"
#: How many queries are judged at once: those that wait for their turn run on, and take time from the others.
TOGETHER = 6
#: Nothing here takes so long on a machine that does other work as well.
PATIENCE_S = 600.0


@dataclass(slots=True)
class Case:
    """One fence.

    Args:
        number: Of the case.
        kind: Of the query.
        place: ``disk`` or ``s3``.
        fate: Of the driver.
        spec: How the query is started.
        store: Its checkpoint.
        delay_s: When the fence begins; of a driver that dies, from its end.
        wait_s: How long the fence waits for a batch in flight.
    """

    number: int
    kind: str
    place: str
    fate: str
    spec: dict[str, Any]
    store: Store
    delay_s: float
    wait_s: float
    outcome: str = ""
    took_s: float = 0.0
    fence: int | None = None
    data: bytes = b""
    was_in_flight: bool = False

    @property
    def name(self) -> str:
        return f"q{self.number}"

    def __str__(self) -> str:
        slow = f", batches of {self.spec['slow_ms']} ms" if self.spec["slow_ms"] else ""
        return f"case {self.number}: {self.kind} ({self.spec['state']}) on {self.place}, {self.fate}{slow}"

    def row(self) -> dict[str, Any]:
        """What came of it, for the summary."""
        return {
            "fate": self.fate,
            "place": self.place,
            "outcome": self.outcome if len(self.outcome) < 20 else "other",
            "kind": self.kind,
            "was_in_flight": self.was_in_flight,
            "is_slow": bool(self.spec["slow_ms"]),
            "took_s": self.took_s,
        }

    def newest(self, log: str) -> int:
        return max((int(name.rpartition("/")[2]) for name in self.store.names(log) if is_entry(name)), default=-1)


def is_ahead(case: Case) -> bool:
    """Whether the log of the sink has a batch that the commit log has not: its driver was killed between the two."""
    log = Store.open(case.spec["sink"]).names("_spark_metadata")
    newest = (name.rpartition("/")[2].removesuffix(".compact") for name in log)
    return max((int(number) for number in newest if number.isdigit()), default=-1) > case.newest("commits")


def go_back(case: Case) -> None:
    """Roll a stopped query back to its newest commit, and the log of its sink with it."""
    stores = Stores(case.store, Store.open(case.spec["sink"]))
    plan = make_rollback(stores, case.newest("commits"), trim_sink_log=True)
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink=("unknown", "skipped", "duplicated"))


def is_entry(name: str) -> bool:
    return name.rpartition("/")[2].isdigit()


@dataclass(slots=True)
class Driver:
    """A process that runs queries; each call is one line there and one back."""

    process: Any
    lock: Any = field(default_factory=Lock)

    @classmethod
    def start(cls, log: Path, s3_url: str | None) -> Driver:
        path = Path(__file__).with_name("driver.py")
        with log.open("ab") as errors:
            process = subprocess.Popen(
                [sys.executable, str(path), *([s3_url] if s3_url else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        assert process.stdout.readline().strip() == "ready", f"Spark did not start: {log}"
        return cls(process)

    def __call__(self, *words: Any) -> Any:
        with self.lock:
            self.process.stdin.write(json.dumps(words) + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline() or '{"failed": "the driver has ended"}')
        assert "failed" not in answer, answer["failed"]
        return answer["answer"]

    def kill(self) -> None:
        """End it and its Spark at once, as a crash does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def until_ready(case: Case) -> None:
    """Return when a query has committed two batches."""
    until(lambda: case.newest("commits") >= 1, f"two batches of {case}")


def until(ask: Callable[[], Any], what: str) -> Any:
    """The first true answer."""
    end = time.monotonic() + PATIENCE_S
    while not (answer := ask()):
        assert time.monotonic() < end, f"waited {PATIENCE_S:g} s for {what}"
        time.sleep(0.1)
    return answer


class Fences:
    """Rounds of fences.

    Args:
        root: Where checkpoints on disk, the output of the sinks and the log of the drivers are.
        s3: Opens the store of a checkpoint in S3, or None.
        s3_url: Of the S3 API.
        seed: Of all that is chosen.
    """

    def __init__(self, root: Path, s3: Callable[[str], Store] | None, s3_url: str | None, seed: int) -> None:
        self.root, self.s3, self.s3_url, self.chosen = root, s3, s3_url, random.Random(seed)
        self.number = self.sparks_own = 0
        self.second: Driver | None = None
        self.left: list[Case] = []
        self.judged: list[dict[str, Any]] = []
        self.wrong: list[str] = []

    def store(self, place: str, name: str) -> Store:
        """The checkpoint of a case."""
        if place == "disk":
            return Store.open(str(self.root / "checkpoints" / name))
        assert self.s3 is not None, "no S3 was given"
        return self.s3(name)

    def case(self, **given: Any) -> Case:
        """The next case, chosen at random as far as it is not given."""
        pick, self.number = self.chosen, self.number + 1
        place = given.get("place") or ("s3" if self.s3 and pick.random() < 0.2 else "disk")
        kind = given.get("kind") or pick.choice(KINDS)
        slow_ms = given.get("slow_ms", pick.choice((0, 0, 0, 3000)))
        name = f"q{self.number}"
        store = self.store(place, name)
        spec = {
            "kind": kind,
            "state": given.get("state") or ("hdfs" if kind == "stateless" else pick.choice(STATES)),
            "sink": str(self.root / "output" / name),
            "checkpoint": store.location.replace("s3://", "s3a://"),
            "every_ms": given.get("every_ms", pick.choice((0, 500, 1000, 2000, 2000, 3000))),
            "slow_ms": slow_ms,
        }
        fate = given.get("fate") or pick.choice((ALIVE, ALIVE, ALIVE, DEAD, DYING, DYING, TWO))
        lives = fate in (ALIVE, TWO)
        delay_s = pick.uniform(0, 2.0) if lives else pick.uniform(*((-2.0, 0.3) if fate == DYING else (0.5, 1.0)))
        return Case(self.number, kind, place, fate, spec, store, delay_s, PATIENCE_S / 2 if lives else 2.0)

    def round(self, cases: list[Case]) -> None:
        """Judge what is left of the last round, start these cases and fence them, and kill the driver."""
        driver = Driver.start(self.root / "driver.log", self.s3_url)
        try:
            self.judge_left(driver)
            if self.second is None and any(case.fate == TWO for case in cases):
                self.second = Driver.start(self.root / "driver.log", self.s3_url)
            living = [case for case in cases if case.fate in (ALIVE, TWO)]
            self.start(living, driver)
            self.fence_living(living, driver)
            print(f"{len(living)} fences beside queries that live", flush=True)
            dying = [case for case in cases if case.fate in (DEAD, DYING)]
            self.start(dying, driver)
            for case in dying:
                until_ready(case)
            self.fence_dying(dying, driver)
            print(f"{len(dying)} fences beside queries that die", flush=True)
        finally:
            if driver.process.poll() is None:
                driver.kill()
        self.left = cases

    def start(self, cases: list[Case], driver: Driver) -> None:
        """Start queries for the first time."""
        for case in cases:
            assert driver("start", case.name, case.spec) == ""

    def close(self) -> None:
        """End the second driver, which lives on from round to round."""
        if self.second is not None:
            self.second.kill()

    def fence_living(self, cases: list[Case], driver: Driver) -> None:
        """Fence queries whose drivers live on: each stops, and plans no batch after the fence."""

        def fence(case: Case) -> None:
            until_ready(case)
            if case.fate == TWO and self.second is not None:
                self.second("start", case.name, case.spec)
            self.fence(case)

        with ThreadPoolExecutor(max(1, len(cases))) as pool:
            list(pool.map(fence, cases))
        for case in cases:
            self.expect(case, case.outcome == "fenced", f"a fence beside a living query: {case.outcome}")
            for each in (driver, self.second if case.fate == TWO else None):
                if each is not None and case.outcome == "fenced":
                    self.expect_stopped(case, each)
            if case.fence is not None:
                newest = case.newest("offsets")
                self.expect(case, newest == case.fence, f"batch {newest} was planned behind the fence {case.fence}")
                own = case.store.read(f"offsets/{case.fence}")
                self.expect(case, own == case.data, f"the entry of the fence {case.fence} was replaced")

    def expect_stopped(self, case: Case, driver: Driver) -> None:
        """A query of a driver stops within one batch of its fence."""
        status = until(lambda: not (now := driver("status", case.name))["active"] and now, f"the end of {case}")
        if case.fate == ALIVE:  # of two drivers one may have stopped at the other
            self.expect(case, status["condition"] in CONDITIONS, f"it stopped with {status['said']}")

    def fence_dying(self, cases: list[Case], driver: Driver) -> None:
        """Fence queries about the moment at which their driver is killed."""
        first = min((case.delay_s for case in cases), default=0.0)
        with ThreadPoolExecutor(max(1, len(cases))) as pool:
            fences = [pool.submit(self.fence, case, case.delay_s - first) for case in cases]
            time.sleep(-min(0.0, first))
            driver.kill()
            for item in fences:
                item.result()
        for case in cases:
            is_fine = case.outcome in ("fenced", "in flight")
            self.expect(case, is_fine, f"a fence beside a dying query: {case.outcome}")

    def fence(self, case: Case, after_s: float | None = None) -> None:
        """Fence a case, and note what came of it."""
        time.sleep(case.delay_s if after_s is None else after_s)
        case.was_in_flight = case.newest("offsets") > case.newest("commits")
        began = time.monotonic()
        try:
            plan, _ = put_fence(Stores(case.store), by="the test", wait_s=case.wait_s)
        except CheckpointBusyError as error:
            case.outcome = "in flight" if "is in flight" in error.message else str(error)
        except CheckpointError as error:
            case.outcome = str(error)
        else:
            case.outcome, case.fence = "fenced", plan.batch_id + 1
            case.data = fence_of(plan).data.encode()
        case.took_s = time.monotonic() - began

    def judge_left(self, driver: Driver) -> None:
        """Start the queries of the last round again: each goes on, and its sink has each row once."""
        for first in range(0, len(self.left), TOGETHER):
            self.judge(self.left[first : first + TOGETHER], driver)
        self.judged += [case.row() for case in self.left]
        self.left = []

    def judge(self, cases: list[Case], driver: Driver) -> None:
        """Start queries again at once, and judge one after another."""
        before = {case.name: case.newest("commits") for case in cases}
        for case in cases:
            said = driver("start", case.name, case.spec)
            self.expect(case, said == "", f"it does not start: {said}")
        for case in cases:
            goal = before[case.name] + 4

            def went_on(case: Case = case, goal: int = goal) -> str:
                status = driver("status", case.name)
                if status["active"]:
                    return "on" if case.newest("commits") >= goal else ""
                if SPARKS_OWN not in status["said"] or case.spec["state"] != "rocksdb-v2" or not is_ahead(case):
                    return "stopped"
                self.sparks_own += 1
                go_back(case)
                driver("start", case.name, case.spec)
                return ""

            if until(went_on, f"three batches more of {case}") == "stopped":
                self.expect(case, False, f"it stopped after its restart: {driver('status', case.name)['said']}")
            driver("stop", case.name)
            for problem in wrong_rows(case):
                self.expect(case, False, problem)

    def expect(self, case: Case, holds: bool, problem: str) -> None:
        """Note what is wrong with a case."""
        if not holds:
            self.wrong.append(f"{case}: {problem}")
            print(f"WRONG {self.wrong[-1]}", flush=True)

    def finish(self) -> None:
        """Judge the last round."""
        driver = Driver.start(self.root / "driver.log", self.s3_url)
        try:
            self.judge_left(driver)
        finally:
            driver.kill()


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """What came of all cases, a line a kind of them."""
    groups = Counter((row["fate"], row["place"], row["outcome"]) for row in rows)
    for (fate, place, outcome), count in sorted(groups.items()):
        yield f"{fate:12} {place:5} {outcome:10} {count:4}"
    kinds = Counter(row["kind"] for row in rows)
    yield ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    behind, slow = (sum(row[name] for row in rows) for name in ("was_in_flight", "is_slow"))
    yield f"with a batch in flight when the fence began: {behind}; with batches of 3 s: {slow}"
    times = sorted(row["took_s"] for row in rows if row["outcome"] == "fenced")
    if times:
        yield f"seconds per fence: median {times[len(times) // 2]:.1f}, most {times[-1]:.1f}"


def wrong_rows(case: Case) -> Iterable[str]:
    """What is wrong with the sink of a query that was stopped after a commit."""
    rows = list(read_sink(Path(case.spec["sink"])))
    newest = case.newest("commits")
    entry = offset_log.decode(case.store.read(f"offsets/{newest}"), f"offsets/{newest}")
    ((_, offset),) = entry.offsets
    assert offset is not None, f"batch {newest} has no offset of its source"
    end = json.loads(offset.json)
    watermark_ms = entry.metadata.batch_watermark_ms if entry.metadata else 0
    commit_log.decode(case.store.read(f"commits/{newest}"), f"commits/{newest}")
    counts = Counter(row["value"] for row in rows)
    if twice := [value for value, count in counts.items() if count > 1]:
        yield f"{len(twice)} rows are there twice, such as {min(twice)}"
    if missing := sorted(expected_values(case.kind, end["offset"], watermark_ms) - counts.keys()):
        yield f"{len(missing)} rows are missing, such as {missing[0]}; the newest batch is {newest}, {end}"
    for row in rows:
        if "count" in row and row["count"] != count_of(case.kind, row["value"]):
            yield f"{row} has another count than {count_of(case.kind, row['value'])}"


def expected_values(kind: str, rows: int, watermark_ms: int) -> set[int]:
    """What the sink must hold when so many rows were read, and so far the watermark has come."""
    match kind:
        case "stateless":
            return set(range(rows))
        case "distinct":
            return set(range(rows // 2))
        case "windows":
            return {start // 1000 for start in range(START_MS, watermark_ms - WINDOW_MS + 1, WINDOW_MS)}
    # The time goes on with each batch; a session ends a gap after its last batch.
    ends = (
        (key, START_MS + (key + 1) * SHARED * ADVANCE_MS - ADVANCE_MS + GAP_MS)
        for key in range(rows // (ROWS * SHARED))
    )
    return {key for key, end_ms in ends if end_ms < watermark_ms}


def count_of(kind: str, value: int) -> int:
    """How many rows a window or a session has."""
    return ROWS * WINDOW_MS // ADVANCE_MS if kind == "windows" else ROWS * SHARED


def read_sink(output: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file sink, as its log says."""
    log = output / "_spark_metadata"
    entries = {int(path.name.split(".")[0]): path for path in log.glob("*") if path.name.split(".")[0].isdigit()}
    compact = {int(path.name.split(".")[0]): path for path in log.glob("*.compact")}
    base = max(compact, default=-1)
    paths = [compact[base]] if compact else []
    paths += [path for number, path in sorted(entries.items()) if number > base]
    for path in paths:
        for line in path.read_text().splitlines()[1:]:
            file = Path(json.loads(line)["path"].removeprefix("file://").removeprefix("file:"))
            yield from (json.loads(row) for row in file.read_text().splitlines())


@contextmanager
def s3_stores() -> Iterator[tuple[Callable[[str], Store], str]]:
    """What opens checkpoints in S3, and the URL of its API."""
    from tests import s3_server

    with s3_server.serving() as url:
        fs = Store.open("s3://lake", key="test", secret="test", endpoint_url=url).fs
        fs.mkdir("lake")
        yield lambda name: Store(fs, f"lake/{name}", f"s3://lake/{name}"), url
