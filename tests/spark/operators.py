"""Every stateful operator of Spark 4.3 as a small query, those that earlier versions are shown with, and a bench."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.spark_lab import KEYS, STATE_CONFS, provider_conf

_EPOCH_S = 1_767_225_600
SCHEMA = "key string, value long, at timestamp"
ROCKSDB = ("rocksdb", "rocksdb-changelog", "rocksdb-v2")
EVERY_STORE = ("hdfs", *ROCKSDB)
#: Major and minor version of Spark: the one that runs, the first one that is shown, the first with state format 2.
RUNNING, EARLIEST, FORMAT_2 = tuple(map(int, version("pyspark").split(".")[:2])), (3, 5), (4, 0)


@dataclass(frozen=True)
class Operator:
    """A query.

    Args:
        build: The result over streams that the bench gives; a call opens one more.
        mode: Output mode.
        stores: Keys of ``STATE_CONFS`` that the operator can use.
        confs: Beside those of the store.
        since: The first version of Spark that it is shown with.
    """

    build: Callable[[Callable[[], Any]], Any]
    mode: str = "append"
    stores: tuple[str, ...] = EVERY_STORE
    confs: Mapping[str, str] = field(default_factory=dict)
    since: tuple[int, int] = (4, 3)

    def runs_with(self, store: str) -> bool:
        """Whether the Spark that runs has it, with this kind of state."""
        return store in self.stores and max(self.since, FORMAT_2 if store == "rocksdb-v2" else EARLIEST) <= RUNNING


@dataclass
class Bench:
    """One query, its input of a file a batch, and its checkpoint."""

    spark: Any
    root: Path
    operator: Operator
    store: str

    @property
    def checkpoint(self) -> Path:
        """The checkpoint location."""
        return self.root / "checkpoint"

    def write(self, numbers: Iterable[int], letter: str = "A") -> None:
        """Write, or replace, input files: three rows each, ten seconds of event time after the file before."""
        folder = self.root / "input"
        folder.mkdir(parents=True, exist_ok=True)
        for number in numbers:
            path = folder / f"f{number:03d}.json"
            path.write_text("\n".join(json.dumps(row) for row in _rows(number, letter)))
            os.utime(path, (_EPOCH_S + number, _EPOCH_S + number))

    def run(self, checkpoint: Path) -> dict[int, list[tuple[Any, ...]]]:
        """Run until the input is used up; the rows that each batch gave."""
        session = self.spark.newSession()
        for key, value in {**STATE_CONFS[self.store], **self.operator.confs}.items():
            session.conf.set(key, provider_conf(value))
        batches: dict[int, list[tuple[Any, ...]]] = {}

        def stream() -> Any:
            reader = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
            return reader.json(str(self.root / "input"))

        def keep(batch: Any, batch_id: int) -> None:
            batches[batch_id] = sorted(map(tuple, batch.collect()), key=str)

        writer = self.operator.build(stream).writeStream.foreachBatch(keep).outputMode(self.operator.mode)
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination(600)
        assert not query.isActive, "the query did not finish in 600 s"
        return batches


def _rows(number: int, letter: str) -> Iterator[dict[str, Any]]:
    """Data B has other keys and other values than data A, so that state of the one never looks like the other's."""
    shift, weight = {"A": (0, 1), "B": (2, 1000)}[letter]
    for place in range(3):
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(_EPOCH_S + 10 * number + 2 * place))
        yield {"key": KEYS[(number + shift + place) % 5], "value": weight * (number + place), "at": at}


def _late(stream: Any) -> Any:
    return stream.withWatermark("at", "15 seconds")


def _sum(rows: Any) -> Any:
    from pyspark.sql import functions as sql

    return rows.agg(sql.count("*").alias("rows"), sql.sum("value").alias("total"))


def _windows(rows: Any) -> Any:
    from pyspark.sql import functions as sql

    return _sum(_late(rows).groupBy(sql.window("at", "20 seconds"), "key"))


def _sessions(rows: Any) -> Any:
    from pyspark.sql import functions as sql

    return _sum(_late(rows).groupBy(sql.session_window("at", "9 seconds"), "key"))


def _chained(rows: Any) -> Any:
    from pyspark.sql import functions as sql

    longer = _windows(rows).groupBy(sql.window(sql.window_time("window"), "40 seconds"))
    return longer.agg(sql.sum("total").alias("total"))


def _join(how: str, prepared: Callable[[Any], Any] = _late) -> Callable[[Callable[[], Any]], Any]:
    def build(stream: Callable[[], Any]) -> Any:
        from pyspark.sql import functions as sql

        left, right = prepared(stream()).alias("l"), prepared(stream()).alias("r")
        near = "l.key = r.key AND r.at BETWEEN l.at + INTERVAL 1 SECONDS AND l.at + INTERVAL 21 SECONDS"
        return left.join(right, sql.expr(near), how).select("l.key", "l.value", "r.value")

    return build


def _in_pandas(rows: Any) -> Any:
    def running(key: Any, frames: Iterator[Any], state: Any) -> Iterator[Any]:
        import pandas

        total = state.get[0] if state.exists else 0
        if state.hasTimedOut:
            state.remove()
            yield pandas.DataFrame({"key": [key[0]], "total": [-total]})
            return
        for frame in frames:
            total += int(frame["value"].sum())
            last_ms = int(frame["at"].max().timestamp() * 1000)
        state.update((total,))
        state.setTimeoutTimestamp(last_ms + 16_000)
        yield pandas.DataFrame({"key": [key[0]], "total": [total]})

    keyed = _late(rows).groupBy("key")
    return keyed.applyInPandasWithState(running, "key string, total long", "total long", "update", "EventTimeTimeout")


def _processor(rows: Any) -> Any:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Running(StatefulProcessor):
        """A value, a list and a map; a timer in event time. State that expires needs processing time."""

        def init(self, handle: Any) -> None:
            self.handle = handle
            self.total = handle.getValueState("total", "total long")
            self.values = handle.getListState("values", "value long")
            self.seen = handle.getMapState("seen", "value long", "times long")

        def handleInputRows(self, key: Any, frames: Any, timers: Any) -> Iterator[Any]:
            import pandas

            total = self.total.get()[0] if self.total.exists() else 0
            for frame in frames:
                for value in map(int, frame["value"]):
                    total += value
                    self.values.appendValue((value,))
                    times = self.seen.getValue((value,))[0] if self.seen.containsKey((value,)) else 0
                    self.seen.updateValue((value,), (times + 1,))
            self.total.update((total,))
            self.handle.registerTimer(timers.getCurrentWatermarkInMs() + 12_000)
            yield pandas.DataFrame({"key": [key[0]], "total": [total], "values": [len(list(self.values.get()))]})

        def handleExpiredTimer(self, key: Any, **timer: Any) -> Iterator[Any]:
            import pandas

            times = sum(row[0] for row in self.seen.values())
            yield pandas.DataFrame(
                {"key": [key[0]], "total": [-timer["expiredTimerInfo"].getExpiryTimeInMs()], "values": [times]}
            )

        def close(self) -> None:
            pass

    schema = "key string, total long, values long"
    return _late(rows).groupBy("key").transformWithStateInPandas(Running(), schema, "Update", "EventTime")


def _join_state(version: int) -> Mapping[str, str]:
    return {"spark.sql.streaming.join.stateFormatVersion": str(version)}


OPERATORS: Mapping[str, Operator] = {
    "count by key": Operator(lambda stream: _sum(stream().groupBy("key")), "update", since=EARLIEST),
    "count of everything": Operator(lambda stream: _sum(stream()), "update"),
    "limit": Operator(lambda stream: stream().limit(13)),
    "count by window": Operator(lambda stream: _windows(stream())),
    "count by window, then limit": Operator(lambda stream: _windows(stream()).limit(7)),
    "chained windows": Operator(lambda stream: _chained(stream())),
    "session windows": Operator(lambda stream: _sessions(stream())),
    "dropDuplicates": Operator(lambda stream: stream().dropDuplicates(["key", "value"])),
    "dropDuplicates with watermark": Operator(lambda stream: _late(stream()).dropDuplicates(["key", "at"])),
    "dropDuplicatesWithinWatermark": Operator(lambda stream: _late(stream()).dropDuplicatesWithinWatermark(["key"])),
    "inner join": Operator(_join("inner")),
    "left outer join": Operator(_join("left_outer")),
    "full outer join": Operator(_join("full_outer")),
    "inner join, state format 3": Operator(_join("inner"), stores=ROCKSDB[1:], confs=_join_state(3)),
    "left outer join, state format 4": Operator(_join("left_outer"), stores=ROCKSDB[1:], confs=_join_state(4)),
    "union of two, then count": Operator(lambda stream: _sum(stream().union(stream()).groupBy("key")), "update"),
    "deduplicated, then joined": Operator(_join("inner", lambda rows: _late(rows).dropDuplicates(["key", "at"]))),
    "applyInPandasWithState": Operator(lambda stream: _in_pandas(stream()), "update"),
    "transformWithState": Operator(lambda stream: _processor(stream()), "update", ROCKSDB[1:]),
}
