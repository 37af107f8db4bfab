"""The topics of walks: what is produced to them is there when a call returns, and no thread of a client is left.

A process that walks forks its commands, so it keeps no client of Kafka between two calls.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.kafka_lab import QUIET, until
from tests.walk.model import BEGAN_S, MINUTE_S, lines


def create(bootstrap: str, topic: str) -> None:
    """A topic of one partition."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(60)
    until(lambda: topic in admin.list_topics(timeout=60).topics)


def produce(bootstrap: str, topic: str, origin: int, numbers: Sequence[int], letter: str) -> None:
    """Write the records that stand for files of these numbers, each with the time that it tells."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "enable.idempotence": True, **QUIET})
    for number in numbers:
        for index, line in enumerate(lines(origin, number, letter)):
            time_ms = 1000 * (BEGAN_S + MINUTE_S * number + 20 * index)
            producer.produce(topic, json.dumps(line).encode(), partition=0, timestamp=time_ms)
    assert producer.flush(60) == 0, "the broker did not take the records in 60 s"
