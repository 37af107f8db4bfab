"""The offset of a Kafka source: the exclusive end of every known partition (Spark's ``KafkaSourceOffset``)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError

#: Topic and number of a partition.
Partition = tuple[str, int]
_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)


def offsets_of(offset: SourceOffset | None, name: str = "") -> dict[Partition, int]:
    """The offset of each partition: the record at it is the first that is not read yet. None has no partitions.

    Args:
        offset: The offset that an entry of the offset log has for the source.
        name: The entry, for the error.

    Raises:
        MalformedEntryError: It is no offset of Kafka's, or a partition is not named by a number.
    """
    if offset is None:
        return {}
    topics = offset.view("kafka", name).value
    odd = [number for partitions in topics.values() for number in partitions if not _NUMBER.fullmatch(number)]
    if odd:
        raise MalformedEntryError(f"the partition {odd[0]!r:.60} has no number for a name", name=name or None)
    return {
        (topic, int(number)): position
        for topic, partitions in topics.items()
        for number, position in partitions.items()
    }


def to_json(offsets: Mapping[Partition, int]) -> str:
    """The text of an offset, compact as Spark writes it; topics and partitions ascend, as Spark accepts any order."""
    topics: dict[str, dict[str, int]] = {}
    for topic, number in sorted(offsets):
        topics.setdefault(topic, {})[str(number)] = offsets[topic, number]
    return json.dumps(topics, separators=(",", ":"), ensure_ascii=False)
