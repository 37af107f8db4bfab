"""Asking two clusters for what a translation of positions needs, in the order that keeps it right.

The ends there are asked for first: a record that comes here afterwards is copied behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from airflow_provider_ckpt.codec.offsets.kafka import Partition, offsets_of
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker, read_extent
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.kafka.read_records import FirstSince, Timestamps, read_records
from airflow_provider_ckpt.sources.kafka.translation import Copied, Translated, translate
from airflow_provider_ckpt.sources.position import Position

#: Unread records that are read of each partition at most.
MOST_READ = 100_000
#: Offsets at the end of a copy among which its last record is searched for; the others may be ends of transactions.
TAIL = 100


def translate_position(
    position: Position,
    here: KafkaBroker,
    there: KafkaBroker,
    *,
    names: Mapping[str, str] | None = None,
    topics: Iterable[str] = (),
    most: int = MOST_READ,
) -> tuple[Translated, ...]:
    """Where a query goes on in another cluster that mirrors its topics, partition by partition.

    Args:
        position: Where it is.
        here: The cluster that it reads.
        there: The other cluster.
        names: Names of the topics in the other cluster; a topic that is not named has the same name there.
        topics: Topics of the source that it may not have read from yet.
        most: Greatest number of unread records of each partition that are read, for their timestamps.

    Raises:
        PlanError: The other cluster has no such position: a topic is missing, has another number of partitions, or
            timestamps of its own; or a record has none. Or ``names`` has a topic that the source does not have, or two
            topics would have one copy.
        StoreUnavailableError: A broker does not answer; another try can help.
        StoreError: A broker refuses.
        MalformedEntryError: The source is not a Kafka source.
    """
    reached, called = offsets_of(position.offset, position.entry), dict(names or {})
    wanted = {*topics, *(topic for topic, _ in reached)}
    _require_names(position, wanted, called)
    extent_there = read_extent(there, {called.get(topic, topic) for topic in wanted})
    extent_here = read_extent(here, wanted)
    pairs = _pairs(position, wanted, called, extent_here, extent_there)
    _require_within(position, reached, extent_here)
    _require_kept(position, there, {topic for topic, _ in pairs.values()})
    rises = here.stamps_by_itself(wanted)
    copied = {
        at: Copied(
            at,
            to,
            reached.get(at),
            extent_here.earliest[at],
            extent_here.latest[at],
            there_earliest=extent_there.earliest[to],
            there_end=extent_there.latest[to],
            rises=rises[at[0]],
        )
        for at, to in pairs.items()
    }
    return tuple(translate(item) for item in _asked(position, copied, here, there, most))


def _asked(
    position: Position, copied: Mapping[Partition, Copied], here: KafkaBroker, there: KafkaBroker, most: int
) -> list[Copied]:
    """The partitions with what their records say; where the query has read nothing, the first record is enough."""
    begun = {at: item for at, item in copied.items() if item.position}
    fresh = _with_first_of_all({at: item for at, item in copied.items() if not item.position}, here, there)
    stamps = _timestamps(position, begun, here, most)
    begun = {at: replace(item, at_ms=stamps[at].least_ms, upto=stamps[at].upto) for at, item in begun.items()}
    begun = _with_first_there(begun, there, most)
    begun = _with_older(begun, there)
    begun = _with_first_here(begun, here, there)
    begun = _with_seen_here(begun, here, most)
    return [item for _, item in sorted({**begun, **fresh}.items())]


def _with_first_of_all(
    fresh: Mapping[Partition, Copied], here: KafkaBroker, there: KafkaBroker
) -> dict[Partition, Copied]:
    """Add the first record here and that of the copy."""
    own = {at: FirstSince(item.earliest, item.end, 1, 0) for at, item in fresh.items()}
    copies = {item.there: FirstSince(item.there_earliest, item.there_end, 1, 0) for item in fresh.values()}
    read_records(here, own)
    read_records(there, copies)
    return {
        at: replace(item, seen_here=own[at].found, seen_there=copies[item.there].found) for at, item in fresh.items()
    }


def _timestamps(
    position: Position, begun: Mapping[Partition, Copied], here: KafkaBroker, most: int
) -> dict[Partition, Timestamps]:
    """Timestamps of the unread records; of a partition whose timestamps rise the first is enough."""
    stamps = {at: Timestamps(item.first_unread, item.end, 1 if item.rises else most) for at, item in begun.items()}
    read_records(here, stamps)
    if without := sorted(at for at, said in stamps.items() if said.missing):
        topic, number = without[0]
        raise _refused(position, f"a record of partition {topic}-{number} has no timestamp")
    return stamps


def _with_first_there(begun: Mapping[Partition, Copied], there: KafkaBroker, most: int) -> dict[Partition, Copied]:
    """Add the first record of the copy that may be an unread one.

    The broker may name the end of a transaction in its place, so records are read from there on.
    """
    said = there.first_since({item.there: item.at_ms for item in begun.values() if item.at_ms is not None})
    readings = {
        item.there: FirstSince(first, item.there_end, most, item.at_ms)
        for item in begun.values()
        if item.at_ms is not None and (first := said[item.there]) is not None
    }
    read_records(there, readings)
    found = {}
    for at, item in begun.items():
        reading = readings.get(item.there)
        if reading is None or reading.upto >= reading.end:  # no unread record is in the copy, as far as it went
            found[at] = item
        else:
            found[at] = replace(
                item, first_there=reading.upto, is_found=reading.offset is not None, seen_there=reading.found
            )
    return found


def _with_older(begun: Mapping[Partition, Copied], there: KafkaBroker) -> dict[Partition, Copied]:
    """Add if the copy has a record that is older than all that may be unread ones."""
    readings = {
        item.there: Timestamps(item.there_earliest, item.there_end if item.first_there is None else item.first_there, 1)
        for item in begun.values()
        if item.at_ms is not None
    }
    read_records(there, readings)
    return {
        at: replace(item, has_older=readings[item.there].records > 0) if item.there in readings else item
        for at, item in begun.items()
    }


def _with_seen_here(begun: Mapping[Partition, Copied], here: KafkaBroker, most: int) -> dict[Partition, Copied]:
    """Add the first record since T, where one of the copy was found; the broker may name the end of a transaction."""
    readings = {
        at: FirstSince(item.first_here, item.end, most, item.at_ms)
        for at, item in begun.items()
        if item.seen_there is not None and item.first_here is not None and item.at_ms is not None
    }
    read_records(here, readings)
    return {at: replace(item, seen_here=readings[at].found) if at in readings else item for at, item in begun.items()}


def _with_first_here(
    begun: Mapping[Partition, Copied], here: KafkaBroker, there: KafkaBroker
) -> dict[Partition, Copied]:
    """Add the first record that may be read again."""
    behind = {at: item for at, item in begun.items() if item.first_there is None}
    tails = {
        item.there: Timestamps(max(item.there_earliest, item.there_end - TAIL), item.there_end, TAIL)
        for item in behind.values()
    }
    read_records(there, tails)
    times_ms = {
        at: at_ms
        for at, item in begun.items()
        if (at_ms := tails[item.there].last_ms if at in behind else item.at_ms) is not None
    }
    own_ms: dict[Partition, int] = {}
    first = here.first_since(times_ms, own_ms)
    return {
        at: replace(
            item, first_here=first.get(at), last_is_here=at in behind and own_ms.get(at) == times_ms.get(at, -1)
        )
        for at, item in begun.items()
    }


def _require_names(position: Position, wanted: Iterable[str], called: Mapping[str, str]) -> None:
    """Each topic that is renamed is one of the source, and no two have one copy. Raises PlanError."""
    topics = sorted(wanted)
    if strange := sorted(set(called) - set(topics)):
        raise _refused(
            position,
            f"topic {strange[0]}, which is to have another name, is not one of the source, which has "
            f"{', '.join(topics) or 'none'}",
            "Correct --rename; or declare a topic that the query has not read yet: --source 0=kafka:HOST:PORT/TOPIC.",
        )
    copies: dict[str, str] = {}
    for topic in topics:
        copy = called.get(topic, topic)
        if copy in copies:
            raise _refused(
                position,
                f"topics {copies[copy]} and {topic} would both be {copy} in the other cluster",
                "Give each topic the name of its own copy with --rename.",
            )
        copies[copy] = topic


def _pairs(
    position: Position, wanted: Iterable[str], called: Mapping[str, str], here: Extent, there: Extent
) -> dict[Partition, Partition]:
    """Each partition and its copy. Raises PlanError."""
    pairs: dict[Partition, Partition] = {}
    for topic in sorted(wanted):
        copy = called.get(topic, topic)
        numbers, copies = (
            [number for name, number in extent.latest if name == one] for extent, one in ((here, topic), (there, copy))
        )
        if not numbers or not copies:
            where, name = ("the cluster of the query", topic) if not numbers else ("the other cluster", copy)
            raise _refused(position, f"{where} has no topic {name}", "A mirror may give topics another name: --rename.")
        if sorted(numbers) != sorted(copies):
            raise _refused(
                position,
                f"topic {topic} has {len(numbers)} partitions, and {copy} in the other cluster has {len(copies)}: the "
                "records of a partition are not those of one other",
            )
        pairs |= {(topic, number): (copy, number) for number in numbers}
    return pairs


def _require_within(position: Position, reached: Mapping[Partition, int], here: Extent) -> None:
    for at, offset in sorted(reached.items()):
        if at not in here.latest or offset > here.latest[at]:
            end = f"which ends at {here.latest[at]}" if at in here.latest else "which the broker does not have"
            raise _refused(
                position,
                f"the query is at offset {offset} of partition {at[0]}-{at[1]}, {end}: the topic was created again, or "
                "this is not the cluster that the query reads",
            )


def _require_kept(position: Position, there: KafkaBroker, topics: Iterable[str]) -> None:
    """A copy with timestamps of its own says nothing of the records here. Raises PlanError."""
    if own := sorted(topic for topic, stamps in there.stamps_by_itself(topics).items() if stamps):
        raise _refused(
            position,
            f"topic {own[0]} of the other cluster gives records timestamps of its own (message.timestamp.type is "
            "LogAppendTime), so that those of the copied records are not known",
        )


def _refused(position: Position, why: str, hint: str = "") -> PlanError:
    return PlanError(
        f"the position cannot be translated: {why}.",
        location=position.location,
        batch_id=position.batch_id,
        name=position.entry,
        hint=hint or "Nothing was written.",
    )
