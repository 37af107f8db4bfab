"""What a broker says of the topics of a source at one moment, and the offsets of a query beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.codec.kafka_offset import Partition, offsets_of, to_json

__all__ = ["Extent", "Partition", "offsets_of", "to_json"]


@dataclass(frozen=True, slots=True)
class Extent:
    """The topics that a broker has, and where each of their partitions begins and ends.

    Args:
        topic_ids: The id of each topic by its name; a topic that was asked for and is not here does not exist.
        earliest: The first offset that each partition still has.
        latest: The end of each partition, exclusive: where the next record will go. It has the partitions that
            ``earliest`` has, and none of these numbers is before the earliest one.
    """

    topic_ids: Mapping[str, str]
    earliest: Mapping[Partition, int]
    latest: Mapping[Partition, int]

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """All partitions of the topics, ascending."""
        return tuple(sorted(self.latest))

    def clamped(self, partition: Partition, offset: int) -> int:
        """The nearest offset that a partition has, its end included. Raises KeyError for an unknown partition."""
        return max(self.earliest[partition], min(self.latest[partition], offset))
