"""Shape of an output, which readers rely on besides its rows: format, partition columns, and types of columns.

Values hide these: 1 is 1 as a byte and as a long, and null has no type. Readers of a file sink stop at a directory with
files of two shapes.

Values hide these: 1 is 1 as a byte and as a long, and null has no type. Files of two shapes in one directory are what
readers of a file sink stop at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass


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
