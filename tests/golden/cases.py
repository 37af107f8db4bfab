"""The golden cases: which streaming query each one runs, and under which session confs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from lab import Case, Lab, wait_until
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

STATE = "spark.sql.streaming.stateStore"
PROVIDERS = "org.apache.spark.sql.execution.streaming.state"
HDFS = {f"{STATE}.providerClass": f"{PROVIDERS}.HDFSBackedStateStoreProvider"}
ROCKSDB = {f"{STATE}.providerClass": f"{PROVIDERS}.RocksDBStateStoreProvider"}
CHANGELOG = {**ROCKSDB, f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true"}
V2 = {f"{STATE}.checkpointFormatVersion": "2"}
CHANGELOG_V2 = {**CHANGELOG, **V2}
STORES = {
    "hdfs": HDFS,
    "rocksdb": ROCKSDB,
    "rocksdb-v2": {**ROCKSDB, **V2},
    "rocksdb-changelog": CHANGELOG,
    "rocksdb-changelog-v2": CHANGELOG_V2,
}
CODEC = f"{STATE}.compression.codec"
ROW_CHECKSUM = {f"{STATE}.rowChecksum.enabled": "true"}
SNAPSHOT_EARLY = {f"{STATE}.minDeltasForSnapshot": "3"}
OFFSET_LOG_V2 = {"spark.sql.streaming.offsetLog.formatVersion": "2"}
SOURCE_EVOLUTION = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
SINK_EVOLUTION = {"spark.sql.streaming.queryEvolution.enableSinkEvolution": "true"}
NO_FILE_CHECKSUM = {"spark.sql.streaming.checkpoint.fileChecksum.enabled": "false"}
JOIN_STATE_3 = {"spark.sql.streaming.join.stateFormatVersion": "3"}
JOIN_STATE_4 = {"spark.sql.streaming.join.stateFormatVersion": "4"}
RETAIN_2 = {
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.asyncLogPurge.enabled": "false",  # purged by the end of the batch
}


def copy_files(lab: Lab, *, files: int) -> None:
    """A stateless query, one file a batch."""
    lab.add_files(files)
    lab.drain(lab.read())


def copy_once(lab: Lab) -> None:
    """One start with trigger once for every file."""
    for _ in range(4):
        lab.add_files(1)
        lab.drain(lab.read(), once=True)


def copy_rate(lab: Lab) -> None:
    """The rate source: one batch a start, some seconds apart."""
    for _ in range(4):
        lab.drain(lab.spark.readStream.format("rate").option("rowsPerSecond", 2).load())
        time.sleep(1.1)


def copy_rate_micro_batch(lab: Lab) -> None:
    """The rate-micro-batch source: one batch a start."""
    for _ in range(5):
        source = lab.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5)
        lab.drain(source.option("startTimestamp", 0).option("advanceMillisPerBatch", 1000).load())


def copy_two(lab: Lab, *, named: bool = False) -> None:
    """A stateless query over two file sources."""
    lab.add_files(4, "orders")
    lab.add_files(4, "payments")
    lab.drain(lab.read("orders", named=named).union(lab.read("payments", named=named)))


def copy_to_named_sink(lab: Lab, *, names: tuple[str, ...]) -> None:
    """A stateless query with a named sink; each later name is a rename."""
    for name in names:
        lab.add_files(4)
        lab.drain(lab.read(), sink_name=name)


def copy_async(lab: Lab) -> None:
    """Asynchronous progress tracking: of every two quick batches only the first reaches the logs."""
    interval_ms = 3000
    options = {
        "asyncProgressTrackingEnabled": "true",
        "asyncProgressTrackingCheckpointIntervalMs": str(interval_ms),
    }
    query = lab.start(lab.read(), {"processingTime": "0 seconds"}, options=options)
    for _ in range(3):
        for _ in range(2):
            lab.add_files(1)
            query.processAllAvailable()
        time.sleep(interval_ms / 1000)
    query.stop()


def copy_continuously(lab: Lab) -> None:
    """A continuous trigger, stopped after its fourth commit."""
    source = lab.spark.readStream.format("rate").option("rowsPerSecond", 10).option("numPartitions", 2).load()
    query = lab.start(source, {"continuous": "1 second"})
    wait_until(lambda: len(lab.batches("commits")) >= 4)
    query.stop()


def run_in_real_time(lab: Lab, query_of: Callable[[DataFrame], DataFrame], *, batches: int = 4) -> None:
    """Real-time mode, stopped in the batch after some: of that one no log has an entry."""
    texts, add = lab.read_at_once()
    query = lab.start(query_of(texts), {"realTime": "5 seconds"})
    for number in range(batches + 1):
        add([f"{key}{number % 2}" for key in "abc"])
        if number < batches:
            wait_until(lambda done=number: len(lab.batches("commits")) > done)
    if (state := lab.checkpoint / "state").exists():
        wait_until(lambda: any(state.rglob(f".{batches + 1}_*.tmp")))
    query.stop()


def copy_in_real_time(lab: Lab) -> None:
    """A stateless query in real-time mode."""
    run_in_real_time(lab, lambda texts: texts.select(sql.upper("value").alias("value")))


def count_in_real_time(lab: Lab) -> None:
    """An aggregation in real-time mode, which has an operator of its own for it."""
    run_in_real_time(lab, lambda texts: texts.groupBy("value").count())


def drop_duplicates_in_real_time(lab: Lab) -> None:
    """Deduplication in real-time mode, whose operator is that of micro-batches."""
    run_in_real_time(lab, lambda texts: texts.dropDuplicates(["value"]))


def count_by_window(orders: DataFrame) -> DataFrame:
    """An aggregation with a watermark."""
    windows = orders.withWatermark("at", "10 seconds").groupBy(sql.window("at", "20 seconds"), "key")
    return windows.agg(sql.count("*").alias("orders"), sql.sum("value").alias("total"))


def run_with_snapshots(lab: Lab, frame: DataFrame) -> None:
    """A stateful query whose stores take a snapshot half way, while it is alive."""
    query = lab.start(frame, {"processingTime": "0 seconds"})
    lab.add_files(4)
    query.processAllAvailable()
    lab.take_snapshots()
    lab.add_files(2)
    query.processAllAvailable()
    query.stop()


def aggregate(lab: Lab) -> None:
    """An aggregation, with snapshots."""
    run_with_snapshots(lab, count_by_window(lab.read()))


def aggregate_briefly(lab: Lab, *, sink_name: str | None = None) -> None:
    """An aggregation that ends before any state store maintenance."""
    lab.add_files(6)
    lab.drain(count_by_window(lab.read()), sink_name=sink_name)


def drop_duplicates(lab: Lab) -> None:
    """Deduplication within a watermark."""
    run_with_snapshots(lab, lab.read().withWatermark("at", "10 seconds").dropDuplicates(["key", "at"]))


def count_everything(lab: Lab) -> None:
    """An aggregation without grouping keys: its state lives in one partition."""
    run_with_snapshots(lab, totals(lab.read()))


def totals(orders: DataFrame) -> DataFrame:
    """One row for everything."""
    return orders.agg(sql.count("*").alias("orders"), sql.sum("value").alias("total"))


def first_rows(lab: Lab) -> None:
    """A limit on the whole stream: its state, one counter, lives in one partition."""
    lab.add_files(4)
    lab.drain(lab.read().limit(8))


def sessions(lab: Lab) -> None:
    """Session windows by key."""
    lab.add_files(5)
    lab.drain(session_totals(lab.read()))


def session_totals(orders: DataFrame) -> DataFrame:
    """A session ends when a key has no row for five seconds."""
    sessions = orders.withWatermark("at", "10 seconds").groupBy(sql.session_window("at", "5 seconds"), "key")
    return sessions.agg(sql.count("*").alias("orders"), sql.sum("value").alias("total"))


def drop_duplicates_within_watermark(lab: Lab) -> None:
    """Deduplication by key for as long as the watermark delay says."""
    lab.add_files(5)
    lab.drain(lab.read().withWatermark("at", "10 seconds").dropDuplicatesWithinWatermark(["key"]))


def count_then_count(lab: Lab) -> None:
    """An aggregation of an aggregation."""
    lab.add_files(6)
    lab.drain(count_counts(lab.read()))


def count_counts(orders: DataFrame) -> DataFrame:
    """Windows by key, and longer windows of those."""
    longer = count_by_window(orders).groupBy(sql.window(sql.window_time("window"), "40 seconds"))
    return longer.agg(sql.sum("orders").alias("orders"))


def count_then_limit(lab: Lab) -> None:
    """Two operators: the first has state in every partition, the second in one."""
    lab.add_files(6)
    lab.drain(count_by_window(lab.read()).limit(4))


def apply_in_pandas(lab: Lab) -> None:
    """Arbitrary state by a Python function."""
    lab.add_files(4)
    lab.drain(count_in_pandas(lab.read()))


def count_in_pandas(orders: DataFrame) -> DataFrame:
    """A running count; the function is a local one, so that Spark ships its code to the Python workers."""

    def count(key: Any, frames: Iterator[Any], state: Any) -> Iterator[Any]:
        batches = list(frames)
        total = (state.get[0] if state.exists else 0) + sum(map(len, batches))
        state.update((total,))
        yield batches[0].head(1)[["key"]].assign(orders=total)

    schema = "key STRING, orders LONG"
    return orders.groupBy("key").applyInPandasWithState(count, schema, "orders LONG", "update", "NoTimeout")


def join(lab: Lab) -> None:
    """An inner join of two streams within an interval of event time."""
    orders = lab.read("orders").withWatermark("at", "10 seconds").alias("o")
    payments = lab.read("payments").withWatermark("at", "10 seconds").alias("p")
    in_time = "o.key = p.key AND p.at BETWEEN o.at AND o.at + INTERVAL 10 SECONDS"
    matched = orders.join(payments, sql.expr(in_time)).select("o.key", "o.value", "o.at")
    lab.add_files(4, "orders")
    lab.add_files(4, "payments")
    lab.drain(matched)


def transform_with_state(lab: Lab) -> None:
    """An arbitrary stateful operator in Python."""
    lab.add_files(5)
    lab.drain(count_with_processor(lab.read()))


def count_with_processor(orders: DataFrame) -> DataFrame:
    """A running count in one value state.

    The processor is a local class, so that Spark ships its code to the Python workers.
    """
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    class RunningCount(StatefulProcessor):  # type: ignore[misc, unused-ignore]
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._count: Any = handle.getValueState("count", "orders LONG")

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Iterator[Any]:
            before = self._count.get()[0] if self._count.exists() else 0
            frames = list(rows)
            total = before + sum(len(frame) for frame in frames)
            self._count.update((total,))
            yield frames[0].head(1)[["key"]].assign(orders=total)

        def close(self) -> None:
            pass

    schema = "key STRING, orders LONG"
    return orders.groupBy("key").transformWithStateInPandas(RunningCount(), schema, "Update", "None")


def repartition(lab: Lab, *, partitions: int) -> None:
    """An aggregation whose state is repartitioned between two runs."""
    counts = count_by_window(lab.read())
    lab.add_files(4)
    lab.drain(counts)
    manager: Any = lab.spark._streamingCheckpointManager
    manager.repartition(str(lab.checkpoint), partitions, enforce_exactly_once_sink=True)
    lab.add_files(2)
    lab.drain(counts)


TWO_FILES = {"0": "file", "1": "file"}
REAL_TIME: dict[str, Any] = {
    "sink": "console",
    "sources": {"0": "memory"},
    "output_mode": "update",
    "timed": True,
}
#: All tasks of a query in real-time mode run at once: one of the source and one of the operator.
ONE_TASK = {"spark.sql.shuffle.partitions": "1"}

STATELESS = [
    Case("file-to-parquet-5", partial(copy_files, files=5)),
    Case("file-to-parquet-12", partial(copy_files, files=12), since=(3, 4)),
    Case("rate", copy_rate, sink="noop", sources={"0": "rate"}, timed=True),
    Case("rate-micro-batch", copy_rate_micro_batch, sink="noop", sources={"0": "rate-micro-batch"}),
    Case("once", copy_once),
    Case("retain-2-batches", partial(copy_files, files=12), RETAIN_2),
    Case("async-progress", copy_async, sink="noop"),
    Case("continuous", copy_continuously, sink="noop", sources={"0": "rate"}, timed=True),
    Case("real-time", copy_in_real_time, **REAL_TIME),
    Case("two-sources", copy_two, sources=TWO_FILES),
    Case(
        "named-sources",
        partial(copy_two, named=True),
        SOURCE_EVOLUTION,
        sources={"orders": "file", "payments": "file"},
    ),
    Case("offset-log-v2", partial(copy_files, files=5), OFFSET_LOG_V2),
    Case("commit-log-v3", partial(copy_to_named_sink, names=("archive",)), SINK_EVOLUTION),
    Case("commit-log-v3-renamed", partial(copy_to_named_sink, names=("archive", "lake")), SINK_EVOLUTION),
]

AGGREGATIONS = [
    Case("agg-hdfs", aggregate, {**HDFS, **SNAPSHOT_EARLY}, since=(3, 4)),
    Case("agg-rocksdb", aggregate, ROCKSDB, since=(3, 4)),
    Case("agg-rocksdb-changelog", aggregate, {**CHANGELOG, **SNAPSHOT_EARLY}, since=(3, 5)),
    Case("agg-rocksdb-v2", aggregate, STORES["rocksdb-v2"]),
    Case("agg-rocksdb-changelog-v2", aggregate, {**CHANGELOG_V2, **SNAPSHOT_EARLY}),
    Case("agg-rocksdb-changelog-v2-zstd", aggregate, {**CHANGELOG_V2, **SNAPSHOT_EARLY, CODEC: "zstd"}),
    Case("agg-rocksdb-changelog-v2-snappy", aggregate, {**CHANGELOG_V2, **SNAPSHOT_EARLY, CODEC: "snappy"}),
    *(
        Case(f"agg-update-{store}", aggregate_briefly, confs, sink="noop", output_mode="update")
        for store, confs in STORES.items()
    ),
    Case("row-checksum", aggregate, {**HDFS, **SNAPSHOT_EARLY, **ROW_CHECKSUM}),
    Case("no-file-checksum", aggregate, {**CHANGELOG_V2, **SNAPSHOT_EARLY, **NO_FILE_CHECKSUM}),
    Case(
        "agg-commit-log-v3",
        partial(aggregate_briefly, sink_name="archive"),
        {**CHANGELOG_V2, **SINK_EVOLUTION},
    ),
    Case("repartition-2-to-4", partial(repartition, partitions=4), CHANGELOG_V2),
    Case("repartition-2-to-1", partial(repartition, partitions=1), ROCKSDB),
    Case("repartition-offset-log-v2", partial(repartition, partitions=4), {**CHANGELOG, **OFFSET_LOG_V2}),
]

OTHER_STATEFUL = [
    Case("drop-duplicates", drop_duplicates, {**HDFS, **SNAPSHOT_EARLY}),
    Case("join-hdfs", join, HDFS, sources=TWO_FILES),
    Case("join-rocksdb-v2", join, CHANGELOG_V2, sources=TWO_FILES),
    Case("join-state-format-3", join, {**CHANGELOG, **JOIN_STATE_3}, sources=TWO_FILES),
    Case("join-state-format-4", join, {**CHANGELOG, **JOIN_STATE_4}, sources=TWO_FILES),
    Case("drop-duplicates-within-watermark", drop_duplicates_within_watermark, HDFS),
    Case("session-window", sessions, HDFS),
    Case("agg-real-time", count_in_real_time, {**CHANGELOG_V2, **ONE_TASK}, **REAL_TIME),
    Case("drop-duplicates-real-time", drop_duplicates_in_real_time, {**CHANGELOG_V2, **ONE_TASK}, **REAL_TIME),
    Case("count-then-count", count_then_count, HDFS),
    Case("apply-in-pandas", apply_in_pandas, HDFS, sink="noop", output_mode="update"),
    Case("transform-with-state", transform_with_state, CHANGELOG, sink="noop", output_mode="update"),
]

ONE_PARTITION = [
    Case("count-all-hdfs", count_everything, {**HDFS, **SNAPSHOT_EARLY}, sink="noop", output_mode="update"),
    Case("count-all-rocksdb", count_everything, {**CHANGELOG, **SNAPSHOT_EARLY}, sink="noop", output_mode="update"),
    Case(
        "count-all-rocksdb-v2", count_everything, {**CHANGELOG_V2, **SNAPSHOT_EARLY}, sink="noop", output_mode="update"
    ),
    Case("limit", first_rows, HDFS),
    Case("count-then-limit", count_then_limit, HDFS),
]

CASES = [*STATELESS, *AGGREGATIONS, *OTHER_STATEFUL, *ONE_PARTITION]
