"""The queries of the cases in real Spark: their origins, their runs, and the change with each prefix of its plan."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.make_plan import observe_without_flight
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.sources.find_operators import find_operators
from airflow_provider_ckpt.changes.sources.make import make_source_change
from airflow_provider_ckpt.changes.sources.source_change import parse_change
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store
from tests.changes.sources import spark_process
from tests.changes.sources.cases import Case, Reader, Rows, values

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
_DAY_ONE_S = 1_767_225_600
_EVOLUTION = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
_ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
#: What a Spark stops with at a closed checkpoint: the log version that it names.
CLOSED = "2147483647"


class KilledError(Exception):
    """A change that is killed between two steps."""


class Spark:
    """A process of Spark (tests/changes/sources/spark_process.py)."""

    def __init__(
        self,
        python: str = sys.executable,
        *,
        jars: str = "",
        log: Path | None = None,
        script: Path = HERE / "spark_process.py",
    ) -> None:
        words = [f"spark.jars={jars}"] if jars else []
        self._process = subprocess.Popen(
            [python, str(script), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("w") if log else subprocess.DEVNULL,
            text=True,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python, "PYTHONPATH": str(REPOSITORY)},
        )
        self.version = str(self._reply())

    def ask(self, command: dict[str, Any]) -> dict[str, Any]:
        """Run a query; what came of it."""
        self.begin(command)
        return self.end()

    def begin(self, command: dict[str, Any]) -> None:
        """Let a query start, and go on beside it."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def end(self) -> dict[str, Any]:
        """Wait for the end of the query that has begun; what came of it."""
        told: dict[str, Any] = self._reply()
        return told

    def _reply(self) -> Any:
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith("REPLY "):
                reply = json.loads(line.removeprefix("REPLY "))
                assert "ok" in reply, reply["error"]
                return reply["ok"]
        raise AssertionError("Spark ended")

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(60)


@dataclass(slots=True)
class Shown:
    """What a case has shown.

    Args:
        prefixes: Starts between the first step and the last.
        steps: Of the plan.
        killed_at: After which step the change was killed, and then completed.
        refused: Why the change was refused; empty when it was carried out.
    """

    prefixes: int = 0
    steps: int = 0
    killed_at: int = 0
    refused: str = ""


class InThisProcess:
    """A session of this process in the place of a process of Spark."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def ask(self, command: dict[str, Any]) -> dict[str, Any]:
        """Run a query; what came of it, as it would come from another process."""
        told: dict[str, Any] = json.loads(json.dumps(spark_process.run(self._session, command)))
        return told


class RealQuery:
    """A case in a directory of its own.

    Args:
        case: The case.
        spark: In which it runs.
        root: A new directory.
        broker: Where its topics are; None for a case without.
        tag: What the names of its topics begin with.
    """

    def __init__(self, case: Case, spark: Spark | InThisProcess, root: Path, broker: Any = None, tag: str = "") -> None:
        self.case, self.spark, self.root, self.broker, self.tag = case, spark, root, broker, tag
        self.checkpoint = root / "checkpoint"
        self.batches: dict[int, list[tuple[str, ...]]] = {}
        self._files: dict[int, int] = {}

    def show(self, prefixes: Callable[[int], Iterable[int]] = lambda steps: range(1, steps)) -> Shown:
        """Run the query, change its sources, start each prefix, and run the next query to its end.

        Args:
            prefixes: Which numbers of steps are started, of a plan of so many.
        """
        case = self.case
        for origin in range(case.origins):
            self.write(origin, case.read[origin] if origin < len(case.read) else 2)
        told = self.run(case.old, fails=True)
        assert bool(told["error"]) == bool(case.fails), told
        shown = self.change(prefixes)
        if shown.refused:
            return shown
        for files in (4, 5):
            for origin in range(case.origins):
                self.write(origin, files)
            told = self.run(case.new)
            assert told["error"] is None, told
            assert self.rows() == case.expected(files), difference(self.rows(), case.expected(files))
        return shown

    def write(self, origin: int, files: int) -> None:
        """Let an origin have so many files."""
        for number in range(self._files.get(origin, 0), files):
            lines = [str(value) for value in values(origin, number)]
            if origin in self.case.topics:
                producer = self.broker.producer()
                for line in lines:
                    producer.produce(self._topic(origin), line.encode(), partition=0)
                assert producer.flush(60) == 0
            else:
                path = self.root / f"origin{origin}" / f"f{number:03}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("\n".join(lines))
                os.utime(path, (_DAY_ONE_S + number, _DAY_ONE_S + number))
        self._files[origin] = files
        if origin in self.case.topics:
            self._have_topic(origin)
        else:
            (self.root / f"origin{origin}").mkdir(parents=True, exist_ok=True)

    def run(
        self, readers: tuple[Reader, ...], *, fails: bool = False, checkpoint: Path | None = None
    ) -> dict[str, Any]:
        """Start a query with these sources; what it writes is kept, unless it is on another checkpoint."""
        named = not readers[0].source_id.isdigit()
        confs = {**(_EVOLUTION if named else {}), **(_ROCKSDB if self.case.rocksdb else {})}
        told = self.spark.ask(
            {
                "kind": self.case.kind,
                "sources": [self._source(reader, named=named) for reader in readers],
                "confs": confs,
                "checkpoint": str(checkpoint or self.checkpoint),
                "fails_at": self.case.in_flight if fails else None,
                "writes_first": self.case.fails == "after",
            }
        )
        if checkpoint is None:
            self.batches |= {int(batch): [tuple(row) for row in rows] for batch, rows in told["batches"]}
        return told

    def rows(self) -> Rows:
        """What the sink has: it keeps each batch once, and of an aggregation the last result counts."""
        if self.case.kind in ("sum", "distinct sum"):
            return sorted(self.batches[max(self.batches)]) if self.batches else []
        return sorted(row for rows in self.batches.values() for row in rows)

    # --- the change ------------------------------------------------------------------------------------------------

    def change(self, prefixes: Callable[[int], Iterable[int]]) -> Shown:
        """Carry the change out, killed once on its way, and start Spark on what is there after each step."""
        before = snapshot(self.checkpoint)
        stores = Stores(Store.open(str(self.checkpoint)))
        continued = [word for option, word in _pairs(self.case.words) if option == "--as"]
        dropped = [word for option, word in _pairs(self.case.words) if option == "--drop"]
        operators = find_operators(stores.checkpoint, observe_without_flight(stores.checkpoint)).names
        change = parse_change(continued, dropped, operators or None)
        try:
            plan = make_source_change(stores, change)
        except PlanError as error:
            assert snapshot(self.checkpoint) == before
            return Shown(refused=error.message)
        shown = Shown(steps=len(plan.actions), killed_at=1 + self.case.number % len(plan.actions))
        chosen = set(prefixes(len(plan.actions)))
        copies = self.root / "prefixes"
        taken = [0]

        def step(done: int, total: int, name: str) -> None:
            taken[0] += 1
            if taken[0] in chosen:
                shutil.copytree(self.checkpoint, copies / f"{taken[0]:03}")
            if taken[0] == shown.killed_at and taken[0] < len(plan.actions):
                raise KilledError

        try:
            self._apply(plan, stores, step)
        except KilledError:
            again = make_source_change(stores, change)
            assert again.plan_id == plan.plan_id, "the change that was begun is the one that is completed"
            self._apply(again, stores, step)
        assert taken[0] == len(plan.actions)
        for copy in sorted(copies.glob("*")) if copies.exists() else ():
            self._refuses(copy)
            shown.prefixes += 1
        return shown

    def _apply(self, plan: Plan, stores: Stores, step: Callable[[int, int, str], None]) -> None:
        accepted = ("skipped", "unknown")
        apply(plan, stores, query_is_stopped=True, quiet_s=0, on_step=step, accept_sink=accepted)

    def _refuses(self, copy: Path) -> None:
        """Spark stops at a prefix because of what closes it, and harms nothing."""
        before = snapshot(copy)
        told = self.run(self.case.new, checkpoint=copy)
        assert told["sign"] == CLOSED, (copy.name, told)
        assert not told["batches"]
        assert {name: data for name, data in snapshot(copy).items() if name in before} == before
        shutil.rmtree(copy)

    # --- origins ---------------------------------------------------------------------------------------------------

    def _source(self, reader: Reader, *, named: bool) -> dict[str, Any]:
        if reader.origin in self.case.topics:
            options = {
                "kafka.bootstrap.servers": self.broker.bootstrap,
                "subscribe": self._topic(reader.origin),
                "startingOffsets": "earliest",
                "maxOffsetsPerTrigger": str(len(values(0, 0))),
            }
            of = {"format": "kafka", "options": options, "path": ""}
        else:
            path = str(self.root / f"origin{reader.origin}")
            of = {"format": "text", "options": {"maxFilesPerTrigger": "1"}, "path": path}
        return {**of, "reader": reader.source_id, "side": reader.side, "named": named}

    def _topic(self, origin: int) -> str:
        return f"{self.tag}{self.case.number}-{origin}"

    def _have_topic(self, origin: int) -> None:
        if not self._files[origin] and self._topic(origin) not in self.broker.topics():
            self.broker.create_named(self._topic(origin))


def snapshot(checkpoint: Path) -> dict[str, bytes]:
    """The files of a checkpoint."""
    return {str(path.relative_to(checkpoint)): path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}


def difference(found: Rows, wanted: Rows) -> dict[str, Rows]:
    """What is there and should not be, and the other way round."""
    extra, lacking = list(found), []
    for row in wanted:
        if row in extra:
            extra.remove(row)
        else:
            lacking.append(row)
    return {"too many": extra, "lacking": lacking}


def _pairs(words: tuple[str, ...]) -> list[tuple[str, str]]:
    return list(zip(words[::2], words[1::2], strict=True))
