"""Compares two outputs: their rows, in any order and counting repeated ones, and their shapes.

A shape is what readers rely on besides the rows: format, partition columns, and types of columns. Values hide these: 1
is 1 as a byte and as a long, and null has no type. Readers of a file sink stop at a directory with files of two shapes.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Annotated, Any

from airflow_provider_ckpt.documents.as_document import Documented

#: How many rows of a side are held at most, and how many differences are told as examples.
MOST_ROWS, EXAMPLES = 1_000_000, 5
#: Characters of a value in an example.
SHOWN = 200

#: A row whose values have their types, so that 1 and "1" and true are three values.
Row = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Difference(Documented):
    """A row that one output has more often than the other.

    Args:
        key: The values of the key columns, in their order; empty without a key.
    """

    key: tuple[str, ...]
    live: Annotated[str | None, "row of the live output; null when only the other has it"]
    shadow: Annotated[str | None, "row of the shadow output; null when only the live one has it"]


@dataclass(frozen=True, slots=True)
class Comparison(Documented):
    """Rows that two outputs of the same range share, and their differences. A row that is there twice counts twice."""

    live_rows: Annotated[int, "number of rows of the live output"]
    shadow_rows: Annotated[int, "number of rows of the shadow output"]
    missing: Annotated[int, "number of rows that the shadow output lacks"] = 0
    extra: Annotated[int, "number of rows that the live output lacks"] = 0
    lost_columns: Annotated[tuple[str, ...], "columns of the live output alone"] = ()
    new_columns: Annotated[tuple[str, ...], "columns of the shadow output alone that were not declared"] = ()
    shape: Annotated[
        tuple[str, ...], "how the files differ in format, partition columns or types of columns, in words"
    ] = ()
    keys: Annotated[int, "number of keys with rows that differ; 0 without a key"] = 0
    examples: Annotated[tuple[Difference, ...], "the first differences; at most five"] = ()

    @property
    def is_equal(self) -> bool:
        """True if every row is in both equally often; false for two empty outputs, which have shown nothing."""
        differs = self.missing or self.extra or self.lost_columns or self.new_columns or self.shape
        return bool(self.live_rows) and not differs

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        if self.is_equal:
            return f"all {self.live_rows} rows are equal"
        if not self.live_rows and not self.shadow_rows:
            return "both outputs have no rows, so nothing was compared"
        found = [
            f"{self.missing} of {self.live_rows} live rows are missing" if self.missing else "",
            f"{self.extra} of {self.shadow_rows} shadow rows are not in the live output" if self.extra else "",
            f"columns are missing: {', '.join(self.lost_columns)}" if self.lost_columns else "",
            f"columns are new: {', '.join(self.new_columns)}" if self.new_columns else "",
            *self.shape,
            f"{self.keys} keys differ" if self.keys else "",
        ]
        return ", ".join(part for part in found if part) or "the live output has no rows"


def compare_rows(
    live: Iterable[Mapping[str, Any]],
    shadow: Iterable[Mapping[str, Any]],
    *,
    keys: Sequence[str] = (),
    ignore: Collection[str] = (),
    added: Collection[str] = (),
    most_rows: int = MOST_ROWS,
) -> Comparison:
    """Compare the rows of two outputs as multisets.

    A column that a row lacks is null there, as in Spark's JSON. A whole number and a decimal number are different.

    Args:
        live: Rows of the live output: values by column.
        shadow: Rows of the shadow output.
        keys: Columns that name a row, for the examples; the comparison does not need them.
        ignore: Columns that may differ, such as the time of processing.
        added: Columns that the new version adds.
        most_rows: How many rows a side may have.

    Raises ValueError when a side has more rows, or something that is no row; or a key is no column of the live output;
    or every column is ignored.
    """
    left, right = _read(live, ignore, most_rows, "live"), _read(shadow, {*ignore, *added}, most_rows, "shadow")
    if left.total and (unknown := [key for key in keys if key not in left.columns]):
        raise ValueError(f"the live output has no column {', '.join(unknown)}, so it cannot be the key")
    new = right.columns - left.columns if left.total else set()
    lost = left.columns - right.columns if right.total else set()
    if left.total and not left.columns:
        raise ValueError("no column of the live output is left to compare: every one is ignored")
    missing, extra = left.rows - right.rows, right.rows - left.rows
    differing, examples = _keyed(missing, extra, keys) if keys else (0, _unkeyed(missing, extra))
    return Comparison(
        left.total,
        right.total,
        missing=missing.total(),
        extra=extra.total(),
        lost_columns=tuple(sorted(lost)),
        new_columns=tuple(sorted(new)),
        keys=differing,
        examples=tuple(examples),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    rows: Counter[Row]
    columns: set[str]
    total: int


def _read(rows: Iterable[Mapping[str, Any]], left_out: Collection[str], most: int, side: str) -> _Side:
    counted: Counter[Row] = Counter()
    columns: set[str] = set()
    total = 0
    for row in rows:
        total += 1
        if total > most:
            raise ValueError(f"the {side} output has more than {most:,} rows; compare fewer batches")
        if not isinstance(row, Mapping) or not all(isinstance(name, str) for name in row):
            raise ValueError(
                f"row {total:,} of the {side} output is no mapping from column to value, but {row!r:.{SHOWN}}"
            )
        columns.update(name for name in row if name not in left_out)
        named = ((name, _text(value)) for name, value in row.items() if name not in left_out and value is not None)
        counted[tuple(sorted(named))] += 1
    return _Side(counted, columns, total)


def _text(value: Any) -> str:
    """A value with its type, as text that is equal for equal values alone."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_text(key)}: {_text(value[key])}' for key in sorted(value, key=str))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "null" if value is None else repr(value)


def _keyed(missing: Counter[Row], extra: Counter[Row], keys: Sequence[str]) -> tuple[int, list[Difference]]:
    """How many keys have rows that differ, and the first of them as examples, the rows of a key side by side."""

    def key_of(row: Row) -> tuple[str, ...]:
        values = dict(row)
        return tuple(values.get(name, "null") for name in keys)

    differing = {key_of(row) for row in chain(missing, extra)}
    found: dict[tuple[str, ...], tuple[list[Row], list[Row]]] = {
        key: ([], []) for key in heapq.nsmallest(EXAMPLES, differing)
    }
    for place, rows in ((0, missing), (1, extra)):
        for row, times in rows.items():
            if (sides := found.get(key_of(row))) is not None:
                sides[place].extend([row] * min(times, EXAMPLES))
    pairs = (
        (key, pair)
        for key, sides in found.items()
        for pair in zip_longest(*(heapq.nsmallest(EXAMPLES, side) for side in sides))
    )
    return len(differing), [Difference(key, *map(_shown, pair)) for key, pair in islice(pairs, EXAMPLES)]


def _unkeyed(missing: Counter[Row], extra: Counter[Row]) -> list[Difference]:
    """The first rows that differ, each on its own."""
    rows = chain(((0, row) for row in missing.elements()), ((1, row) for row in extra.elements()))
    return [
        Difference((), None if place else _shown(row), _shown(row) if place else None)
        for place, row in heapq.nsmallest(EXAMPLES, rows)
    ]


def _shown(row: Row | None) -> str | None:
    return None if row is None else f"{{{', '.join(f'{name}: {value[:SHOWN]}' for name, value in row)}}}"


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a data file.

    Args:
        kind: Its format: ``parquet`` or ``json``.
        partitions: Columns that are in its name, in order.
        types: Column and type of what is in it, in any order; empty for a format that has no types.
    """

    kind: str
    partitions: tuple[str, ...] = ()
    types: tuple[tuple[str, str], ...] = ()


def shape_differences(live: Collection[Shape], shadow: Collection[Shape]) -> tuple[str, ...]:
    """How the files of two outputs differ, in words; nothing when one has no files, whose rows then differ.

    A column that only one of them has is no difference of shapes: the rows show it. A column whose values may differ
    has a type and a place all the same.

    Args:
        live: The shapes of the files of the live output.
        shadow: Those of the shadow output.
    """
    return tuple(_differences(live, shadow)) if live and shadow else ()


def _differences(live: Collection[Shape], shadow: Collection[Shape]) -> Iterator[str]:
    was, now = ({shape.kind for shape in shapes} for shapes in (live, shadow))
    if was != now:
        yield f"the format is {_either(now)} and was {_either(was)}"
    was, now = ({", ".join(shape.partitions) or "none" for shape in shapes} for shapes in (live, shadow))
    if was != now:
        yield f"the partition columns are {_either(now)} and were {_either(was)}"
    before, after = _types(live), _types(shadow)
    for column in sorted(before.keys() & after.keys()):
        if before[column] != after[column]:
            yield f"column {column} is {_either(after[column])} and was {_either(before[column])}"


def _types(shapes: Collection[Shape]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for shape in shapes:
        for column, kind in shape.types:
            found.setdefault(column, set()).add(kind)
    return found


def _either(words: Collection[str]) -> str:
    return " or ".join(sorted(words))
