"""Filters of a query that save reading: of other checkpoints, and of other batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.batches.selection import Selection

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter


@dataclass(frozen=True, slots=True)
class Admitted:
    """Rows that some filters admit; an unknown filter admits everything.

    Args:
        selection: The batches.
        locations: The checkpoints; None for all.
        prefixes: Prefixes that their locations must all have.
    """

    selection: Selection = field(default_factory=Selection)
    locations: frozenset[str] | None = None
    prefixes: tuple[str, ...] = ()

    @classmethod
    def by(cls, filters: Iterable[Filter]) -> Admitted:
        """The rows that all of the filters admit together."""
        admitted = cls()
        for item in filters:
            known = _KNOWN.get((type(item).__name__, getattr(item, "attribute", ())))
            if known is not None:
                admitted = admitted.together_with(known(getattr(item, "value", None)))
        return admitted

    def together_with(self, other: Admitted) -> Admitted:
        """The rows that both admit."""
        sets = [locations for locations in (self.locations, other.locations) if locations is not None]
        return Admitted(
            self.selection.within(other.selection),
            frozenset.intersection(*sets) if sets else None,
            self.prefixes + other.prefixes,
        )

    def admits_location(self, location: str) -> bool:
        """True if rows of a checkpoint may be asked for."""
        return (self.locations is None or location in self.locations) and all(map(location.startswith, self.prefixes))


def _locations(*locations: str) -> Admitted:
    return Admitted(locations=frozenset(locations))


def _batches(first: int | None = None, last: int | None = None) -> Admitted:
    return Admitted(Selection(first, last))


def _among(batches: list[int]) -> Admitted:
    return _batches(min(batches), max(batches)) if batches else Admitted()


def _from(time: datetime) -> Admitted:
    return Admitted(Selection(from_ms=_ms(time)))


def _until(time: datetime) -> Admitted:
    """Times of batches are whole milliseconds, so the end (exclusive) is right after the one that the time is in."""
    return Admitted(Selection(until_ms=_ms(time) + 1))


def _ms(time: datetime) -> int:
    return int(time.timestamp() * 1000 // 1)


#: By the filter's class and the column.
_KNOWN: Mapping[tuple[str, tuple[str, ...]], Callable[[Any], Admitted]] = {
    ("EqualTo", ("location",)): _locations,
    ("In", ("location",)): lambda values: _locations(*values),
    ("StringStartsWith", ("location",)): lambda prefix: Admitted(prefixes=(prefix,)),
    ("EqualTo", ("batch_id",)): lambda batch: _batches(batch, batch),
    ("In", ("batch_id",)): lambda batches: _among([batch for batch in batches if batch is not None]),
    ("GreaterThan", ("batch_id",)): lambda batch: _batches(first=batch + 1),
    ("GreaterThanOrEqual", ("batch_id",)): lambda batch: _batches(first=batch),
    ("LessThan", ("batch_id",)): lambda batch: _batches(last=batch - 1),
    ("LessThanOrEqual", ("batch_id",)): lambda batch: _batches(last=batch),
    ("GreaterThan", ("batch_time",)): _from,
    ("GreaterThanOrEqual", ("batch_time",)): _from,
    ("LessThan", ("batch_time",)): _until,
    ("LessThanOrEqual", ("batch_time",)): _until,
}
