"""Six real queries of different kinds for some minutes, audited twice: ``python -m tests.spark.real_fleet ROOT``.

Between the audits one is redeployed with another conf, by a repartition; one is rolled back behind what the first audit
has read; one hangs in a batch. Each audit is the command of docs/pipeline.md in a process of its own. The second must
name all three: its page, ``ROOT/audit/audit.html``, is what the pictures there show.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event, Thread
from typing import Any

from airflow_provider_ckpt.cli import run as run_ckpt
from tests.spark_lab import STATE_CONFS, activate, provider_conf, start_spark

#: Trigger interval of each query, seconds.
EVERY_S = 5
#: Batches of each query before the first audit, and of those that go on before the second.
FIRST, THEN = 10, 14


class Fleet:
    """Queries by name, each in a session of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.spark = start_spark()
        self.running: dict[str, Any] = {}
        self.hangs, self.released, self.over = Event(), Event(), Event()
        (root / "input").mkdir(parents=True)
        Thread(target=self.feed, daemon=True).start()

    def location(self, name: str) -> str:
        """The checkpoint of a query."""
        return str(self.root / "checkpoints" / name)

    def start(self, name: str) -> None:
        """Start a query, or start it again."""
        build, store = QUERIES[name]
        session = self.spark.newSession()
        for key, value in STATE_CONFS[store].items():
            session.conf.set(key, provider_conf(value))
        activate(session)
        writer = build(self, session).writeStream.queryName(name).trigger(processingTime=f"{EVERY_S} seconds")
        writer = writer.foreachBatch(self.slowly) if name == "files" else writer.format("noop")
        mode = "update" if name == "totals" else "append"
        self.running[name] = writer.outputMode(mode).option("checkpointLocation", self.location(name)).start()

    def stop(self, name: str) -> None:
        """Stop a query."""
        self.running.pop(name).stop()

    def slowly(self, batch: Any, batch_id: int) -> None:
        """The sink of one query, which hangs once."""
        batch.count()
        if self.hangs.is_set():
            self.released.wait(1_200)

    def feed(self) -> None:
        """A file a second for the query that reads files."""
        while not self.over.wait(1):
            path = self.root / "input" / f"{time.time_ns()}.json"
            draft = path.with_name(f".{path.name}")
            draft.write_text("\n".join(json.dumps({"key": "a", "value": number}) for number in range(200)))
            draft.rename(path)

    def committed(self, name: str) -> int:
        """The newest batch that a query has committed."""
        commits = Path(self.location(name)) / "commits"
        return max((int(path.name) for path in commits.glob("*") if path.name.isdecimal()), default=-1)

    def wait(self, name: str, batch_id: int) -> None:
        """Until a query has committed a batch."""
        until = time.monotonic() + 300
        while self.committed(name) < batch_id:
            if (failure := self.running[name].exception()) is not None:
                raise failure
            assert time.monotonic() < until, f"{name} does not come to batch {batch_id}"
            time.sleep(1)

    def judged(self) -> str:
        """Audit the fleet, as its users do. Returns what the command says."""
        types = json.dumps({"*/files": {"0": "file"}, "*": {"0": "rate", "1": "rate"}})
        command = [sys.executable, "-m", "airflow_provider_ckpt.spark.audit", str(self.root / "checkpoints"), "--home"]
        command += [str(self.root / "audit"), "--option", f"sourceTypes={types}", "--tiny", "1", "--stall-after", "30s"]
        # a JVM of its own, and not the gateway of this one
        env = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_")}
        return subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def _rate(session: Any, rows: int) -> Any:
    return session.readStream.format("rate").option("rowsPerSecond", rows).load()


def _late(session: Any, rows: int = 20) -> Any:
    return _rate(session, rows).withWatermark("timestamp", "20 seconds")


def _join(fleet: Fleet, session: Any) -> Any:
    from pyspark.sql import functions as sql

    left = _late(session).select(sql.col("value").alias("a"), sql.col("timestamp").alias("at"))
    right = _late(session).select(sql.col("value").alias("b"), sql.col("timestamp").alias("then"))
    return left.join(right, sql.expr("a = b and then between at - interval 5 seconds and at + interval 5 seconds"))


def _totals(fleet: Fleet, session: Any) -> Any:
    from pyspark.sql import functions as sql

    return _late(session, 50).groupBy(sql.window("timestamp", "10 seconds"), sql.expr("value % 5 AS shop")).count()


#: Name to what a query computes, and the kind of its state.
QUERIES: Mapping[str, tuple[Callable[[Fleet, Any], Any], str]] = {
    "events": (lambda fleet, session: _rate(session, 100), "stateless"),
    "totals": (_totals, "rocksdb"),
    "unique": (lambda fleet, session: _late(session).dropDuplicates(["value", "timestamp"]), "hdfs"),
    "pairs": (_join, "hdfs"),
    "files": (
        lambda fleet, session: session.readStream.schema("key string, value long").json(str(fleet.root / "input")),
        "stateless",
    ),
    "recent": (lambda fleet, session: _late(session, 5).dropDuplicatesWithinWatermark(["value"]), "rocksdb"),
}


def story(root: Path) -> str:
    """All of it. Returns what the second audit says."""
    fleet = Fleet(root)
    for name in QUERIES:
        fleet.start(name)
    for name in QUERIES:
        fleet.wait(name, FIRST)
    read = {name: fleet.committed(name) for name in QUERIES}
    fleet.judged()

    fleet.hangs.set()
    roll_back(fleet, "unique", read["unique"] - 3)
    redeploy(fleet, "totals", partitions=4)
    later = {name: fleet.committed(name) for name in QUERIES if name != "files"}
    for name, batch_id in later.items():
        fleet.wait(name, batch_id + THEN)
    said = fleet.judged()

    fleet.released.set()
    fleet.over.set()
    for name in QUERIES:
        fleet.stop(name)
    return said


def roll_back(fleet: Fleet, name: str, to_batch: int) -> None:
    """Stop a query, roll it back, and start it again."""
    fleet.stop(name)
    told = "--sink noop --execute --i-know-it-is-stopped --accept-sink duplicated --accept-sink unknown"
    command = ["rollback", fleet.location(name), "--to-batch", str(to_batch), *told.split(), "--accept-sink", "skipped"]
    assert run_ckpt(command) == 0
    fleet.start(name)


def redeploy(fleet: Fleet, name: str, partitions: int) -> None:
    """Stop a query and start it with another number of state partitions."""
    fleet.stop(name)
    session = fleet.spark.newSession()
    for key, value in STATE_CONFS["rocksdb"].items():
        session.conf.set(key, provider_conf(value))
    activate(session)._streamingCheckpointManager.repartition(fleet.location(name), partitions, False)
    fleet.start(name)


if __name__ == "__main__":
    print(story(Path(sys.argv[1])), flush=True)
    os._exit(0)  # threads of stopped queries may hang on
