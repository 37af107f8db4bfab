"""How long ago what a Kafka query has not read yet was written, by the timestamps that the broker can be asked for.

A broker says at which offset a time begins, and not the time of an offset. So the time of the first unread record is
searched for: a time is not later than that of some record up to and including the first unread one exactly when the
first record at that time is not after it. Where timestamps rise within a partition, as with
``message.timestamp.type=LogAppendTime``, that is the timestamp of the first unread record; where producers are out of
order, it is the newest timestamp up to that record, and the query may be further behind.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.extent import Partition

#: The shortest age that is told from none, milliseconds, and the factor between two that are told apart.
SHORTEST_MS, STEP = 1_000, 1.05


def find_ages(broker: KafkaBroker, unread: Mapping[Partition, int], now_ms: int) -> dict[Partition, int | None]:
    """The age of the first unread record of each partition, milliseconds, rounded up by at most 5 %.

    Args:
        broker: The broker; it is asked nine times, or ten, about each partition.
        unread: The first unread offset of each partition that has unread records.
        now_ms: Now, epoch milliseconds.

    Returns:
        None for a partition whose records have no timestamps.
    """
    ages = _ages(now_ms)
    lowest, highest = dict.fromkeys(unread, 0), dict.fromkeys(unread, len(ages))
    while asked := {at: (lowest[at] + highest[at]) // 2 for at in unread if lowest[at] < highest[at]}:
        found = broker.first_since({at: now_ms - ages[step] for at, step in asked.items()})
        for at, step in asked.items():
            first = found[at]
            if first is not None and first <= unread[at]:  # its unread records begin then, or later
                highest[at] = step
            else:
                lowest[at] = step + 1
    return {at: ages[step] if step < len(ages) else None for at, step in lowest.items()}


def _ages(now_ms: int) -> list[int]:
    """Ages that are told apart, up to one that is as long as time itself."""
    ages = [SHORTEST_MS]
    while ages[-1] < now_ms:
        ages.append(min(now_ms, int(ages[-1] * STEP)))
    return ages
