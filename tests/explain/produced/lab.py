"""A query of real Spark with its input and its checkpoint, and a Spark of each version that it runs in.

What Spark has written to its standard error while a query ran is the log that a user would paste.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.spark_lab import move_paths

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
_DAY_ONE_S = 1_767_225_600
#: Environments of the Sparks, by name; the one of the tests has Spark 4.3.
ENVIRONMENTS = {"4.3": None, "3.5": ".venv-spark-3.5.9", "lakes": ".venv-lakes"}
ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}


def _lakes(root: Path) -> dict[str, str]:
    lines = (REPOSITORY / "tests" / "sinks" / "lakes.txt").read_text().splitlines()
    return {
        "spark.jars.packages": ",".join(line for line in lines if line and not line.startswith(("#", "pyspark"))),
        "spark.sql.extensions": (
            "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(root / "warehouse"),
        "spark.sql.warehouse.dir": str(root / "warehouse" / "spark"),
    }


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of one run of a query.

    Args:
        batches: What was written, by batch id.
        error: The simple name of the innermost exception that it stopped with; None when it came to its end.
        log: What the driver has written to its standard error.
        conditions: The error conditions of the exceptions, whether their text names them or not.
    """

    batches: Mapping[int, list[tuple[str, ...]]]
    error: str | None
    log: str
    conditions: tuple[str, ...] = ()

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Everything that was written, sorted."""
        return sorted(row for rows in self.batches.values() for row in rows)


class Spark:
    """A process of Spark."""

    def __init__(self, name: str, root: Path, confs: Mapping[str, str] | None = None) -> None:
        """Start it.

        Args:
            name: Of its environment.
            root: A new directory for what it writes.
            confs: Of its session, beside those of all.
        """
        root.mkdir(parents=True)
        self.name = name
        environment = ENVIRONMENTS[name]
        python = sys.executable if environment is None else str(REPOSITORY / environment / "bin" / "python")
        words = [
            f"{key}={value}" for key, value in {**(_lakes(root) if name == "lakes" else {}), **(confs or {})}.items()
        ]
        self._log = root / "driver.log"
        self._stderr = self._log.open("w")
        self._process = subprocess.Popen(
            [python, str(HERE / "spark_process.py"), *words],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python, "PYTHONPATH": ""},
        )

    def ask(self, **command: Any) -> Any:
        """Send a command and wait for its answer."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("REPLY "):
                reply = json.loads(line.removeprefix("REPLY "))
                assert "ok" in reply, reply["error"]
                return reply["ok"]
        raise AssertionError(f"Spark ended; see {self._log}")

    def run(self, query: Query, checkpoint: Path | None = None, hold: Path | None = None) -> Ran:
        """Run a query until its input is used up.

        Args:
            query: As it is deployed.
            checkpoint: Another one than its own.
            hold: A file for which each batch waits in the sink.
        """
        before = self._log.stat().st_size
        held = {} if hold is None else {"hold": str(hold)}
        told = self.ask(do="query", **query.described(checkpoint or query.checkpoint), **held)
        batches = {int(batch_id): [tuple(row) for row in rows] for batch_id, rows in told["batches"]}
        log = self._log.read_bytes()[before:].decode()
        return Ran(batches, told["error"], log, tuple(told["conditions"]))

    def sql(self, text: str) -> list[tuple[str, ...]]:
        """The rows of a statement."""
        return [tuple(row) for row in self.ask(do="sql", text=text)]

    def table(self, path: Path) -> list[tuple[str, ...]]:
        """The rows of a table of files, sorted; those that readers get."""
        return [tuple(row) for row in self.ask(do="read", path=str(path))]

    def stop(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:  # a test that ended early has left it within a batch
            self._process.kill()
        self._stderr.close()


@dataclass(frozen=True, slots=True)
class Query:
    """A query as it is deployed; another deploy is a `replace` of it.

    Args:
        home: Where its input and its checkpoint are.
        inputs: Directories of its file sources, in order; by ``name=directory`` a source with a name.
        does: What it does with the rows (`spark_process.changed`).
        to: The format and the place of its sink; None for one that only tells the test what came.
        mode: Its output mode.
        confs: Of its session.
        options: Of its writer.
        sources: Sources that are not of files, as `spark_process.source` takes them; in the place of ``inputs``.
        trigger: As PySpark takes it.
        schema: Of the input.
    """

    home: Path
    inputs: tuple[str, ...] = ("orders",)
    does: str = "copy"
    to: tuple[str, str] | None = None
    mode: str = "append"
    confs: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[Mapping[str, Any], ...] = ()
    trigger: Mapping[str, Any] = field(default_factory=lambda: {"availableNow": True})
    schema: str = "key string, value long, at timestamp"

    @property
    def checkpoint(self) -> Path:
        """The checkpoint location."""
        return self.home / "checkpoint"

    def described(self, checkpoint: Path) -> dict[str, Any]:
        """The query for the process of Spark."""
        return {
            "sources": [dict(source) for source in self.sources] or [self._files(each) for each in self.inputs],
            "does": self.does,
            "to": self.to,
            "mode": self.mode,
            "confs": dict(self.confs),
            "options": dict(self.options),
            "trigger": dict(self.trigger),
            "checkpoint": str(checkpoint),
        }

    def _files(self, named: str) -> dict[str, Any]:
        name, _, directory = named.rpartition("=")
        files = {"format": "json", "path": str(self.home / directory), "schema": self.schema, "name": name}
        return {**files, "options": {"maxFilesPerTrigger": "1"}}

    def add(self, numbers: Iterable[int], directory: str = "orders") -> None:
        """Write input files; file n is the input of batch n, and has two rows."""
        folder = self.home / directory
        folder.mkdir(parents=True, exist_ok=True)
        for number in numbers:
            path = folder / f"f{number:03}.json"
            at = f"2026-01-01T00:{number % 60:02}:00Z"
            rows = [
                {"key": f"{directory[0]}{number % 3 + one}", "value": 10 * number + one, "at": at} for one in (0, 1)
            ]
            path.write_text("\n".join(json.dumps(row) for row in rows))
            os.utime(path, (_DAY_ONE_S + number, _DAY_ONE_S + number))

    def copied(self, home: Path) -> Query:
        """The same query elsewhere, with its input, its checkpoint and its sink as they are now."""
        shutil.copytree(self.home, home)
        for log in (*(home / "checkpoint" / "sources").glob("[0-9]*"), home / "out" / "_spark_metadata"):
            if log.is_dir():
                move_paths(log, self.home, home)
        return replace(self, home=home, to=self.to and (self.to[0], self.to[1].replace(str(self.home), str(home))))


def rows(spark: Spark, query: Query) -> list[tuple[str, ...]]:
    """Key and value of each row that readers of a file sink get, sorted."""
    assert query.to is not None
    return sorted(row[:2] for row in spark.table(Path(query.to[1])))


def sink(query: Query) -> str:
    """The file sink as a user declares it."""
    assert query.to is not None
    return f"file:{query.to[1]}"


def forget(log: Path, *names: int | str) -> None:
    """Remove entries of a log with their checksum files, as somebody does by hand."""
    for name in names:
        (log / str(name)).unlink()
        (log / f".{name}.crc").unlink(missing_ok=True)


def write(path: Path, data: bytes) -> None:
    """Write a file of a checkpoint as an editor does: the checksum file of Hadoop goes."""
    path.write_bytes(data)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
