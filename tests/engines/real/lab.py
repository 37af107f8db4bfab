"""Applications on real clusters, what the command does with them, and whether each batch was run once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.engines.connection import Connection
from airflow_provider_ckpt.engines.engine import Application, Engine
from airflow_provider_ckpt.engines.find_processes import find_processes
from airflow_provider_ckpt.engines.open_engine import open_engine
from airflow_provider_ckpt.errors import NotBetweenBatchesError
from airflow_provider_ckpt.query.engine import DeclaredEngine, StartRule, StopRule
from airflow_provider_ckpt.query.query_file import Query
from airflow_provider_ckpt.running.find_unit import Member, Unit
from airflow_provider_ckpt.running.receipt import StartReceipt, StopReceipt
from airflow_provider_ckpt.running.record_runs import known_runs, read_events
from airflow_provider_ckpt.running.start_query import StartRequest, start_query
from airflow_provider_ckpt.running.stop_query import StopRequest, stop_query
from airflow_provider_ckpt.storage.store import Store
from tests.engines.real.application import ROWS
from tests.engines.real.standalone_cluster import HOME

HERE = Path(__file__).parent
#: Kind of a query, milliseconds that a batch takes, milliseconds between two batches.
Spec = tuple[str, int, int]


@dataclass
class Lab:
    """An application of some queries on a cluster.

    Args:
        root: A directory of its own.
        declared: Where it runs.
        url: Where its cluster answers.
        specs: Its queries.
    """

    root: Path
    declared: DeclaredEngine
    url: str
    specs: tuple[Spec, ...]

    @property
    def name(self) -> str:
        """Its name."""
        return self.root.name

    @property
    def stores(self) -> list[Store]:
        """The checkpoints of its queries."""
        return [Store.open(str(self.root / str(number) / "checkpoint")) for number in range(len(self.specs))]

    @property
    def unit(self) -> Unit:
        """What is stopped and started."""
        members = [
            Member(Query(f"{self.name}_{number}", store.location), Stores(store))
            for number, store in enumerate(self.stores)
        ]
        return Unit(self.name, self.declared, tuple(members))

    @property
    def engine(self) -> Engine:
        """Where it runs."""
        return open_engine(self.declared, self.name, lambda connection: Connection(connection, host=self.url))

    @property
    def application(self) -> Application:
        """What runs."""
        return Application(self.declared.name, self.declared.application)

    def start(self, *, is_stopped: bool = False) -> StartReceipt:
        """``ckpt start``."""
        request = StartRequest(query_is_stopped=is_stopped, gate=False)
        return start_query(self.unit, self.engine, self.application, request, by="test")

    def stop(self, **said: object) -> StopReceipt:
        """``ckpt stop``."""
        return stop_query(self.unit, self.engine, StopRequest(**said), by="test", settle_s=0.5)  # type: ignore[arg-type]

    def stop_after_a_death(self) -> StopReceipt:
        """``ckpt stop`` where a driver dies in a batch that is waited for.

        What is in the checkpoint meanwhile lets no other driver start, so the batch is not committed, and the stop is
        refused with nothing left behind: the other driver goes on.
        """
        try:
            return self.stop(wait_for_batch=20.0)
        except NotBetweenBatchesError:
            self.wait_for_batches(1)
            return self.stop(wait_for_batch=60.0)

    def runs(self) -> tuple[str, ...]:
        """The ids of the runs that its records name."""
        return known_runs(read_events(self.unit))

    def newest(self, log: str, number: int = 0) -> int:
        """The newest batch of a log of a query; -1 without one."""
        place = self.root / str(number) / "checkpoint" / log
        names = [path.name for path in place.iterdir()] if place.is_dir() else []
        return max((int(name) for name in names if name.isdecimal()), default=-1)

    def wait_for_batches(self, more: int = 2) -> None:
        """Until each query has committed some batches more, those without a pause between two of them."""
        goals = {n: self.newest("commits", n) + more for n, spec in enumerate(self.specs) if spec[2] < 10_000}
        until(lambda: all(self.newest("commits", n) >= goal for n, goal in goals.items()), "batches")

    def wait_inside_a_batch(self, number: int = 0) -> None:
        """Until a batch of a query is planned and not committed."""
        until(lambda: self.newest("offsets", number) > self.newest("commits", number), "a batch in flight")

    def drivers(self) -> list[int]:
        """The processes of its driver: a JVM, and that of Python."""
        return [
            each.pid
            for each in find_processes()
            if (any(str(self.root) == word for word in each.words) and "java" in each.words[0])
            or any(str(self.root) in word and "ApplicationMaster" in word for word in each.words)
        ]

    def kill_driver(self) -> None:
        """Kill them, as a node that runs out of memory does."""
        for pid in self.drivers():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def problems(self, *, in_flight: bool = False) -> list[str]:
        """What each query has done that it should not have: a batch begun twice, a row lost, something after the end.

        Args:
            in_flight: A driver has died inside a batch, which may have run again.
        """
        return [
            f"{self.name}/{number} {spec}: {problem}"
            for number, spec in enumerate(self.specs)
            for problem in self._problems(number, spec[0], in_flight)
        ]

    def _problems(self, number: int, kind: str, in_flight: bool) -> list[str]:
        place, newest = self.root / str(number), self.newest("commits", number)
        if kind == "foreachBatch":
            return _effects(place / "effects", newest, in_flight)
        rows, named = _of_sink(place / "sink")
        there = {path.name for path in (place / "sink").glob("*.json")}
        found = [] if in_flight else [f"a file that no batch has: {name}" for name in sorted(there - named)]
        log = [int(path.name.split(".")[0]) for path in (place / "sink" / "_spark_metadata").glob("[0-9]*")]
        if max(log, default=-1) > newest and not in_flight:
            found.append(f"the sink has batch {max(log)}, and {newest} is the newest that is committed")
        if kind == "stateless":
            expected = Counter(range(ROWS * (newest + 1)))
            got = Counter(int(row["value"]) for row in rows)
            return found + [f"rows twice {got - expected}, lost {expected - got}"] * (got != expected)
        starts = sorted(int(row["value"]) for row in rows)
        counts = {int(row["count"]) for row in rows[1:]} if len(rows) > 1 else set()
        if starts != list(range(starts[0], starts[0] + 3 * len(starts), 3)) if starts else newest > 8:
            found.append(f"windows {starts} at batch {newest}")
        by_start = {int(row["value"]): int(row["count"]) for row in rows}
        wrong = {start: count for start, count in by_start.items() if start != starts[0] and count != 3 * ROWS}
        return found + [f"windows with other counts: {wrong} {counts}"] * bool(wrong)


def _effects(place: Path, newest: int, in_flight: bool) -> list[str]:
    """Each batch up to the newest was begun once and has ended once, and no later one was begun."""
    found, begun, ended = [], Counter[int](), Counter[int]()
    for path in place.glob("*.*"):
        number = int(path.name.split("-")[0])
        (begun if path.suffix == ".begun" else ended)[number] += 1
        values = path.read_text()
        if values and values != repr(list(range(number * ROWS, (number + 1) * ROWS))):
            found.append(f"batch {number} had {values:.60}")
    for number in range(newest + 1):
        if not ended[number] or (not in_flight and (begun[number], ended[number]) != (1, 1)):
            found += [f"batch {number} was begun {begun[number]} times and ended {ended[number]} times"]
    later = [number for number in begun if number > newest]
    return found + [f"batches {sorted(later)} were begun behind the newest, {newest}"] * (bool(later) and not in_flight)


def _of_sink(place: Path) -> tuple[list[dict[str, object]], set[str]]:
    """The rows of a file sink by its log, and the files that the log names."""
    names: dict[str, None] = {}
    log = {path.name: path for path in (place / "_spark_metadata").glob("[0-9]*")}
    compacted = max((int(name.split(".")[0]) for name in log if name.endswith(".compact")), default=-1)
    for name in sorted(log, key=lambda name: int(name.split(".")[0])):
        if name.endswith(".compact") and int(name.split(".")[0]) < compacted:
            continue
        if not name.endswith(".compact") and int(name) < compacted:
            continue
        for line in log[name].read_text().splitlines()[1:]:
            names[Path(json.loads(line)["path"]).name] = None
    rows = [json.loads(line) for name in names for line in (place / name).read_text().splitlines()]
    return rows, set(names)


def until(holds: Callable[[], object], what: str, within_s: float = 240.0) -> None:
    """Wait for something."""
    end = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come within {within_s:g} s")
        time.sleep(0.1)


def yarn_lab(root: Path, url: str, specs: Sequence[Spec], *, attempts: int = 2) -> Lab:
    """An application of PySpark in YARN's cluster mode."""
    python = sys.executable
    confs = {
        "spark.yarn.jars": f"local:{HOME}/jars/*",
        "spark.yarn.appMasterEnv.PYSPARK_PYTHON": python,
        "spark.executorEnv.PYSPARK_PYTHON": python,
        "spark.executor.instances": "1",
        "spark.executor.cores": "4",
        "spark.yarn.maxAppAttempts": str(attempts),
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    words = [word for key, value in confs.items() for word in ("--conf", f"{key}={value}")]
    application = {
        "file": str(HERE / "application.py"),
        "args": (str(root), *(str(each) for spec in specs for each in spec)),
        "submit": (*words, "--driver-memory", "512m", "--executor-memory", "512m"),
        "spark_submit": str(HOME / "bin" / "spark-submit"),
    }
    return _lab(root, "yarn", application, url, specs)


def standalone_lab(root: Path, url: str, specs: Sequence[Spec], jar: Path, *, supervise: bool = False) -> Lab:
    """A jar in cluster mode of a standalone cluster."""
    application = {
        "file": f"file://{jar}",
        "class": "Application",
        "args": (str(root), *(str(each) for spec in specs for each in spec)),
        "submit": ("--driver-memory", "512m", *(("--supervise",) if supervise else ())),
    }
    return _lab(root, "standalone", application, url, specs)


def _lab(root: Path, engine: str, application: dict[str, object], url: str, specs: Sequence[Spec]) -> Lab:
    root.mkdir(parents=True)
    rules = {"stop": StopRule(120.0), "start": StartRule(240.0)}
    declared = DeclaredEngine(engine, "cluster", application, directory=str(root), **rules)  # type: ignore[arg-type]
    return Lab(root, declared, url, tuple(specs))


def compile_jar(place: Path) -> Path:
    """The application as a jar, by the Scala that is in pip's Spark."""
    jar = place / "application.jar"
    words = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{HOME}/jars/*", "scala.tools.nsc.Main", "-usejavacp"]
    subprocess.run([*words, "-d", str(jar), str(HERE / "Application.scala")], check=True)
    return jar
