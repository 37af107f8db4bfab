"""Real-time mode with real Spark: rows that no log tells of, and results that are right after every change."""

from __future__ import annotations

import re
import time
import uuid
from collections import Counter
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.spark_lab import settle

pytestmark = pytest.mark.spark

CONFS = {
    "spark.sql.shuffle.partitions": "1",  # all tasks run at once: one of the source and one of the operator
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1s",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.maintenanceInterval": "1h",
}
FOREACH = parse_sink("foreach")
#: More than what waits on its way to the Python worker of the sink: it gets a hundred rows at a time.
MANY, LONG = 300, "x" * 2_000


class Appending:
    """A sink that appends what it gets to a file, whatever the batch."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def process(self, row):
        with self.path.open("a") as file:
            file.write(f"{row[0]} {row[1]}\n")


class Lab:
    """A count by key in real-time mode: its source in memory, its sink, its checkpoint."""

    def __init__(self, spark, home: Path) -> None:
        self.spark, self.checkpoint, self.out = spark, home / "checkpoint", home / "out"
        self._jvm = spark.sparkContext._gateway.jvm
        self._memory = self._jvm.org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream.apply(
            spark._jsparkSession, 1, self._jvm.org.apache.spark.sql.Encoders.STRING()
        )
        self.added: Counter[str] = Counter()

    def add(self, *texts: str) -> None:
        self.added.update(texts)
        values = self._jvm.java.util.ArrayList()
        for text in texts:
            values.add(text)
        self._memory.addData(self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(values).toSeq())

    def start(self, checkpoint: Path, duration: str = "1 second", *, counting: bool = True):
        from pyspark.sql import DataFrame

        texts = DataFrame(self._memory.toDF(), self.spark)
        rows = texts.groupBy("value").count() if counting else texts.selectExpr("value", "1 AS count")
        writer = rows.writeStream.outputMode("update").option("checkpointLocation", str(checkpoint))
        return writer.trigger(realTime=duration).foreach(Appending(self.out)).start()

    def run_until_right(self, checkpoint: Path) -> None:
        """Let the query run until the sink has the true count of each key, and a batch is committed after that."""
        query = self.start(checkpoint)
        wait_until(lambda: self.result() == self.added)
        done = committed(checkpoint)
        wait_until(lambda: committed(checkpoint) > done)
        query.stop()
        assert query.exception() is None
        settle(checkpoint)

    def rows(self) -> list[tuple[str, int]]:
        text = self.out.read_text() if self.out.exists() else ""
        lines = text[: text.rfind("\n") + 1].splitlines()  # the last one may be half written
        return [(key, int(count)) for key, count in (line.split() for line in lines)]

    def result(self) -> dict[str, int]:
        """The last count that the sink got of each key."""
        return dict(self.rows())


def committed(checkpoint: Path) -> int:
    """The newest batch that is committed, or -1."""
    names = (path.name for path in checkpoint.glob("commits/*"))
    return max((int(name) for name in names if re.fullmatch(r"\d+", name)), default=-1)


def wait_until(condition, seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)


@pytest.fixture
def lab(spark, tmp_path):
    session = spark.newSession()
    for key, value in CONFS.items():
        session.conf.set(key, value)
    return Lab(session, tmp_path)


def test_rows_of_a_stopped_batch_are_in_no_log_and_come_again(lab):
    """Why an exact effect is none: the logs of the checkpoint do not change, and the sink has rows."""
    lab.add("first")
    query = lab.start(lab.checkpoint, counting=False)
    wait_until(lambda: ("first", 1) in lab.rows() and committed(lab.checkpoint) >= 1)
    query.stop()
    logs = {path.name for path in lab.checkpoint.glob("offsets/*")}
    newest = committed(lab.checkpoint)
    late = [f"late-{number}-{LONG}" for number in range(MANY)]
    query = lab.start(lab.checkpoint, "1 hour", counting=False)
    lab.add(*late)
    wait_until(lambda: lab.result().keys() & set(late))
    query.stop()
    assert {path.name for path in lab.checkpoint.glob("offsets/*")} == logs

    stores = Stores(Store.open(str(lab.checkpoint)))
    said_nothing = make_rollback(stores, newest, sink=FOREACH)
    said = make_rollback(stores, newest, sink=FOREACH, trigger="realTime")
    assert (said_nothing.sink_effect, said.sink_effect) == ("exact", "unknown")

    query = lab.start(lab.checkpoint, counting=False)
    wait_until(lambda: max(Counter(key for key, _ in lab.rows() if key in late).values()) > 1)
    query.stop()


def test_a_query_in_real_time_mode_goes_on_right_after_each_change(lab, tmp_path):
    """Backed up, rolled back, undone, restored; after each change it is started, and its counts are true."""
    stores, root = Stores(Store.open(str(lab.checkpoint))), Store.open(str(tmp_path / "backups"))
    lab.add("a", "b")
    lab.run_until_right(lab.checkpoint)
    kept = committed(lab.checkpoint)
    lab.add("a", "c")
    lab.run_until_right(lab.checkpoint)
    newest = committed(lab.checkpoint)
    backup = take_backup(stores.checkpoint, root)
    assert verify_backup(root, backup) == ()
    assert backup.batch_id == newest

    plan = make_rollback(stores, kept, sink=FOREACH)
    assert (plan.trigger, plan.sink_effect) == ("realTime", "unknown"), "the operator of the aggregation tells the mode"
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert committed(lab.checkpoint) == kept
    lab.add("a")
    lab.run_until_right(lab.checkpoint)

    apply(make_undo(stores), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert committed(lab.checkpoint) == newest
    lab.add("b")
    lab.run_until_right(lab.checkpoint)

    moved = tmp_path / "moved"
    target = Store.open(str(moved))
    restored = make_restore(root, backup, target, str(uuid.uuid4()), sinks=[(FOREACH, None)])
    assert (restored.trigger, restored.sink_effect) == ("realTime", "unknown")
    restore(restored, root, target, accept_sink="unknown", sinks=[(FOREACH, None)])
    assert committed(moved) == newest
    lab.add("c")
    lab.run_until_right(moved)
