"""Orders of two shops, one after another, into a Kafka topic of two partitions.

    python demo/producer.py BOOTSTRAP TOPIC [--per-second 5]

Order N is worth a number of cents that follows from N; it goes on where the topic ends, so a restart leaves no gap.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

SHOPS = ("north", "south")
TIMEOUT_S = 30


def cents(order: int) -> int:
    """What an order is worth."""
    return 100 + order * 7 % 900


def make_topic(bootstrap: str, topic: str) -> None:
    """Make the topic, unless it is there: a partition for each shop."""
    admin = AdminClient({"bootstrap.servers": bootstrap})  # what it has begun ends with it
    try:
        admin.create_topics([NewTopic(topic, len(SHOPS), 1)])[topic].result(TIMEOUT_S)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def length(bootstrap: str, topic: str) -> int:
    """How many orders there are."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "producer"})
    with contextlib.closing(consumer):
        partitions = [TopicPartition(topic, number) for number in range(len(SHOPS))]
        return sum(consumer.get_watermark_offsets(partition, TIMEOUT_S)[1] for partition in partitions)


def main() -> None:
    """Produce until ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("--per-second", type=float, default=5)
    options = parser.parse_args()
    make_topic(options.bootstrap, options.topic)
    producer = Producer({"bootstrap.servers": options.bootstrap, "enable.idempotence": True})
    order = length(options.bootstrap, options.topic)
    while True:
        shop = order % len(SHOPS)
        at = datetime.now(UTC).isoformat()
        value = json.dumps({"order": order, "shop": SHOPS[shop], "cents": cents(order), "at": at})
        producer.produce(options.topic, value, partition=shop)
        if producer.flush(TIMEOUT_S) == 0:
            (Path.home() / "alive").touch()
        order += 1
        time.sleep(1 / options.per_second)


if __name__ == "__main__":
    main()
