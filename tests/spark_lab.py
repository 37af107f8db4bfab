"""Real streaming queries for the tests: small, deterministic, and with a truth that plain Python computes.

The input is one JSON file a batch. A file has a letter, so that a test can replace the data of the batches that a
rollback drops and see whether state of the old data has survived.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

KEYS = ("a", "b", "c", "d", "e")
_FIRST_MTIME_S = 1_767_225_600

STATE_CONFS: Mapping[str, Mapping[str, str]] = {
    "stateless": {},
    "hdfs": {},
    "rocksdb": {"spark.sql.streaming.stateStore.providerClass": "RocksDB"},
    "rocksdb-changelog": {
        "spark.sql.streaming.stateStore.providerClass": "RocksDB",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    },
    "rocksdb-v2": {
        "spark.sql.streaming.stateStore.providerClass": "RocksDB",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    },
}
_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def start_spark(jars: str = "", cores: int = 2) -> Any:
    """A local session with frequent state maintenance, so that snapshots appear within a test.

    Args:
        jars: Of data sources that PySpark lacks, separated by commas.
        cores: Tasks that run at once.
    """
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # for state that Python workers compute
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("airflow-provider-ckpt tests")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.stateStore.maintenanceInterval", "100ms")
        .config("spark.sql.streaming.stateStore.minDeltasForSnapshot", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.host", "127.0.0.1")
        # A Python worker that does not answer within 15 s, the default, fails its query on a busy machine.
        .config("spark.python.authenticate.socketTimeout", "300s")
        # Queries of seconds do not pay for the second compiler of the JVM, nor for parallel collectors.
        .config(
            "spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
        )
    )
    if jars:
        builder = builder.config("spark.jars", jars)
    return builder.getOrCreate()


def activate(session: Any) -> Any:
    """Make a session the active one, in which Spark looks sinks up; the same session."""
    session._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
    return session


@dataclass(slots=True)
class Run:
    """What one run of a query gave: rows of the result by batch id, in the order in which the batches ran."""

    batches: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)

    @property
    def first_batch(self) -> int:
        """The batch that the run began with."""
        return min(self.batches)

    @property
    def result(self) -> dict[str, int]:
        """The aggregate after the last batch (complete mode)."""
        return dict(self.batches[max(self.batches)]) if self.batches else {}


@dataclass(slots=True)
class Lab:
    """One query: its input, its checkpoint, its configuration."""

    spark: Any
    root: Path
    config: str
    confs: Mapping[str, str] = field(default_factory=dict)

    @property
    def input(self) -> Path:
        """Where the JSON files are."""
        return self.root / "input"

    @property
    def checkpoint(self) -> Path:
        """The checkpoint location."""
        return self.root / "checkpoint"

    def write(self, numbers: Iterable[int], letter: str = "A") -> None:
        """Write, or replace, input files; file ``n`` is the input of batch ``n``."""
        self.input.mkdir(parents=True, exist_ok=True)
        for number in numbers:
            rows = [{"key": key, "value": value} for key, value in rows_of(number, letter)]
            path = self.input / f"f{number:03d}.json"
            path.write_text("\n".join(json.dumps(row) for row in rows))
            at = _FIRST_MTIME_S + number  # a file source takes the oldest file first
            os.utime(path, (at, at))

    def run(self, checkpoint: Path | None = None, pause_s: float = 0.0) -> Run:
        """Run until the input is used up, as a fresh start of the query does."""
        run = Run()

        def keep(batch: Any, batch_id: int) -> None:
            run.batches[batch_id] = sorted(tuple(row) for row in batch.collect())
            time.sleep(pause_s)

        stream = self.stream()
        result = stream if self.config == "stateless" else stream.groupBy("key").sum("value")
        mode = "append" if self.config == "stateless" else "complete"
        query = (
            result.writeStream.foreachBatch(keep)
            .outputMode(mode)
            .option("checkpointLocation", str(checkpoint or self.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(600)
        assert not query.isActive, "the query did not finish in 600 s"
        return run

    def copied(self, root: Path) -> Self:
        """The query elsewhere, with its input: one run serves several tests."""
        copy = replace(self, root=root)
        shutil.copytree(self.input, copy.input)
        shutil.copytree(self.checkpoint, copy.checkpoint)
        move_paths(copy.checkpoint / "sources" / "0", self.root, root)
        return copy

    def stream(self) -> Any:
        """The input as a stream, one file a batch, in a session of its own with the confs of the lab."""
        reader = self._session().readStream.schema("key string, value long")
        return reader.option("maxFilesPerTrigger", 1).json(str(self.input))

    def _session(self) -> Any:
        session = self.spark.newSession()
        for key, value in {**STATE_CONFS[self.config], **self.confs}.items():
            session.conf.set(key, provider_conf(value))
        return session


def move_paths(log: Path, old: Path, new: Path) -> None:
    """Rewrite the absolute paths in a source or sink log that was copied."""
    for entry in log.iterdir():
        if not entry.name.startswith("."):
            entry.write_text(entry.read_text().replace(f"file://{old}/", f"file://{new}/"))
            entry.with_name(f".{entry.name}.crc").unlink(missing_ok=True)


def provider_conf(value: str) -> str:
    """``RocksDB`` spelled out."""
    return _PROVIDER if value == "RocksDB" else value


def rows_of(number: int, letter: str = "A") -> list[tuple[str, int]]:
    """The rows of one input file: two of the keys, so that others keep their state; another letter gives other values."""
    weight = {"A": 1, "B": 1000}[letter] * (number + 1)
    return [(KEYS[number % 5], weight), (KEYS[(number + 1) % 5], 2 * weight)]


def truth(files: Mapping[int, str]) -> dict[str, int]:
    """The right aggregate over files, given by number and letter."""
    total: Counter[str] = Counter()
    for number, letter in files.items():
        for key, value in rows_of(number, letter):
            total[key] += value
    return dict(total)


def settle(directory: Path) -> None:
    """Wait until the state maintenance of the session has left the checkpoint."""
    before: set[Path] = set()
    while before != (now := set(directory.rglob("*"))):
        before = now
        time.sleep(0.5)
