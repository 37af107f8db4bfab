"""Kafka: the end offsets of partitions, as the broker knows them.

The end of a partition counts what Spark counts: control records of transactions, too, and records that compaction has
removed. With ``isolation.level=read_committed`` it is the last stable offset, as for a source with that option; a
transaction that is open keeps it back, and what the transaction holds is written when it is committed.

At a time, the end is the first record whose timestamp is later, or the end of the partition. That is what was
written until then as far as the timestamps rise within the partition: always with
``message.timestamp.type=LogAppendTime``, and with ``CreateTime`` as far as producers are in order and their clocks are
right. The end of now does not go by timestamps.

Late or never: a partition or a topic that was declared and that the query does not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from airflow_provider_ckpt.codec.offsets.kafka import Partition, offsets_of, to_json
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError, StoreError
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.waiting import Condition, OffsetsReached

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.source import Source
    from airflow_provider_ckpt.sources.open_end import Access


class End:
    """The end of the topics of one Kafka source. Keeps its connection to the broker for the next poll."""

    def __init__(self, declared: Source, source_id: str, access: Access) -> None:
        self.source_id = source_id
        self.topics = declared.topics
        self.broker = KafkaBroker(declared.location, access.kafka_config_of(declared.location))

    def end_at(self, at_ms: int | None, committed: SourceOffset | None, slack: int = 0) -> Condition:
        """Condition for the end at a time; see :meth:`~airflow_provider_ckpt.sources.open_end.SourceEnd.end_at`.

        Partitions that were never written to are left out: the query may not know them yet.
        """
        positions = _positions(committed, self.source_id)
        partitions = self._partitions(self.topics or sorted({topic for topic, _ in positions}))
        later = {} if at_ms is None else self.broker.first_at(partitions, at_ms + 1)
        latest = self.broker.latest(partitions)  # asked for last, so that it lies behind what the time gave
        self._require_same_topics(positions, latest)
        ends = {at: end if (first := later.get(at)) is None else first for at, end in latest.items()}
        text = to_json({partition: end for partition, end in ends.items() if end > 0})
        return OffsetsReached({self.source_id: text}, {self.source_id: "kafka"}, slack)

    def _partitions(self, names: Iterable[str]) -> list[Partition]:
        topics = self.broker.topics(names)
        if not topics:
            raise StoreError(
                "the topics of the source are not known, because none was declared and no batch is committed",
                location=self.broker.location,
                hint="Declare the topics, for example kafka:broker:9092/orders.",
            )
        found = []
        for name, topic in topics.items():
            if topic is None:
                hint = "Check the declared topics."
                raise StoreError(f"topic {name} does not exist", location=self.broker.location, hint=hint)
            found += [(name, number) for number in topic.partitions]
        return found

    def _require_same_topics(self, positions: Mapping[Partition, int], latest: Mapping[Partition, int]) -> None:
        for partition, offset in positions.items():
            if partition in latest and offset > latest[partition]:
                name = "-".join(map(str, partition))
                raise StoreError(
                    f"the query is at offset {offset} of partition {name}, which ends at {latest[partition]}: the "
                    "topic was created again, or has lost records, or the query uses another isolation.level",
                    location=self.broker.location,
                )


def _positions(committed: SourceOffset | None, source_id: str) -> dict[Partition, int]:
    """The position of a query, by partition. Raises StoreError when that is no offset of Kafka's."""
    try:
        return offsets_of(committed)
    except MalformedEntryError as error:
        raise StoreError(f"source {source_id} is not a Kafka source: {error.message}") from error
