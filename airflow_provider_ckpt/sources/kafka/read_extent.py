"""Asking a broker for the extent of topics."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.extent import Extent


def read_extent(broker: KafkaBroker, names: Iterable[str]) -> Extent:
    """Read the topics from a broker, in calls of two kinds for each 1,000 partitions.

    A topic that does not exist is left out. Raises StoreUnavailableError when the broker does not answer, StoreError
    when it refuses.
    """
    topics = [topic for topic in broker.topics(names).values() if topic is not None]
    partitions = [(topic.name, number) for topic in topics for number in topic.partitions]
    earliest = broker.earliest(partitions)
    latest = broker.latest(partitions)  # asked for last: an end only grows
    return Extent({topic.name: topic.topic_id for topic in topics}, earliest, latest)
