"""What the sink of a query must hold, computed in plain Python from the files that its batches have read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

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


@dataclass(slots=True)
class World:
    """What a walk expects: the query, what its committed batches have read, and what its sink has.

    Args:
        shape: What the query computes.
        readers: Its sources, in their order.
        location: The checkpoint.
        batches: The files that each committed batch has read.
        sink: What a sink that keeps each batch once was given; unused for a file sink.
    """

    shape: str
    readers: tuple[Reader, ...]
    location: Path
    batches: dict[int, tuple[Read, ...]] = field(default_factory=dict)
    sink: dict[int, list[Row]] = field(default_factory=dict)

    def copy(self) -> World:
        """As it is now."""
        return replace(self, batches=dict(self.batches), sink=dict(self.sink))

    def cut(self, batch_id: int) -> None:
        """Forget what came after a batch."""
        self.batches = {key: value for key, value in self.batches.items() if key <= batch_id}
        self.sink = {key: value for key, value in self.sink.items() if key <= batch_id}

    def position(self, reader: Reader) -> int:
        """The number of the file that a reader takes next."""
        return sum(read.reader == reader.reader for reads in self.batches.values() for read in reads)

    def next_file(self, origin: int) -> int:
        """The first file of a directory that no reader of the query has read."""
        return max((self.position(reader) for reader in self.readers if reader.origin == origin), default=0)

    def expected(self) -> list[Row]:
        """The rows that the sink must hold once all files are read."""
        reads = [read for batch_id in sorted(self.batches) for read in self.batches[batch_id]]
        return sorted(rows_of(self.shape, self.readers, reads))

    def given(self) -> list[Row]:
        """The rows in a sink that keeps each batch once; of a complete result the last one counts."""
        if self.shape == "sum":
            return sorted(self.sink[max(self.sink)]) if self.sink else []
        return sorted(row for rows in self.sink.values() for row in rows)


def values(origin: int, number: int, letter: str) -> list[int]:
    """The values of one file: one of them is in every file, one is in its neighbour too."""
    base = 100 * origin + (5_000 if letter == "B" else 0)
    return [base + number, base + number + 1, 7]


def rows_of(shape: str, readers: tuple[Reader, ...], reads: Iterable[Read]) -> list[Row]:
    """What a query gives in all for what it has read."""
    reads = list(reads)
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
            newest = max((read.number for read in reads), default=0)
            sums: Counter[int] = Counter()
            for read in reads:
                if read.number < newest:  # the window of the newest file is not closed yet
                    sums[read.number] += sum(values(read.origin, read.number, read.letter))
            return [(BEGAN_S + MINUTE_S * number, total) for number, total in sums.items()]
    raise ValueError(shape)
