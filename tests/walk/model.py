"""What the sink of a query must hold, computed in plain Python from the files that its batches have read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Row = tuple[int, ...]

SHAPES = ("stateless", "sum", "distinct", "join", "window")
OPERATORS = {
    "stateless": (),
    "sum": ("stateStoreSave",),
    "distinct": ("dedupe",),
    "join": ("symmetricHashJoin",),
    "window": ("stateStoreSave",),
}
MINUTE_S = 60
#: How many values a file has, and so many records of a topic stand for a file.
RECORDS = 3
#: When the first file was written, as the times in its rows tell it.
BEGAN_S = 1_767_225_600


@dataclass(frozen=True, slots=True)
class Read:
    """One file that a batch has read.

    Args:
        reader: Which reader read it; a source that begins anew is another reader.
        origin: The directory.
        number: Of the file in its directory.
        letter: Of its content.
    """

    reader: int
    origin: int
    number: int
    letter: str


@dataclass(frozen=True, slots=True)
class Reader:
    """One source of the query: its position or its name, and the directory that it reads."""

    reader: int
    origin: int
    source_id: str


@dataclass(frozen=True, slots=True)
class Reset:
    """A reader that was moved after a batch: the number of the file, or of the records like it, that it takes next."""

    batch_id: int
    reader: int
    number: int


@dataclass(slots=True)
class World:
    """What a walk expects: the query, what its committed batches have read, and what its sink has.

    Args:
        shape: What the query computes.
        readers: Its sources, in their order.
        location: The checkpoint.
        batches: The files that each committed batch has read, and that which is in flight, if its commit was lost.
        sink: What a sink that keeps each batch once was given; unused for a file sink.
        resets: The readers that were moved.
        in_flight: The batch whose commit was lost.
    """

    shape: str
    readers: tuple[Reader, ...]
    location: Path
    batches: dict[int, tuple[Read, ...]] = field(default_factory=dict)
    sink: dict[int, list[Row]] = field(default_factory=dict)
    resets: tuple[Reset, ...] = ()
    in_flight: int | None = None

    def copy(self) -> World:
        """As it is now."""
        return replace(self, batches=dict(self.batches), sink=dict(self.sink))

    def cut(self, batch_id: int) -> None:
        """Forget what came after a batch."""
        self.batches = {key: value for key, value in self.batches.items() if key <= batch_id}
        self.sink = {key: value for key, value in self.sink.items() if key <= batch_id}
        self.resets = tuple(reset for reset in self.resets if reset.batch_id <= batch_id)
        if self.in_flight is not None and self.in_flight > batch_id:
            self.in_flight = None

    def committed(self) -> int:
        """The newest committed batch; -1 for none."""
        return max((batch_id for batch_id in self.batches if batch_id != self.in_flight), default=-1)

    def position(self, reader: Reader) -> int:
        """The number of the file that a reader takes next."""
        moved = [reset for reset in self.resets if reset.reader == reader.reader]
        after, number = (moved[-1].batch_id, moved[-1].number) if moved else (-1, 0)
        later = [read for batch_id, reads in self.batches.items() if batch_id > after for read in reads]
        return number + sum(read.reader == reader.reader for read in later)

    def reset(self, reader: Reader, number: int | None) -> None:
        """Drop a batch in flight, and move a reader; None leaves it where it is."""
        self.cut(self.committed())
        if number is not None:
            self.resets += (Reset(self.committed(), reader.reader, number),)

    def next_file(self, origin: int) -> int:
        """The first file of a directory that no reader of the query has read."""
        return max((self.position(reader) for reader in self.readers if reader.origin == origin), default=0)

    def expected(self) -> list[Row]:
        """The rows that the sink must hold once all files are read."""
        return sorted(rows_of(self.shape, self.readers, [self.batches[batch_id] for batch_id in sorted(self.batches)]))

    def given(self) -> list[Row]:
        """The rows in a sink that keeps each batch once; of a complete result the last one counts."""
        if self.shape == "sum":
            return sorted(self.sink[max(self.sink)]) if self.sink else []
        return sorted(row for rows in self.sink.values() for row in rows)


def values(origin: int, number: int, letter: str) -> list[int]:
    """The values of one file: one of them is in every file, one is in its neighbour too."""
    base = 100 * origin + (5_000 if letter == "B" else 0)
    return [base + number, base + number + 1, 7]


def lines(origin: int, number: int, letter: str) -> list[dict[str, Any]]:
    """What one file holds: each value with its time."""
    at = BEGAN_S + MINUTE_S * number
    return [
        {"v": value, "ts": datetime.fromtimestamp(at + 20 * index, UTC).isoformat()}
        for index, value in enumerate(values(origin, number, letter))
    ]


def rows_of(shape: str, readers: tuple[Reader, ...], batches: Sequence[Sequence[Read]]) -> list[Row]:
    """What a query gives in all for what its batches have read."""
    reads = [read for batch in batches for read in batch]
    every = [value for read in reads for value in values(read.origin, read.number, read.letter)]
    match shape:
        case "stateless":
            return [(value,) for value in every]
        case "sum":
            totals: Counter[int] = Counter()
            for value in every:
                totals[value % 3] += value
            return list(totals.items())
        case "distinct":
            return [(value,) for value in set(every)]
        case "join":
            left, right = (
                [value for read in reads if read.origin == origin for value in values(origin, read.number, read.letter)]
                for origin in (readers[0].origin, readers[1].origin)
            )
            return [(value, other) for value in left for other in right if value % 3 == other % 3]
        case "window":
            newest = 0
            sums: Counter[int] = Counter()
            for batch in batches:
                past = newest  # the watermark is past all windows before that of the newest file of earlier batches
                for read in batch:
                    if read.number >= past:
                        sums[read.number] += sum(values(read.origin, read.number, read.letter))
                    newest = max(newest, read.number)
            sums.pop(newest, None)  # its window is not closed yet
            return [(BEGAN_S + MINUTE_S * number, total) for number, total in sums.items()]
    raise ValueError(shape)
