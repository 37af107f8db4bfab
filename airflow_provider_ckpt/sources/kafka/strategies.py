"""Where the positions of a Kafka source are to go: the strategies of ``kafka-consumer-groups --reset-offsets``.

They mean what they mean there (Kafka 4.3), and as there each offset is brought into what the topic holds. What differs:

* Only partitions that the offset log has are moved, and others that are named one by one. Spark reads a partition that
  the log does not have from its earliest offset; one that the log has and the query does not read stops the query.
* ``ToCurrent`` brings positions into what the topic holds, too. One that is past the end of its partition, or from
  which the batch in flight goes back, is of an earlier topic of the same name, and so are all positions in that topic:
  they become the earliest offsets. What goes to the end, to a time or by a distance is refused for such a topic.
* A partition that the topic no longer has is left out, because the query stops at an offset for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from airflow_provider_ckpt.checkpoint.contents import listed_shortly
from airflow_provider_ckpt.codec.jvm_text import INT_MAX
from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition
from airflow_provider_ckpt.sources.kafka.kafka_csv import is_topic
from airflow_provider_ckpt.times import time_text

#: What Spark takes for the earliest and the latest offset in ``startingOffsets``.
EARLIEST, LATEST = -2, -1


@dataclass(frozen=True, slots=True)
class ToEarliest:
    """The first offset that the topic still has."""


@dataclass(frozen=True, slots=True)
class ToLatest:
    """The end of the topic."""


@dataclass(frozen=True, slots=True)
class ToCurrent:
    """The committed position."""


@dataclass(frozen=True, slots=True)
class ToDatetime:
    """The first record that is not older than a time, epoch milliseconds; the end where there is none."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class ByDuration:
    """As :class:`ToDatetime`, of a time so many milliseconds ago."""

    duration_ms: int


@dataclass(frozen=True, slots=True)
class ShiftBy:
    """The committed position and so many offsets more; a negative number goes back."""

    offsets: int


@dataclass(frozen=True, slots=True)
class ToOffsets:
    """One offset for every partition, or offsets by partition, of which -2 is the earliest and -1 the latest one."""

    offsets: int | Mapping[Partition, int]


@dataclass(frozen=True, slots=True)
class FromFile:
    """Offsets by partition, as ``kafka_csv.read_csv`` reads them."""

    rows: Mapping[Partition, int]


Strategy = ToEarliest | ToLatest | ToCurrent | ToDatetime | ByDuration | ShiftBy | ToOffsets | FromFile


@dataclass(frozen=True, slots=True)
class Scope:
    """Partitions to move: those of some topics, or named ones of a topic; an empty scope means all of them."""

    topics: Mapping[str, frozenset[int] | None] = field(default_factory=dict)

    def holds(self, partition: Partition) -> bool:
        """True if a partition is moved."""
        if not self.topics:
            return True
        numbers = self.topics.get(partition[0], frozenset())
        return numbers is None or partition[1] in numbers

    def within(self, topics: Collection[str]) -> Scope:
        """The same where it names topics; where it names none, those that were declared with the source.

        Raises:
            ValueError: It names a topic that the source was declared without.
        """
        if self.topics and topics and (others := sorted(self.topics.keys() - set(topics))):
            raise ValueError(f"the source is declared with {', '.join(topics)}, and not with the topic {others[0]}")
        return self if self.topics else Scope(dict.fromkeys(topics))

    @property
    def named(self) -> frozenset[Partition]:
        """The partitions that are named one by one."""
        return frozenset((topic, number) for topic, numbers in self.topics.items() for number in numbers or ())


@dataclass(frozen=True, slots=True)
class Clamped:
    """A position that the topic does not hold, and the nearest one that it does."""

    partition: Partition
    wanted: int
    offset: int


@dataclass(frozen=True, slots=True)
class Target:
    """Where a source goes.

    Args:
        offsets: The position of every partition that the entry is to have.
        clamped: Positions that the topic does not hold, in the order of the partitions.
        notes: Further notes; sentences.
        perhaps_new: Contents of the moved partitions in topics that were created again or have lost records,
            each from its earliest offset to its end.
    """

    offsets: Mapping[Partition, int]
    clamped: tuple[Clamped, ...] = ()
    notes: tuple[str, ...] = ()
    perhaps_new: Mapping[Partition, tuple[int, int]] = field(default_factory=dict)


def parse_scope(texts: Iterable[str]) -> Scope:
    """Parse ``topic`` and ``topic:0,1`` into one scope. Raises ValueError."""
    topics: dict[str, frozenset[int] | None] = {}
    for text in texts:
        topic, colon, listed = text.partition(":")
        if not is_topic(topic):
            raise ValueError(f"{text!r:.60} is not a topic; give TOPIC, or TOPIC:0,1 for some of its partitions")
        numbers = [_partition_number(number, text) for number in listed.split(",")] if colon else None
        before = topics.get(topic, frozenset())
        topics[topic] = None if numbers is None or before is None else before.union(numbers)
    return Scope(topics)


def _partition_number(number: str, text: str) -> int:
    if not (number.isascii() and number.isdigit() and int(number) <= INT_MAX):
        raise ValueError(f"{text!r:.60} is not a topic with its partitions, such as orders:0,1")
    return int(number)


def asked_ms(strategy: object, now_ms: int) -> int | None:
    """The time that a strategy names, epoch milliseconds, never before 1970; None for a strategy without a time."""
    match strategy:
        case ToDatetime(at_ms):
            return max(0, at_ms)
        case ByDuration(duration_ms):
            return max(0, now_ms - duration_ms)
    return None


def target(
    strategy: Strategy,
    current: Mapping[Partition, int],
    extent: Extent,
    scope: Scope,
    *,
    found_at: Mapping[Partition, int | None] | None = None,
    planned: Mapping[Partition, int] | None = None,
) -> Target:
    """Where each partition goes.

    Args:
        strategy: Where to.
        current: The committed position of each partition, which is where the newest committed batch ended.
        extent: Contents of the topics.
        scope: The partitions that are moved; the others stay where they are, also where the topic does not hold that.
        found_at: By partition the first record that is not older than the time asked for; None where there is none.
        planned: The ends of the batch in flight.

    Raises:
        ValueError: A topic or a partition does not exist, or has no position to begin from, or the topic was created
            again and records of it would be left out; the message names it.
    """
    _require_known(strategy, current, extent, scope)
    chosen = _chosen(strategy, current, scope)
    gone = sorted(chosen - extent.latest.keys())
    wanted = _Wanted(strategy, current, extent, found_at or {}, planned or {})
    offsets = {partition: offset for partition, offset in current.items() if partition not in chosen}
    clamped = []
    for partition in sorted(chosen & extent.latest.keys()):
        asked = wanted.of(partition)
        offsets[partition] = extent.clamped(partition, asked)
        if offsets[partition] != asked:
            clamped.append(Clamped(partition, asked, offsets[partition]))
    notes = (*wanted.notes(), *_notes(current, extent, offsets, gone))
    new = {at: (extent.earliest[at], extent.latest[at]) for at in wanted.perhaps_new(chosen & current.keys())}
    return Target(dict(sorted(offsets.items())), tuple(clamped), notes, new)


class _Wanted:
    """Offsets that a strategy asks for, partition by partition, and notes on them."""

    def __init__(
        self,
        strategy: Strategy,
        current: Mapping[Partition, int],
        extent: Extent,
        found_at: Mapping[Partition, int | None],
        planned: Mapping[Partition, int],
    ) -> None:
        self._strategy, self._current, self._extent = strategy, current, extent
        self._found_at, self._planned = found_at, planned
        self._at_the_end: list[Partition] = []
        self._of_before: list[Partition] = []

    def of(self, partition: Partition) -> int:
        """The offset that is asked for. Raises ValueError for a partition without a position to begin from."""
        earliest, latest = self._extent.earliest[partition], self._extent.latest[partition]
        match self._strategy:
            case ToEarliest():
                return earliest
            case ToLatest():
                self._require_same_topic(partition)
                return latest
            case ToCurrent():
                return self._now(partition)
            case ShiftBy(offsets):
                self._require_same_topic(partition)
                return self._position(partition) + offsets
            case ToDatetime() | ByDuration():
                self._require_same_topic(partition)
                return self._found(partition, latest)
            case ToOffsets(int(offset)):
                return offset
        asked = _given(self._strategy)[partition]
        return {EARLIEST: earliest, LATEST: latest}.get(asked, asked)

    def perhaps_new(self, partitions: Iterable[Partition]) -> list[Partition]:
        """Partitions whose topic was created again, or has lost records, and that are there."""
        there = self._extent.latest
        return sorted(at for at in partitions if at[0] in self._created_again and at in there)

    def notes(self) -> Iterator[str]:
        """Notes on the offsets."""
        if self._at_the_end:
            yield f"There is no record from that time on in {listed(self._at_the_end)}: the position is the end."
        if self._of_before:
            yield (
                f"The position of {listed(self._of_before)} is of an earlier topic of the same name, or of records "
                "that the broker has lost: it becomes the earliest offset, so that no record of the present topic is "
                "left out."
            )

    def _position(self, partition: Partition) -> int:
        if partition not in self._current:
            raise ValueError(
                f"partition {partition[0]}-{partition[1]} has no committed position, so there is none to begin from"
            )
        return self._current[partition]

    def _now(self, partition: Partition) -> int:
        offset = self._position(partition)
        if partition[0] in self._created_again:
            self._of_before.append(partition)
            return self._extent.earliest[partition]
        return offset

    @cached_property
    def _created_again(self) -> set[str]:
        """The topics in which one position at least cannot be of the present topic."""
        latest, planned = self._extent.latest, self._planned
        return {
            at[0]
            for at, offset in self._current.items()
            if offset > latest.get(at, offset) or planned.get(at, offset) < offset
        }

    def _require_same_topic(self, partition: Partition) -> None:
        if partition[0] in self._created_again:
            raise ValueError(
                f"the topic {partition[0]} was created again, or has lost records: a position in it is past its end, "
                "and the query has read none of the records that are there now. Go to the earliest or the current "
                "position (--to-earliest, --to-current; in a DAG to_earliest=, to_current=), or give offsets "
                "(--to-offsets; to_offsets=) to leave records out"
            )

    def _found(self, partition: Partition, latest: int) -> int:
        found = self._found_at.get(partition)
        if found is None:
            self._at_the_end.append(partition)
        return latest if found is None else found


def _given(strategy: Strategy) -> Mapping[Partition, int]:
    """The offsets that a strategy names itself, by partition; none where it works them out."""
    match strategy:
        case FromFile(rows):
            return rows
        case ToOffsets(offsets) if not isinstance(offsets, int):
            return offsets
    return {}


def _chosen(strategy: Strategy, current: Mapping[Partition, int], scope: Scope) -> set[Partition]:
    if given := _given(strategy):
        return {partition for partition in given if scope.holds(partition)}
    return {partition for partition in current if scope.holds(partition)} | scope.named


def _require_known(strategy: Strategy, current: Mapping[Partition, int], extent: Extent, scope: Scope) -> None:
    """Raise ValueError for a topic that the query does not read, and for a partition that nobody knows."""
    read = sorted({topic for topic, _ in current})
    moved = _chosen(strategy, current, scope)
    named = moved | scope.named
    topics = sorted({topic for topic, _ in named} | set(scope.topics))
    if unread := [topic for topic in topics if topic not in read]:
        raise ValueError(f"the query does not read the topic {unread[0]}; it reads {', '.join(read)}")
    if missing := [topic for topic in topics if topic not in extent.topic_ids]:
        raise ValueError(f"the topic {missing[0]} does not exist")
    if unknown := sorted(named - current.keys() - extent.latest.keys()):
        raise ValueError(f"the partition {unknown[0][0]}-{unknown[0][1]} does not exist")
    if not moved:
        raise ValueError("no partition of the query is moved")


def _notes(
    current: Mapping[Partition, int], extent: Extent, offsets: Mapping[Partition, int], gone: list[Partition]
) -> Iterator[str]:
    if gone:
        yield f"The topic has {listed(gone)} no more: left out, for with it the query would stop."
    if added := sorted(offsets.keys() - current.keys()):
        yield (
            f"New in the entry: {listed(added)}. If the query does not read it, the query stops "
            "(KAFKA_DATA_LOSS.PARTITIONS_DELETED)."
        )
    known = sorted(offsets.keys() & extent.latest.keys())
    if lost := [
        partition for partition in known if extent.clamped(partition, offsets[partition]) != offsets[partition]
    ]:
        yield f"Not moved, and not at an offset that the topic holds: {listed(lost)}. The query stops, or loses data."
    if stays := sorted(offsets.keys() - extent.latest.keys()):
        yield (
            f"Not moved, and not in the topic any more: {listed(stays)}. The query stops at it. Move it as well "
            "(--topic, topics= in a DAG), and it is left out."
        )
    topics = {topic for topic, _ in current}
    if new := sorted(partition for partition in extent.latest.keys() - offsets.keys() if partition[0] in topics):
        yield f"Not in the entry: {listed(new)}. Spark reads such a partition from its earliest offset."
        if late := [partition for partition in new if extent.earliest[partition] > 0]:
            yield (
                f"The first records of {listed(late)} are gone, so Spark stops there unless failOnDataLoss is false. "
                "Name such a partition (--topic, topics= in a DAG) to put it into the entry."
            )


def listed(partitions: Iterable[Partition]) -> str:
    """Partitions for people, such as ``orders-0, orders-1 and 3 more``."""
    return listed_shortly(f"{topic}-{number}" for topic, number in partitions)


def text_of(strategy: Strategy) -> str:
    """A strategy in words, to go after ``moves to``."""
    match strategy:
        case ToEarliest():
            return "the earliest offsets"
        case ToLatest():
            return "the latest offsets"
        case ToCurrent():
            return "the committed offsets"
        case ToDatetime(at_ms):
            return f"the first records from {time_text(at_ms)} on"
        case ByDuration(duration_ms):
            return f"the first records of the last {duration_ms:,} ms"
        case ShiftBy(offsets):
            return f"the committed offsets {offsets:+,}"
        case ToOffsets(int(offset)):
            return f"offset {offset:,}"
    return "the offsets that were given"
