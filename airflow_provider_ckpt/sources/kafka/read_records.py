"""Reading records of Kafka for their timestamps; nothing is committed, and no consumer group is joined.

Every record is read, those of open and aborted transactions as well, because a mirror may have copied any of them. What
marks the end of a transaction is no record here, unlike in what a broker says of timestamps.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from airflow_provider_ckpt.codec.offsets.kafka import Partition
from airflow_provider_ckpt.errors import StoreError, StoreUnavailableError
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.connect import complaint_of

#: Records that one call takes from the client, and how long it waits for the first of them, seconds.
_AT_ONCE, _WAIT_S = 10_000, 0.5
#: What the client says of a partition that has no more records, as ``KafkaError.name`` has it.
_END = "_PARTITION_EOF"
#: Key and value of a record.
Content = tuple[bytes | None, bytes | None]


class Reading(Protocol):
    """Evaluation of the records of one partition, in their order.

    Args:
        upto: Offset up to which the records were read, exclusive; before the first read, where to begin.
        end: Where to end, exclusive.
    """

    upto: int
    end: int

    def take(self, offset: int, at_ms: int | None, content: Content) -> bool:
        """A record with its timestamp; whether it was enough."""


@dataclass(slots=True)
class Timestamps:
    """The timestamps of at most so many records (``most``); ``upto`` and ``end`` are as in :class:`Reading`.

    Args:
        records: How many there are.
        least_ms: The least timestamp, epoch milliseconds; None without records.
        last_ms: That of the last record.
        missing: True if one of them has no timestamp.
    """

    upto: int
    end: int
    most: int
    records: int = 0
    least_ms: int | None = None
    last_ms: int | None = None
    missing: bool = False

    def take(self, offset: int, at_ms: int | None, content: Content) -> bool:
        """Take the timestamp of a record; see :class:`Reading`."""
        self.upto, self.last_ms = offset + 1, at_ms
        self.records += 1
        self.missing |= at_ms is None
        if at_ms is not None:
            self.least_ms = at_ms if self.least_ms is None else min(self.least_ms, at_ms)
        return self.records >= self.most


@dataclass(slots=True)
class FirstSince:
    """The first record with a timestamp that is not before a time, among at most so many (``most``).

    Args:
        at_ms: The time, epoch milliseconds.
        offset: The record; None when there is none among those that were read.
        records: How many were read before it.
        found: The timestamp and the content of that record.
    """

    upto: int
    end: int
    most: int
    at_ms: int
    offset: int | None = None
    records: int = 0
    found: tuple[int | None, Content] | None = None

    def take(self, offset: int, at_ms: int | None, content: Content) -> bool:
        """Take a record if it is new enough (see :class:`Reading`). A record without a timestamp may be one."""
        if at_ms is None or at_ms >= self.at_ms:
            self.upto = self.offset = offset
            self.found = at_ms, content
            return True
        self.upto = offset + 1
        self.records += 1
        return self.records >= self.most


def read_records(broker: KafkaBroker, readings: Mapping[Partition, Reading]) -> None:
    """Read the records of some partitions until each reading has had enough.

    Raises:
        StoreUnavailableError: The broker does not answer; another try can help.
        StoreError: It refuses, or a partition does not begin there; the operation Read on the topics is needed.
    """
    left = {at: reading for at, reading in readings.items() if reading.upto < reading.end}
    if not left:
        return
    consumer = broker.consumer(
        # By itself the client reads committed records alone.
        **{"auto.offset.reset": "error", "enable.partition.eof": True, "isolation.level": "read_uncommitted"}
    )
    try:
        consumer.assign([_at(at, reading.upto) for at, reading in left.items()])
        _read(consumer, broker, left)
    finally:
        consumer.close()


def _read(consumer: Any, broker: KafkaBroker, left: dict[Partition, Reading]) -> None:
    """Read until no partition is left."""
    deadline = time.monotonic() + broker.timeout_s
    while left:
        messages = consumer.consume(_AT_ONCE, _WAIT_S)
        if messages:
            deadline = time.monotonic() + broker.timeout_s
        elif time.monotonic() > deadline:
            topic, number = min(left)
            message = f"partition {topic}-{number}: the broker did not answer with records in {broker.timeout_s:g} s"
            raise StoreUnavailableError(message, location=broker.location)
        done = []
        for message in messages:
            at = message.topic(), message.partition()
            if at in left and _is_enough(message, left[at], broker):
                done.append(at)
                del left[at]
        if done and left:
            consumer.incremental_unassign([_at(at) for at in done])


def _is_enough(message: Any, reading: Reading, broker: KafkaBroker) -> bool:
    """Take a record, or the word that there is none."""
    from confluent_kafka import TIMESTAMP_NOT_AVAILABLE

    error = message.error()
    if error is not None and error.name() != _END:
        said = complaint_of(error).text
        raise StoreError(
            f"partition {message.topic()}-{message.partition()} cannot be read: {said}",
            location=broker.location,
            hint="The operation Read on the topic is needed.",
        )
    if error is not None or message.offset() >= reading.end:
        reading.upto = reading.end
        return True
    kind, at_ms = message.timestamp()
    stamp = None if kind == TIMESTAMP_NOT_AVAILABLE else at_ms
    is_enough = reading.take(message.offset(), stamp, (message.key(), message.value()))
    return is_enough or reading.upto >= reading.end


def _at(partition: Partition, *offset: int) -> Any:
    from confluent_kafka import TopicPartition

    return TopicPartition(*partition, *offset)
