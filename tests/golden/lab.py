"""The bench on which a golden case is written: what a case is, and what its query may do."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

COMMON_CONFS = {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}

INPUT_SCHEMA = "key STRING, value LONG, at TIMESTAMP"
INPUT_EPOCH = 1_767_225_600  # 2026-01-01T00:00:00Z: event time and modification time of the first file


@dataclass(frozen=True)
class Case:
    """One golden checkpoint: how it is written, and what a later deploy of the same query would declare.

    Args:
        name: Name of the archive.
        write: Runs the query, or several in turn, on the one checkpoint of the lab.
        confs: Session confs of the case, beside ``COMMON_CONFS``.
        sink: Format of the sink.
        sources: Format of every source, by its id or name in the offset log.
        output_mode: Output mode of the query.
        since: First Spark version, (major, minor), that runs the case.
        timed: Whether offsets or the number of batches depend on the clock.
    """

    name: str
    write: Callable[[Lab], None]
    confs: Mapping[str, str] = field(default_factory=dict)
    sink: str = "parquet"
    sources: Mapping[str, str] = field(default_factory=lambda: {"0": "file"})
    output_mode: str = "append"
    since: tuple[int, int] = (4, 3)
    timed: bool = False


class Lab:
    """The bench of one case: its directories, its input files and its query.

    Input files and their modification times are the same in every run, and snapshots are taken when the case
    asks for them, not when a timer fires: two runs write the same but for ids and times.
    """

    def __init__(self, spark: SparkSession, case: Case, home: Path) -> None:
        self.spark = spark
        self.case = case
        self.checkpoint = home / "checkpoint"
        self.output = home / "output"
        self.input = home / "input"
        self.query: StreamingQuery
        self._files: dict[str, int] = {}

    @property
    def gateway(self) -> Any:
        """The way to Spark's own classes."""
        return self.spark.sparkContext._gateway

    def add_files(self, count: int, source: str = "orders") -> None:
        """Write the next input files of a source: three keys each, ten seconds of event time apart."""
        folder = self.input / source
        folder.mkdir(parents=True, exist_ok=True)
        first = self._files.get(source, 0)
        for number in range(first, first + count):
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(INPUT_EPOCH + 10 * number))
            rows = [{"key": key, "value": number, "at": at} for key in "abc"]
            hidden = folder / f".{number:03}.json"
            hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
            os.utime(hidden, (INPUT_EPOCH + number, INPUT_EPOCH + number))
            hidden.rename(folder / f"{number:03}.json")
        self._files[source] = first + count

    def read(self, source: str = "orders", *, named: bool = False) -> DataFrame:
        """The stream over the input files of a source, one file a batch."""
        (self.input / source).mkdir(parents=True, exist_ok=True)
        reader = self.spark.readStream
        if named:
            reader = reader.name(source)
        return reader.schema(INPUT_SCHEMA).option("maxFilesPerTrigger", 1).json(str(self.input / source))

    def read_at_once(self) -> tuple[DataFrame, Callable[[list[str]], None]]:
        """A stream of texts in memory that real-time mode can read, and what adds texts to it."""
        jvm = self.gateway.jvm
        memory = jvm.org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream.apply(
            self.spark._jsparkSession, 1, jvm.org.apache.spark.sql.Encoders.STRING()
        )

        def add(texts: list[str]) -> None:
            values = jvm.java.util.ArrayList()
            for text in texts:
                values.add(text)
            memory.addData(jvm.scala.jdk.javaapi.CollectionConverters.asScala(values).toSeq())

        return DataFrame(memory.toDF(), self.spark), add

    def start(
        self,
        frame: DataFrame,
        trigger: Mapping[str, Any],
        *,
        sink_name: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> StreamingQuery:
        """Start the query of the case on the checkpoint."""
        writer = frame.writeStream.format(self.case.sink).outputMode(self.case.output_mode)
        writer = writer.option("checkpointLocation", str(self.checkpoint)).trigger(**trigger)
        for key, value in (options or {}).items():
            writer = writer.option(key, value)
        if self.case.sink == "parquet":
            writer = writer.option("path", str(self.output))
        if sink_name is not None:
            writer._jwrite.name(sink_name)  # PySpark 4.3 has no method for it
        self.query = writer.start()
        return self.query

    def drain(self, frame: DataFrame, *, once: bool = False, sink_name: str | None = None) -> None:
        """Run the query over all input that is there, and wait for its end."""
        trigger = {"once": True} if once else {"availableNow": True}
        self.start(frame, trigger, sink_name=sink_name).awaitTermination()

    def batches(self, log: str) -> list[int]:
        """Batch ids that a log of the checkpoint shows now."""
        return sorted(int(path.name) for path in (self.checkpoint / log).glob("[0-9]*"))

    def take_snapshots(self) -> None:
        """Run the state store maintenance once, as its timer would, and wait for every store's snapshot."""
        reflect, no_arguments = self.gateway.jvm.java.lang, self.gateway.new_array
        store = reflect.Class.forName("org.apache.spark.sql.execution.streaming.state.StateStore$")
        maintenance = store.getDeclaredMethod("doMaintenance", no_arguments(reflect.Class, 0))
        maintenance.setAccessible(True)
        maintenance.invoke(store.getField("MODULE$").get(None), no_arguments(reflect.Object, 0))
        wait_until(self._every_store_has_a_snapshot)
        time.sleep(0.5)  # the sidecars

    def _every_store_has_a_snapshot(self) -> bool:
        state = self.checkpoint / "state"
        logs = [path for ending in ("delta", "changelog") for path in state.rglob(f"[0-9]*.{ending}")]
        snapshots = [path for ending in ("snapshot", "zip") for path in state.rglob(f"[0-9]*.{ending}")]
        return {path.parent for path in logs} <= {path.parent for path in snapshots}


def wait_until(condition: Callable[[], bool], timeout_seconds: float = 60) -> None:
    """Poll until the condition holds."""
    deadline = time.monotonic() + timeout_seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout_seconds} seconds: {condition}")
        time.sleep(0.05)
