"""A query that reads Kafka, as far as its files show, and the broker that it reads from, as far as a reset asks it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ckpt.codec.checksum import HadoopChecksum
from airflow_provider_ckpt.sources.kafka.ask import Topic
from airflow_provider_ckpt.sources.kafka.extent import Partition
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, timestamp_ms

#: What each batch reads of each partition.
A_BATCH = 10


@dataclass
class ForgedBroker:
    """Topics with their partitions, each from its earliest offset to its end."""

    spans: dict[str, dict[int, tuple[int, int]]]
    #: The first records of the time that is asked for; without one a partition has none.
    found: dict[Partition, int] = field(default_factory=dict)
    location: str = "kafka:forged:9092"
    says_isolation: bool = False
    asked_ms: list[int] = field(default_factory=list)
    #: Where transactions that are open begin.
    open_at: dict[Partition, int] = field(default_factory=dict)

    def topics(self, names: Iterable[str]) -> dict[str, Topic | None]:
        """What there is."""
        return {
            name: Topic(name, f"id of {name}", tuple(self.spans[name])) if name in self.spans else None
            for name in names
        }

    def earliest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Where each begins."""
        return {(topic, number): self.spans[topic][number][0] for topic, number in partitions}

    def latest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Where each ends."""
        return {(topic, number): self.spans[topic][number][1] for topic, number in partitions}

    def last_stable(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Where each ends before the first open transaction."""
        return {at: min(end, self.open_at.get(at, end)) for at, end in self.latest(partitions).items()}

    def first_at(self, partitions: Iterable[Partition], at_ms: int) -> dict[Partition, int | None]:
        """The first records of a time."""
        self.asked_ms.append(at_ms)
        return {partition: self.found.get(partition) for partition in partitions}


class KafkaQuery(FakeQuery):
    """Writes batches that read ``A_BATCH`` offsets of each partition of the topics ``orders`` and ``payments``.

    Args:
        store: Where.
        version: Of the offset log.
        sources: How many sources there are, each with a topic of its own.
        sidecars: Whether a local Hadoop writes checksum files.
        stateful: Whether there is state.
    """

    TOPICS = ("orders", "payments")

    def __init__(
        self, store: Store, *, version: int = 1, sources: int = 1, sidecars: bool = False, stateful: bool = False
    ) -> None:
        self.version, self.sources, self.sidecars, self.stateful = version, sources, sidecars, stateful
        super().__init__(store, has_watermark=False)

    def commit(self, batch_id: int, content: str = "a") -> None:
        """Plan a batch unless that was done, and commit it."""
        if self.stateful:
            super().commit(batch_id, content)
            return
        if f"offsets/{batch_id}" not in self.files:
            self.plan(batch_id)
        self._write(f"commits/{batch_id}", b'v1\n{"nextBatchWatermarkMs":0}')

    def plan(self, batch_id: int, ends: Mapping[str, Mapping[str, int]] | None = None) -> None:
        """Write the offsets of a batch and no more; ``ends`` are those of the first source."""
        metadata: dict[str, Any] = {
            "batchWatermarkMs": 0,
            "batchTimestampMs": timestamp_ms(batch_id),
            "conf": {"spark.sql.shuffle.partitions": "2"},
        }
        if self.version == 2:
            metadata["sourceMetadataInfo"] = {}
        own = {"0": A_BATCH * (batch_id + 1), "1": A_BATCH * (batch_id + 1)}
        offsets = [{topic: own} for topic in self.TOPICS[: self.sources]]
        texts = [json.dumps(value, separators=(",", ":")) for value in [ends or offsets[0], *offsets[1:]]]
        lines = texts if self.version == 1 else [f"{at}:{text}" for at, text in enumerate(texts)]
        data = "\n".join([f"v{self.version}", json.dumps(metadata), *lines]).encode()
        self._write(f"offsets/{batch_id}", data)
        if self.sidecars:
            self._write(f"offsets/.{batch_id}.crc", HadoopChecksum.of(data).encode())


def broker_of(query: KafkaQuery, latest: int = 100) -> ForgedBroker:
    """A broker that still has all of the topics of a query."""
    return ForgedBroker({topic: {0: (0, latest), 1: (0, latest)} for topic in query.TOPICS})
