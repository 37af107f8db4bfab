"""Queries of real Spark over a real broker that are moved: a case says what the topics hold and where the query goes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.positions.extent import Extent, Partition, offsets_of
from airflow_provider_ckpt.positions.read_extent import read_extent
from airflow_provider_ckpt.positions.strategies import (
    ByDuration,
    Scope,
    ShiftBy,
    Strategy,
    ToCurrent,
    ToDatetime,
    ToEarliest,
    ToLatest,
    ToOffsets,
)
from airflow_provider_ckpt.reset.make import make_reset
from airflow_provider_ckpt.reset.resolve_kafka import KafkaAim
from airflow_provider_ckpt.sinks.declared import parse_sink
from airflow_provider_ckpt.sources.ask_kafka import KafkaBroker
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_lab import Broker

#: Records of the first batch are of this time, later ones of a minute later, epoch milliseconds.
FIRST_MS, MINUTE_MS = 1_700_000_000_000, 60_000
FAILS = "the sink fails"
Row = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Case:
    """What happens before a reset, and which.

    Args:
        read: Records of each partition that the query has read, by source.
        more: How many came then, in each partition.
        deleted: So many of the oldest are gone, in each partition.
        version: Of the offset log.
        in_flight: Whether a batch is planned that was never committed.
        strategy: Where to.
        source: The source that is moved.
        partitions: Its partitions that are moved; empty for all.
    """

    read: tuple[tuple[int, ...], ...]
    more: int
    deleted: int
    version: int
    in_flight: bool
    strategy: Strategy
    source: int = 0
    partitions: tuple[int, ...] = ()


def random_case(seed: int) -> Case:
    """One of very many cases; the same for the same seed."""
    chance = random.Random(seed)
    sources = chance.choice((1, 2))
    read = tuple(tuple(chance.randint(0, 12) for _ in range(chance.randint(1, 3))) for _ in range(sources))
    source = chance.randrange(sources)
    numbers = range(len(read[source]))
    return Case(
        read=read,
        more=chance.randint(0, 6),
        deleted=chance.choice((0, 0, 0, 2, 5)),
        version=chance.choice((1, 2)),
        in_flight=chance.choice((False, True)),
        strategy=chance.choice(
            (
                ToEarliest(),
                ToLatest(),
                ToCurrent(),
                ShiftBy(-3),
                ShiftBy(3),
                ShiftBy(-100),
                ToOffsets(4),
                ToOffsets(99),
                ToDatetime(FIRST_MS),
                ToDatetime(FIRST_MS + MINUTE_MS),
                ByDuration(MINUTE_MS),
            )
        ),
        source=source,
        partitions=tuple(number for number in numbers if chance.random() < 0.5) if chance.random() < 0.5 else (),
    )


class MovedQuery:
    """A query of a case, whose batches real Spark runs."""

    def __init__(self, spark: Any, broker: Broker, case: Case, root: Path) -> None:
        self.spark, self.broker, self.case, self.checkpoint = spark, broker, case, root / "checkpoint"
        self.topics = [broker.create(len(counts)) for counts in case.read]
        self.store = Store.open(str(self.checkpoint))
        self.asked = KafkaBroker(broker.bootstrap, {})

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
            self.run(fails=FAILS)
            assert observe(self.store).in_flight is not None

    def run(self, *, fails: str = "") -> list[Row]:
        """Read what there is; the records that were read, sorted. ``fails`` is in the error of a query that ends early.

        With FAILS it is the sink that fails, so that a batch is planned and not committed.
        """
        read: list[Row] = []

        def keep(batch: Any, batch_id: int) -> None:
            if fails == FAILS:
                raise RuntimeError(FAILS)
            read.extend((row.topic, row.partition, row.offset) for row in batch.collect())

        query = self._records().writeStream.foreachBatch(keep).option("checkpointLocation", str(self.checkpoint))
        running = query.trigger(availableNow=True).start()
        try:
            assert running.awaitTermination(600), "the query did not finish in 600 s"
        except Exception as error:
            assert fails and fails in str(error), error
        else:
            assert fails in ("", FAILS), f"it did not fail: {fails}"
        return sorted(read)

    def _records(self) -> Any:
        self.spark.conf.set("spark.sql.streaming.offsetLog.formatVersion", str(self.case.version))
        frames = []
        for topic in self.topics:
            options = {"kafka.bootstrap.servers": self.broker.bootstrap, "subscribe": topic}
            source = self.spark.readStream.format("kafka").options(**options, startingOffsets="earliest")
            frames.append(source.load().select("topic", "partition", "offset"))
        return frames[0] if len(frames) == 1 else frames[0].union(frames[1])

    def reset(self) -> None:
        """Move the query."""
        stores, case = Stores(self.store), self.case
        scope = Scope({self.topics[case.source]: frozenset(case.partitions)}) if case.partitions else Scope()
        aim = KafkaAim(self.asked, case.strategy, scope)
        plan = make_reset(stores, str(case.source), aim, sink=parse_sink("noop"))
        apply(plan, stores, query_is_stopped=True, quiet_s=0)

    def positions(self) -> list[dict[Partition, int]]:
        """The newest committed position of each source."""
        view = observe(self.store)
        entry = view.offset_seq(view.latest_committed or 0)
        return [offsets_of(entry.offset(str(at))) for at in range(len(self.topics))]

    def extent(self) -> Extent:
        """What the topics hold now."""
        return read_extent(self.asked, self.topics)


def rows_from(positions: Sequence[dict[Partition, int]], extent: Extent) -> list[Row]:
    """The records that a query at these positions reads."""
    return sorted(
        (topic, number, offset)
        for position in positions
        for (topic, number), start in position.items()
        for offset in range(start, extent.latest[topic, number])
    )
