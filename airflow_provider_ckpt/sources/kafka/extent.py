"""Topics of a source at one moment, as the broker has them, and the offsets of a query beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.codec.offsets.kafka import Partition, offsets_of, to_json

__all__ = ["Extent", "Partition", "Retention", "offsets_of", "to_json", "together"]


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

    def only(self, partitions: Collection[Partition] | None) -> Extent:
        """The same with the partitions alone that are assigned to a query; None is all of them."""
        if partitions is None:
            return self
        earliest = {at: offset for at, offset in self.earliest.items() if at in partitions}
        return Extent(self.topic_ids, earliest, {at: self.latest[at] for at in earliest})

    def by_topic(self) -> dict[str, Extent]:
        """The extent of each topic."""
        earliest: dict[str, dict[Partition, int]] = {topic: {} for topic in self.topic_ids}
        latest: dict[str, dict[Partition, int]] = {topic: {} for topic in self.topic_ids}
        for at, end in self.latest.items():
            earliest[at[0]][at], latest[at[0]][at] = self.earliest[at], end
        return {
            topic: Extent({topic: topic_id}, earliest[topic], latest[topic])
            for topic, topic_id in self.topic_ids.items()
        }


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a topic keeps its records, at least; it deletes segments, and never the one that is written.

    Args:
        time_ms: ``retention.ms``; None when age deletes nothing.
        size: ``retention.bytes``, of each partition; None when size deletes nothing.
    """

    time_ms: int | None
    size: int | None


def together(extents: Iterable[Extent]) -> Extent:
    """One extent of several that have no topic in common."""
    ids: dict[str, str] = {}
    earliest: dict[Partition, int] = {}
    latest: dict[Partition, int] = {}
    for extent in extents:
        ids |= extent.topic_ids
        earliest |= extent.earliest
        latest |= extent.latest
    return Extent(ids, earliest, latest)
