"""Offsets of a known kind as values: compared, subtracted and merged, partition by partition."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from airflow_provider_ckpt.codec.source_kind import Positions, SourceKind


class PartitionAdvance(NamedTuple):
    """The positions between which one source partition was read.

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


class Order(StrEnum):
    """Where one offset is in a partition, by another offset.

    PARTLY: one of them is inside the first snapshot of a table, which holds what is before the other one and what is
    after it. UNKNOWN: the two are on different scales, or one cannot be read.
    """

    BEFORE = "before"
    SAME = "same"
    AFTER = "after"
    PARTLY = "partly"
    HERE_ALONE = "here alone"
    THERE_ALONE = "there alone"
    UNKNOWN = "unknown"


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

    @property
    def is_in_first_snapshot(self) -> bool:
        """True while the source still reads the rows that the table held when the query began."""
        return self.kind.in_first_snapshot(self.value)

    @property
    def json(self) -> str:
        """The offset as text, as compact as Spark writes it."""
        return json.dumps(self.value, separators=(",", ":"), ensure_ascii=False)

    # --- compare ---------------------------------------------------------------------------------------------------

    def compare(self, other: TypedOffset) -> dict[str, Order]:
        """Where this offset is by another one, for each partition of either.

        Raises ValueError, which says why, when the two have no order at all: they are of different types or tables, or
        their source has an order that only the table knows.
        """
        if self.kind is other.kind and self.value == other.value:
            return dict.fromkeys(self._names, Order.SAME)
        if problem := self._why_no_order(other):
            raise ValueError(problem)
        unknown, there = self._unknown(other), other._names
        snapshots = self.is_in_first_snapshot, other.is_in_first_snapshot
        mine, theirs = self.positions, other.positions
        orders = dict.fromkeys(self._names, Order.HERE_ALONE)
        for partition in there:
            if partition not in orders:
                orders[partition] = Order.THERE_ALONE
            elif partition in unknown:
                orders[partition] = Order.UNKNOWN
            elif partition not in mine:
                orders[partition] = Order.SAME
            else:
                orders[partition] = _order(mine[partition], theirs[partition], *snapshots)
        return orders

    @property
    def _names(self) -> dict[str, None]:
        """The partitions: a position that cannot be read has a scale all the same."""
        return dict.fromkeys((*self.positions, *self.kind.scales(self.value)))

    def _why_no_order(self, other: TypedOffset) -> str | None:
        if self.kind is not other.kind:
            return f"one offset has the source type {self.kind.name}, the other one {other.kind.name}"
        if self.kind.problem:
            return self.kind.problem
        if not self.kind.ordered:
            return f"offsets of the source type {self.kind.name} cannot be ordered without the table"
        if self.kind.identity(self.value) != self.kind.identity(other.value):
            return f"the sources are not the same: {self.kind.identity(self.value)}, {self.kind.identity(other.value)}"
        return None

    def _unknown(self, other: TypedOffset) -> dict[str, str]:
        """Partitions of both that have no order, and why: other scales, or a position that cannot be read."""
        mine, theirs = self.kind.scales(self.value), self.kind.scales(other.value)
        if not mine or (mine == theirs and self.positions.keys() >= mine.keys()):
            return {}
        my_pieces, their_pieces = (
            kind.pieces(offset.value) if (kind := offset.kind).pieces else {} for offset in (self, other)
        )
        return {
            partition: f"{partition} is a {mine[partition]} in one offset and a {theirs[partition]} in the other"
            for partition in mine.keys() & theirs.keys()
            if mine[partition] != theirs[partition]
            or (partition not in self.positions and my_pieces.get(partition) != their_pieces.get(partition))
        }

    def why_not_comparable(self, other: TypedOffset) -> str | None:
        """The reason why two offsets have no order, in one partition or in all; None when they have one."""
        return self._why_no_order(other) or next(iter(self._unknown(other).values()), None)

    def has_reached(self, target: TypedOffset) -> bool:
        """True if every partition of the target is at the target's position or past it.

        Partitions that the target does not name do not count. Raises ValueError when the two have no order.
        """
        orders = self.compare(target)
        if unknown := [partition for partition, order in orders.items() if order is Order.UNKNOWN]:
            raise ValueError(self._unknown(target)[unknown[0]])
        return all(order in (Order.SAME, Order.AFTER, Order.HERE_ALONE) for order in orders.values())

    def has_passed(self, limit: TypedOffset) -> bool:
        """True if a partition of the limit is past the limit's position, or may be.

        Partitions that one of the two does not name do not count. Raises ValueError when the two have no order.
        """
        orders = self.compare(limit)
        if unknown := [partition for partition, order in orders.items() if order is Order.UNKNOWN]:
            raise ValueError(self._unknown(limit)[unknown[0]])
        return any(order in (Order.AFTER, Order.PARTLY) for order in orders.values())

    # --- subtract --------------------------------------------------------------------------------------------------

    def minus(self, earlier: TypedOffset | None) -> dict[str, int]:
        """Units from an earlier offset (exclusive) to this one (inclusive), by partition; negative when it went back.

        Raises as :meth:`advanced_since`.
        """
        return {item.partition: item.advanced for item in self.advanced_since(earlier)}

    def advanced_since(self, earlier: TypedOffset | None) -> tuple[PartitionAdvance, ...]:
        """Advance of each source partition from an earlier offset to this one.

        Without an earlier offset it counts from where the source begins. A partition that the earlier offset lacks
        counts from there as well, or from 0.
        Raises ValueError when distance has no meaning, or where the source begins is not known.
        """
        if self.kind.problem:
            raise ValueError(self.kind.problem)
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

    def ahead_of(self, other: TypedOffset) -> dict[str, int]:
        """Units by which this offset is past the other one, at most; the partitions of both in which it is.

        A unit of which only a part is between them, such as a version of a table, counts.
        Raises ValueError when the two have no order.
        """
        if problem := self.why_not_comparable(other):
            raise ValueError(problem)
        mine, theirs = self.positions, other.positions
        ahead = {at: position for at, position in mine.items() if at in theirs and position > theirs[at]}
        return {at: _units(theirs[at], position) for at, position in ahead.items()}

    # --- merge -----------------------------------------------------------------------------------------------------

    def merged(self, other: TypedOffset, partitions: Collection[str]) -> TypedOffset:
        """This offset, with these partitions as the other one has them: one that it lacks is left out.

        Raises ValueError when an offset of the source is of one piece, or the other is of another source or table.
        """
        theirs = other._pieces(self)
        mine = self._pieces(other)
        kept = {partition: piece for partition, piece in mine.items() if partition not in partitions}
        taken = {partition: theirs[partition] for partition in theirs if partition in partitions}
        return self._joined({**kept, **taken})

    def lowest(self, other: TypedOffset) -> TypedOffset:
        """The earlier position of each partition: what both have read. One that only one of them names is left out.

        Raises ValueError when there is no such offset.
        """
        return self._best(other, Order.AFTER)

    def highest(self, other: TypedOffset) -> TypedOffset:
        """The later position of each partition: what one of them has read. Raises ValueError as :meth:`lowest`."""
        return self._best(other, Order.BEFORE)

    def _best(self, other: TypedOffset, takes_other: Order) -> TypedOffset:
        orders = self.compare(other)
        alone = [at for at, order in orders.items() if order in (Order.HERE_ALONE, Order.THERE_ALONE)]
        unclear = [at for at, order in orders.items() if order in (Order.UNKNOWN, Order.PARTLY)]
        if unclear or (alone and self.kind.ends_partitions):
            raise ValueError(f"it is not known which position of {(unclear or alone)[0]} is the later one")
        if self.kind.joined is None:
            return other if takes_other in orders.values() else self
        mine, theirs = self._pieces(other), other._pieces(self)
        both = {at: (theirs if orders[at] is takes_other else mine)[at] for at in mine if at in theirs}
        return self._joined({**mine, **theirs, **both} if takes_other is Order.BEFORE else both)

    def _pieces(self, other: TypedOffset) -> Mapping[str, Any]:
        if problem := self._why_no_order(other):
            raise ValueError(problem)
        if self.kind.pieces is None:
            raise ValueError(f"an offset of a {self.kind.name} source is of one piece")
        return self.kind.pieces(self.value)

    def _joined(self, pieces: Mapping[str, Any]) -> TypedOffset:
        if self.kind.joined is None:
            raise ValueError(f"an offset of a {self.kind.name} source is of one piece")
        return TypedOffset(self.kind, self.kind.joined(self.value, pieces))


_advance = PartitionAdvance._make  # of a tuple: by keyword, a partition costs twice as much


def _order(mine: tuple[int, ...], theirs: tuple[int, ...], in_snapshot: bool, other_in_snapshot: bool) -> Order:
    """The order of two positions. A first snapshot of version v holds every version up to v, in an order of its own."""
    if in_snapshot and not other_in_snapshot:
        return Order.BEFORE if mine[0] < theirs[0] else Order.PARTLY
    if other_in_snapshot and not in_snapshot:
        return Order.AFTER if mine[0] > theirs[0] else Order.PARTLY
    if in_snapshot and mine[0] != theirs[0]:
        return Order.PARTLY
    if mine == theirs:
        return Order.SAME
    return Order.AFTER if mine > theirs else Order.BEFORE


def _units(low: tuple[int, ...], high: tuple[int, ...]) -> int:
    return high[0] - low[0] + (high[1:] > low[1:])
