"""A query of a case, which real Spark runs over a real broker into a sink that is read afterwards."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.query.sink import Sink, parse_sink
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker, read_extent
from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition, offsets_of
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import Scope
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_cases import FAILED, FIRST_MS, IN_THE_SINK, MINUTE_MS, Case, Row
from tests.kafka_lab import Broker

FAILS = "a task fails"
ACCEPTED = "duplicated skipped unknown"


class MovedQuery:
    """A query of a case, whose batches real Spark runs."""

    def __init__(self, spark: Any, broker: Broker, case: Case, root: Path) -> None:
        self.spark, self.broker, self.case, self.checkpoint = spark, broker, case, root / "checkpoint"
        self.topics = [broker.create(len(counts)) for counts in case.read]
        #: Of each source what it subscribes to, separated by commas.
        self.subscribed = list(self.topics)
        self.store = Store.open(str(self.checkpoint))
        self.asked = KafkaBroker(broker.bootstrap, {})
        self.out = root / "out"
        self.out_topic = broker.create() if case.sink == "kafka" else ""
        self._kept: list[Row] = []

    # --- before the reset ------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """All that is before the reset."""
        for topic, counts in zip(self.topics, self.case.read, strict=True):
            for number, count in enumerate(counts):
                self.broker.produce(topic, count, number, FIRST_MS)
        self.run()
        for topic, counts in zip(self.topics, self.case.read, strict=True):
            for number, count in enumerate(counts):
                self.broker.produce(topic, self.case.more, number, FIRST_MS + MINUTE_MS)
                if gone := min(self.case.deleted, count):
                    self.broker.delete_before(topic, gone, number)
        if self.case.in_flight and self.case.more:
            self._leave_in_flight()
        if self.case.grown:
            topic, partitions = self.topics[self.case.source], len(self.case.read[self.case.source])
            self.broker.grow(topic, partitions + 1)
            self.broker.produce(topic, self.case.grown, partitions, FIRST_MS + MINUTE_MS)

    def _leave_in_flight(self) -> None:
        if self.case.in_flight == FAILED:
            self.run(fails=FAILS)
        else:
            assert self.case.in_flight == IN_THE_SINK
            self.run()
            newest = observe(self.store).latest_committed
            for name in (f"{newest}", f".{newest}.crc"):
                (self.checkpoint / "commits" / name).unlink()
        assert observe(self.store).in_flight is not None

    # --- runs ------------------------------------------------------------------------------------------------------

    def run(self, *, fails: str = "") -> list[Row]:
        """Read what there is; what the sink got, sorted. ``fails`` is in the error of a query that ends early.

        With FAILS it is a task that fails, so that a batch is planned and not committed.
        """
        before = Counter(self.in_sink())
        query = self._writer(self._rows(fails == FAILS)).option("checkpointLocation", str(self.checkpoint))
        running = query.trigger(availableNow=True).start()
        try:
            assert running.awaitTermination(600), "the query did not finish in 600 s"
        except Exception as error:
            assert fails and fails in str(error), error
        else:
            assert not fails, f"it did not fail: {fails}"
        return sorted((Counter(self.in_sink()) - before).elements())

    def _rows(self, fail: bool) -> Any:
        from pyspark.sql import functions as f

        self.spark.conf.set("spark.sql.streaming.offsetLog.formatVersion", str(self.case.version))
        self.spark.conf.set("spark.sql.shuffle.partitions", "2")
        frames = []
        for topics in self.subscribed:
            options = {"kafka.bootstrap.servers": self.broker.bootstrap, "subscribe": topics}
            source = self.spark.readStream.format("kafka").options(**options, startingOffsets="earliest")
            frames.append(source.load().select("topic", "partition", "offset"))
        rows = frames[0] if len(frames) == 1 else frames[0].union(frames[1])
        if fail:
            failing = f.when(f.col("offset") >= 0, f.raise_error(f.lit(FAILS)).cast("bigint"))
            rows = rows.withColumn("offset", failing.otherwise(f.col("offset")))
        if self.case.stateful and self.case.sink == "file":
            return rows.dropDuplicates()  # the file sink takes nothing that changes later
        if self.case.stateful:
            return rows.groupBy("topic", "partition", "offset").count()
        return rows

    def _writer(self, rows: Any) -> Any:
        mode = "update" if self.case.stateful and self.case.sink != "file" else "append"
        if self.case.sink == "file":
            return rows.writeStream.format("json").option("path", str(self.out))
        if self.case.sink == "kafka":
            values = rows.selectExpr("to_json(struct(*)) AS value").writeStream.format("kafka").outputMode(mode)
            return values.option("kafka.bootstrap.servers", self.broker.bootstrap).option("topic", self.out_topic)

        def keep(batch: Any, batch_id: int) -> None:
            self._kept.extend(tuple(row) for row in batch.collect())

        return rows.writeStream.foreachBatch(keep).outputMode(mode)

    def in_sink(self) -> list[Row]:
        """All rows that the sink has got: topic, partition and offset, with state how often that was counted."""
        schema = "topic string, partition int, offset bigint"
        if self.case.sink == "file":
            if not (self.out / "_spark_metadata").exists():
                return []
            return [tuple(row) for row in self.spark.read.schema(schema).json(str(self.out)).collect()]
        if self.case.sink == "kafka":
            schema += ", count bigint" if self.case.stateful else ""
            options = {"kafka.bootstrap.servers": self.broker.bootstrap, "subscribe": self.out_topic}
            read = self.spark.read.format("kafka").options(**options).load()
            rows = read.selectExpr(f"from_json(CAST(value AS string), '{schema}') AS row").select("row.*")
            return [tuple(row) for row in rows.collect()]
        return self._kept

    # --- the reset -------------------------------------------------------------------------------------------------

    @property
    def stores(self) -> Stores:
        """Where."""
        return Stores(self.store, sink=Store.open(str(self.out)) if self.case.sink == "file" else None)

    @property
    def sink(self) -> Sink:
        """As it is declared."""
        return parse_sink(f"file:{self.out}" if self.case.sink == "file" else self.case.sink)

    def reset(self) -> Plan:
        """Move the query; the plan."""
        case, topic = self.case, self.topics[self.case.source]
        scope = Scope({topic: frozenset(case.partitions)}) if case.partitions else Scope()
        strategy = case.strategy_of(topic)
        aim = KafkaAim(self.asked, strategy, scope)
        plan = make_reset(self.stores, str(case.source), aim, sink=self.sink, state_sees_rows_again=case.stateful)
        apply(plan, self.stores, query_is_stopped=True, quiet_s=0, accept_sink=ACCEPTED)
        return plan

    def positions(self) -> list[dict[Partition, int]]:
        """The newest committed position of each source."""
        view = observe(self.store)
        entry = view.offset_seq(view.latest_committed or 0)
        return [offsets_of(entry.offset(str(at))) for at in range(len(self.topics))]

    def extent(self) -> Extent:
        """What the topics hold now."""
        return read_extent(self.asked, self.topics)
