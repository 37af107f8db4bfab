"""Cases of queries that are moved: what the topics hold, what the query was doing, and where it goes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition
from airflow_provider_ckpt.sources.kafka.strategies import (
    ByDuration,
    FromFile,
    ShiftBy,
    Strategy,
    ToCurrent,
    ToDatetime,
    ToEarliest,
    ToLatest,
    ToOffsets,
)

#: Records of the first batch are of this time, later ones of a minute later, epoch milliseconds.
FIRST_MS, MINUTE_MS = 1_700_000_000_000, 60_000
#: A batch that is planned and not committed: its task has failed, or the sink has it and the query was killed.
FAILED, IN_THE_SINK = "failed", "in the sink"
SINKS = ("foreachBatch", "file", "kafka")
Row = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Case:
    """What happens before a reset, and which.

    Args:
        read: Records of each partition that the query has read, by source.
        more: How many came then, in each partition.
        deleted: So many of the oldest are gone, in each partition.
        version: Of the offset log.
        in_flight: FAILED or IN_THE_SINK when a batch is planned that was never committed; else empty.
        strategy: Where to; offsets by partition are those of the moved topic.
        source: The source that is moved.
        partitions: Its partitions that are moved; empty for all.
        sink: One of SINKS.
        stateful: Whether the query remembers which records it has read, and how often.
        grown: Records of a partition that the topic of the moved source has got since; 0 for none.
    """

    read: tuple[tuple[int, ...], ...]
    more: int
    deleted: int
    version: int
    in_flight: str
    strategy: Strategy | Mapping[int, int]
    source: int = 0
    partitions: tuple[int, ...] = ()
    sink: str = "foreachBatch"
    stateful: bool = False
    grown: int = 0

    def strategy_of(self, topic: str) -> Strategy:
        """Where to, when that is the topic of the moved source."""
        if isinstance(self.strategy, Mapping):
            return FromFile({(topic, number): offset for number, offset in self.strategy.items()})
        return self.strategy


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
        in_flight=chance.choice(("", FAILED, IN_THE_SINK)),
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
                {number: chance.randint(0, 20) for number in numbers},
            )
        ),
        source=source,
        partitions=tuple(number for number in numbers if chance.random() < 0.5) if chance.random() < 0.5 else (),
        sink=chance.choice(SINKS),
        stateful=chance.choice((False, True)),
        grown=chance.choice((0, 0, 0, 3)),
    )


def rows_from(positions: Sequence[Mapping[Partition, int]], extent: Extent) -> list[Row]:
    """The records that a query at these positions reads; of a partition that it does not know all that there are."""
    topics = {topic for position in positions for topic, _ in position}
    starts = {at: offset for position in positions for at, offset in position.items()}
    new = {at: offset for at, offset in extent.earliest.items() if at[0] in topics and at not in starts}
    return sorted(
        (topic, number, offset)
        for (topic, number), start in {**new, **starts}.items()
        for offset in range(start, extent.latest[topic, number])
    )
