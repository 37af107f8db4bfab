"""Random queries, each with a random change of its sources, and the rows that have to come of them.

An origin is a directory or a topic; a query reads each of some origins by a source of its own. File n of an origin is
what batch n reads of it. The rows that are right are computed here, without Spark.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["union", "sum", "distinct", "distinct sum", "join"]
Rows = list[tuple[str, ...]]
#: How often each kind is drawn.
_KINDS: dict[Kind, int] = {"union": 8, "sum": 4, "distinct": 3, "distinct sum": 2, "join": 3}
_WHERE_KNOWN: tuple[Kind, ...] = ("union", "sum", "distinct")
_ROWS = 2


@dataclass(frozen=True, slots=True)
class Reader:
    """A source of a query: its id, the origin that it reads, and on which side of a join it is."""

    source_id: str
    origin: int
    side: str = "left"


@dataclass(frozen=True, slots=True)
class Case:
    """A query, where it stops, and what becomes of its sources.

    Args:
        number: Of the case; with the seed it says everything.
        kind: What the query does with the rows of its sources.
        old: Its sources in order.
        new: Those of the next query, in order.
        words: What is said to ``ckpt sources``.
        read: How many files the query has planned of each origin.
        topics: The origins that are topics.
        fails: The newest batch stays in flight: it fails ``before`` it has written, or ``after``; empty when it does not.
        rocksdb: Whether its state is in RocksDB.
    """

    number: int
    kind: Kind
    old: tuple[Reader, ...]
    new: tuple[Reader, ...]
    words: tuple[str, ...]
    read: tuple[int, ...]
    topics: frozenset[int]
    fails: str
    rocksdb: bool

    @property
    def named(self) -> tuple[bool, bool]:
        """Whether the sources of the two queries have names."""
        return not self.old[0].source_id.isdigit(), not self.new[0].source_id.isdigit()

    @property
    def in_flight(self) -> int | None:
        """The batch that stays in flight."""
        return max(self.read) - 1 if self.fails else None

    @property
    def origins(self) -> int:
        """How many origins there are."""
        return max(reader.origin for reader in (*self.old, *self.new)) + 1

    def begins_at(self, reader: Reader) -> int:
        """The first file that a source of the next query reads: after what its batch in flight reads again."""
        if reader.origin >= len(self.read):
            return 0
        read = self.read[reader.origin]
        again = self.in_flight is not None and read == max(self.read)
        return read - 1 if again else read

    @property
    def text(self) -> str:
        """In words."""
        flight = f", batch {self.in_flight} in flight ({self.fails} its rows)" if self.fails else ""
        state = " in RocksDB" if self.rocksdb and self.kind != "union" else ""
        return f"{self.kind}{state} of {len(self.old)}{flight}: {' '.join(self.words)}"

    # --- the rows that are right ---------------------------------------------------------------------------------------

    def expected(self, files: int) -> Rows:
        """What the sink has at the end, when each origin has so many files; of an aggregation its last result."""
        kept = [(reader, number) for reader in self.old for number in range(self._committed(reader))]
        after = [(reader, number) for reader in self.new for number in range(self.begins_at(reader), files)]
        rows = [(reader, value) for reader, number in (*kept, *after) for value in values(reader.origin, number)]
        match self.kind:
            case "union":
                return sorted((reader.source_id, str(value)) for reader, value in rows)
            case "distinct":
                return sorted({(str(value),) for _, value in rows})
            case "join":
                left, right = ([value for reader, value in rows if reader.side == side] for side in ("left", "right"))
                return sorted((str(one), str(other)) for one in left for other in right if one % 3 == other % 3)
        counted = [value for _, value in rows] if self.kind == "sum" else {value for _, value in rows}
        sums = {key: sum(value for value in counted if value % 3 == key) for key in {value % 3 for value in counted}}
        return sorted((str(key), str(total)) for key, total in sums.items())

    def _committed(self, reader: Reader) -> int:
        read = self.read[reader.origin]
        return min(read, self.in_flight) if self.in_flight is not None else read


def values(origin: int, number: int) -> list[int]:
    """The rows of one file."""
    return [origin * 1000 + number * 10 + row for row in range(_ROWS)]


def draw(seed: int, number: int, *, names: bool, kafka: bool) -> Case:
    """One case; without ``names`` as for a Spark that has none and does not say what its operators are."""
    chance = random.Random(f"{seed} {number}")
    kinds = list(_KINDS) if names else list(_WHERE_KNOWN)
    kind = chance.choices(kinds, [_KINDS[each] for each in kinds])[0]
    count = chance.randint(2, 3) if kind == "join" else chance.randint(1, 4)
    named = names and chance.random() < 0.3
    ids = [f"s{position}" if named else str(position) for position in range(count)]
    old = tuple(Reader(each, origin, _side(kind, origin, count)) for origin, each in enumerate(ids))
    pairs = _change(chance, ids, named=named, names=names)
    new = tuple(_readers(pairs, old))
    dropped = [each for each in ids if each not in {was for _, was in pairs}]
    read = [chance.choice((0, 1, 2, 3, 3)) for _ in old]
    read[chance.randrange(count)] = chance.choice((1, 2, 3))
    origins = range(count + len(new))
    return Case(
        number,
        kind,
        old,
        new,
        tuple(
            word
            for pair in (
                *(("--as", f"{each}={was or 'new'}") for each, was in pairs),
                *(("--drop", each) for each in dropped),
            )
            for word in pair
        ),
        tuple(read),
        frozenset(origin for origin in origins if kafka and chance.random() < 0.35),
        chance.choice(("", "", "before", "after")),
        chance.random() < 0.3,
    )


def _side(kind: Kind, origin: int, count: int) -> str:
    return "right" if kind == "join" and origin == count - 1 else "left"


def _change(chance: random.Random, ids: Sequence[str], *, named: bool, names: bool) -> list[tuple[str, str | None]]:
    """What each source of the next query continues; never the sources as they are."""
    while True:
        to_names = names and chance.random() < 0.5
        olds: list[str | None] = list(ids)
        for change in chance.sample(("add", "drop", "reorder", "copy", "keep"), chance.choice((1, 1, 2))):
            match change:
                case "add":
                    olds.insert(chance.randint(0, len(olds)), None)
                case "drop" if len(olds) > 1:
                    olds.pop(chance.randrange(len(olds)))
                case "reorder":
                    chance.shuffle(olds)
                case "copy":
                    olds.insert(chance.randint(0, len(olds)), chance.choice(olds))
        if not any(olds) or len(olds) > 5:
            continue
        kept = {each for each in olds if each and olds.count(each) == 1}
        pairs = [
            (_id(position, was, kept, chance) if to_names else str(position), was) for position, was in enumerate(olds)
        ]
        if len({each for each, _ in pairs}) == len(pairs) and [each for each, _ in pairs] != olds:
            return pairs


def _id(position: int, was: str | None, kept: set[str], chance: random.Random) -> str:
    """The name of a source: sometimes the one that it had."""
    if was in kept and was and not was.isdigit() and chance.random() < 0.6:
        return was
    return f"n{position}"


def _readers(pairs: Sequence[tuple[str, str | None]], old: Sequence[Reader]) -> Iterator[Reader]:
    was = {reader.source_id: reader for reader in old}
    right = [position for position, (_, each) in enumerate(pairs) if each and was[each].side == "right"]
    fresh = len(old)
    for position, (each, continued) in enumerate(pairs):
        if continued is None:
            side = "right" if right and position > max(right) else "left"
            yield Reader(each, fresh, side)
            fresh += 1
        else:
            yield Reader(each, was[continued].origin, was[continued].side)
