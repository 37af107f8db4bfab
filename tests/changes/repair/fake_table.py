"""A query into a file sink, as Spark leaves it: both logs, data files, and the log of the sink, with the times of each.

Batch k begins at second 10 k, its tasks write one second apart, and its commit is written at second 10 k + 9.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.repair.decision import Decisions
from airflow_provider_ckpt.changes.repair.make import make_repair
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.storage.store import Store

START_MS = 1_700_000_000_001
QUERY_ID = "7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10"


def at_ms(batch_id: int, second: int = 0) -> int:
    return START_MS + 10_000 * batch_id + 1_000 * second


def part(batch_id: int, task: int, attempt: int = 0) -> str:
    return f"part-{task:05}-{batch_id:08x}-0000-0000-0000-{attempt:04x}{task:08x}-c000.snappy.parquet"


class FakeTable:
    """The checkpoint and the output directory; ``tasks`` write each batch."""

    def __init__(self, home: Path, *, tasks: int = 2, interval: int = 10) -> None:
        self.checkpoint, self.output = home / "checkpoint", home / "out"
        self.log = self.output / "_spark_metadata"
        self.tasks, self.interval = tasks, interval
        for folder in (self.checkpoint / "offsets", self.checkpoint / "commits", self.log):
            folder.mkdir(parents=True, exist_ok=True)
        (self.checkpoint / "metadata").write_text(json.dumps({"id": QUERY_ID}))

    def run(self, batches: int, *, partitions: int = 200) -> FakeTable:
        """Batches 0 to ``batches`` - 1."""
        for batch_id in range(batches):
            self.plan(batch_id, partitions)
            self.attempt(batch_id)
            self.commit(batch_id)
        return self

    def plan(self, batch_id: int, partitions: int = 200) -> None:
        conf = {"spark.sql.shuffle.partitions": str(partitions)}
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": at_ms(batch_id), "conf": conf}
        self._write(
            self.checkpoint / f"offsets/{batch_id}", f'v1\n{json.dumps(metadata)}\n{{"a":{batch_id}}}', batch_id, 1
        )

    def attempt(self, batch_id: int, *, number: int = 0, second: int = 2, tasks: int | None = None) -> list[str]:
        """The files of one attempt."""
        return [
            self.data(part(batch_id, task, number), batch_id, second + task)
            for task in range(self.tasks if tasks is None else tasks)
        ]

    def data(self, name: str, batch_id: int, second: int, content: bytes = b"PAR1" + b"\0" * 20 + b"PAR1") -> str:
        path = self.output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self._dated(path, batch_id, second)
        return name

    def commit(self, batch_id: int, names: list[str] | None = None) -> None:
        """The entry in the log of the sink, and the commit."""
        own = [part(batch_id, task) for task in range(self.tasks)] if names is None else names
        lines = [self.line(name) for name in own]
        name = str(batch_id)
        if (batch_id + 1) % self.interval == 0:
            name += ".compact"
            lines = [*self.lines_before(batch_id), *lines]
        (self.log / name).write_text("\n".join(["v1", *lines]))
        self._write(self.checkpoint / f"commits/{batch_id}", 'v1\n{"nextBatchWatermarkMs":0}', batch_id, 9)

    def lines_before(self, batch_id: int) -> list[str]:
        newest = batch_id - self.interval
        base = (self.log / f"{newest}.compact").read_text().split("\n")[1:] if newest >= 0 else []
        singles = ((self.log / str(number)).read_text().split("\n")[1:] for number in range(newest + 1, batch_id))
        return [*base, *(line for lines in singles for line in lines)]

    def line(self, name: str) -> str:
        stat = (self.output / name).stat()
        fields = {"path": f"file://{self.output}/{name}", "size": stat.st_size, "isDir": False}
        fields |= {"modificationTime": stat.st_mtime_ns // 1_000_000, "blockReplication": 1, "blockSize": 33554432}
        return json.dumps({**fields, "action": "add"}, separators=(",", ":"))

    @property
    def entries(self) -> dict[str, str]:
        """The log of the sink."""
        return {path.name: path.read_text() for path in sorted(self.log.iterdir())}

    def forget(self, *names: str) -> dict[str, str]:
        """Remove entries; what the log was before."""
        before = self.entries
        for name in names or before:
            (self.log / name).unlink()
        return before

    @property
    def stores(self) -> Stores:
        return Stores(Store.open(str(self.checkpoint)), Store.open(str(self.output)))

    def repair(self, decisions: Decisions | None = None, copy: Path | None = None) -> Plan:
        stores = self.stores
        if copy is not None:
            stores = Stores(stores.checkpoint, stores.sink, backups=Store.open(str(copy)))
        return make_repair(stores, Sink("file", str(self.output)), decisions)

    def copied(self, home: Path) -> Path:
        """A copy of the log alone."""
        shutil.copytree(self.log, home)
        return home

    def _write(self, path: Path, text: str, batch_id: int, second: int) -> None:
        path.write_text(text)
        self._dated(path, batch_id, second)

    def _dated(self, path: Path, batch_id: int, second: int) -> None:
        os.utime(path, ns=(at_ms(batch_id, second) * 1_000_000,) * 2)


def written(plan: Plan) -> dict[str, str]:
    """What a plan writes into the log, by name."""
    return {action.name.partition("/")[2]: action.data for action in plan.actions if hasattr(action, "data")}
