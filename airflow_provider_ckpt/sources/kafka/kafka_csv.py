"""Positions in the CSV that ``kafka-consumer-groups`` writes with ``--export`` and reads with ``--from-file``.

A line is ``topic,partition,offset`` or ``group,topic,partition,offset``. There is no header, the order means nothing,
values may be in quotes, and empty lines are left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping

from airflow_provider_ckpt.codec.jvm_text import INT_MAX, LONG_MAX
from airflow_provider_ckpt.codec.offsets.kafka import Partition

#: Characters of the longest file that is read; 10,000 partitions take 3 MB with the longest names.
MOST_CHARACTERS = 16 << 20
#: What Kafka allows as the name of a topic, but for ``.`` and ``..``.
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_NUMBER = re.compile(r"[0-9]{1,19}")


def read_csv(text: str) -> dict[Partition, int]:
    """Offsets by topic and partition.

    Raises:
        ValueError: It is too long, holds no position, names a partition twice or several groups, or a line is none
            of the two; the message names the line, counted from 1.
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"the file has more than {MOST_CHARACTERS:,} characters")
    offsets: dict[Partition, int] = {}
    groups: set[str] = set()
    for number, row in _rows(text):
        if len(row) not in (3, 4):
            raise ValueError(f"line {number} has {len(row)} values, and not topic,partition,offset")
        groups.update(row[:-3])
        if len(groups) > 1:
            named = " and ".join(sorted(groups))
            raise ValueError(f"line {number} is of another group: the file has positions of {named}, so give one")
        topic, partition, offset = row[-3:]
        if not is_topic(topic):
            raise ValueError(f"line {number}: {topic!r:.60} is not a name of a topic")
        at = topic, _number(partition, INT_MAX, number, "a partition; the file has no header line")
        if at in offsets:
            raise ValueError(f"line {number} names partition {at[0]}-{at[1]} a second time")
        offsets[at] = _number(offset, LONG_MAX, number, "an offset")
    if not offsets:
        raise ValueError("the file holds no position")
    return offsets


def write_csv(offsets: Mapping[Partition, int]) -> str:
    """The same, sorted, with a line break after each line; names of topics need no quotes."""
    return "".join(f"{topic},{partition},{offset}\n" for (topic, partition), offset in sorted(offsets.items()))


def is_topic(name: str) -> bool:
    """True if Kafka allows a name for a topic."""
    return _TOPIC.fullmatch(name) is not None and name not in (".", "..")


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(text.splitlines(), strict=True)
    try:
        for row in reader:
            values = [value.strip() for value in row]
            if any(values):
                yield reader.line_num, values
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} is not CSV: {error}") from None


def _number(text: str, most: int, line: int, what: str) -> int:
    if not _NUMBER.fullmatch(text) or int(text) > most:
        raise ValueError(f"line {line}: {text!r:.60} is not {what}")
    return int(text)
