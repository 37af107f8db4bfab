"""Source offsets: JSON text that belongs to the source, and typed views for the sources whose text is known.

Two offsets are equal when their texts are equal. Anything more (order, distance) needs to know the source, and the
kind of a source is never guessed from the shape: Kafka and Event Hubs, say, write the same shape with other meaning.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from airflow_provider_ckpt.codec.jvm_text import abbreviate
from airflow_provider_ckpt.codec.source_kinds import KINDS, Positions, SourceKind
from airflow_provider_ckpt.errors import MalformedEntryError


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """One source's position after a batch, as text. Any JSON is legal, and a bare number; Spark never reads it."""

    json: str

    def view(self, kind: str, name: str = "") -> TypedOffset:
        """Parse the text as the offset of a ``kind`` of source.

        Args:
            kind: One of KINDS.
            name: The log entry it is in, for the error.

        Raises:
            MalformedEntryError: The text is no offset of that kind, or the kind is unknown.
        """
        if kind not in KINDS:
            known = ", ".join(sorted(KINDS))
            raise MalformedEntryError(f"unknown source type {kind!r}; the known types are {known}", name=name or None)
        try:
            value = _DECODER.decode(self.json)
            if not KINDS[kind].fits(value):
                raise ValueError("other shape")
        except (ValueError, RecursionError) as error:
            message = f"not an offset of the source type {kind}: {abbreviate(self.json)}"
            raise MalformedEntryError(message, name=name or None) from error
        return TypedOffset(KINDS[kind], value)


class PartitionAdvance(NamedTuple):
    """What was read of one source partition.

    Args:
        partition: Its name.
        start: Position after which it was read (exclusive); None when no earlier offset names the partition.
        end: Position up to which it was read (inclusive).
        advanced: Units between them; negative when it went back.
    """

    partition: str
    start: int | None
    end: int
    advanced: int


@dataclass(frozen=True, slots=True)
class TypedOffset:
    """A source offset whose kind is known. ``value`` is the parsed JSON."""

    kind: SourceKind
    value: Any
    #: What it was asked for once: where one batch ends, the next begins.
    _positions: list[Positions] = field(init=False, repr=False, compare=False, default_factory=list)

    @property
    def positions(self) -> Positions:
        """The position of each partition."""
        if not self._positions:
            self._positions.append(self.kind.positions(self.value))
        return self._positions[0]

    def why_not_comparable(self, other: TypedOffset) -> str | None:
        """The reason why two offsets have no order, or None when they have one."""
        if self.kind is not other.kind:
            return f"one offset has the source type {self.kind.name}, the other one {other.kind.name}"
        if not self.kind.ordered:
            return f"offsets of a {self.kind.name} source cannot be ordered without the table"
        if self.kind.identity(self.value) != self.kind.identity(other.value):
            return f"the tables are not the same: {self.kind.identity(self.value)}, {self.kind.identity(other.value)}"
        mine, theirs = self.kind.scales(self.value), self.kind.scales(other.value)
        mixed = [partition for partition in theirs if partition in mine and mine[partition] != theirs[partition]]
        if mixed:
            return f"{mixed[0]} is a {mine[mixed[0]]} in one offset and a {theirs[mixed[0]]} in the other"
        return None

    def has_reached(self, target: TypedOffset) -> bool:
        """Whether every partition of the target is at the target's position or past it.

        Partitions that the target does not name do not count. Raises ValueError when the two have no order.
        """
        if self.value == target.value:
            return True
        if problem := self.why_not_comparable(target):
            raise ValueError(problem)
        if self.kind.in_first_snapshot(self.value) and not self.kind.in_first_snapshot(target.value):
            return False
        positions = self.positions
        return all(
            partition in positions and positions[partition] >= goal for partition, goal in target.positions.items()
        )

    def minus(self, earlier: TypedOffset | None) -> dict[str, int]:
        """Units from an earlier offset (exclusive) to this one (inclusive), by partition; negative when it went back.

        Raises as :meth:`advanced_since`.
        """
        return {item.partition: item.advanced for item in self.advanced_since(earlier)}

    def advanced_since(self, earlier: TypedOffset | None) -> tuple[PartitionAdvance, ...]:
        """What was read of each source partition after an earlier offset up to this one.

        Without an earlier offset it counts from where the source begins. A partition that the earlier offset lacks
        counts from there as well, or from 0.
        Raises ValueError when distance has no meaning, or where the source begins is not known.
        """
        if self.kind.unit is None:
            raise ValueError(f"offsets of a {self.kind.name} source can be ordered but not counted")
        if earlier is not None and (problem := self.why_not_comparable(earlier)):
            raise ValueError(problem)
        if earlier is None and self.kind.origin is None:
            raise ValueError(f"the offset log does not say where a {self.kind.name} source began")
        before, span, origin = earlier.positions if earlier else {}, self.kind.span, self.kind.origin
        advanced = []
        for partition, position in self.positions.items():
            known = before.get(partition)
            if span is not None:
                start, end = span(known, position)
            else:
                start, end = known[0] if known else None, position[0]
            if start is None:
                start = origin
            advanced.append(_advance((partition, start, end, end - (start or 0))))
        return tuple(advanced)


_advance = PartitionAdvance._make  # of a tuple: by keyword, a partition costs twice as much


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
