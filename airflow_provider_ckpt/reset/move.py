"""Where one source goes, and what that means for what it has read and for what it will read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.codec.typed_offset import TypedOffset
from airflow_provider_ckpt.errors import MalformedEntryError

#: The types of sources that are moved, by whose shape a plan that was made before is read again.
MOVABLE = ("delta", "iceberg", "kafka")
#: What a distance counts, where that is not what the source reads.
_UNITS = {"kafka": "offsets"}


@dataclass(frozen=True, slots=True)
class Move:
    """Where one source goes.

    Args:
        source_id: Its position in the query, or its name.
        kind: One of MOVABLE.
        old: Its offset in the newest committed batch.
        new: The offset that it gets.
        warnings: What the person who approves it should know; sentences.
        notes: How the offset was found; sentences.
        skipped: What is never read, in words, when it was asked for and its source has counted it; then nothing is read
            again.
    """

    source_id: str
    kind: str
    old: SourceOffset
    new: SourceOffset
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: str = ""

    @property
    def is_still(self) -> bool:
        """Whether the two offsets mean the same."""
        return bool(self.old.view(self.kind).value == self.new.view(self.kind).value)

    @property
    def again(self) -> str:
        """What is read a second time, in words; empty when nothing is."""
        if self.skipped:
            return ""
        return self._counted(self._old, self._new)

    @property
    def left_out(self) -> str:
        """What is never read, in words; empty when nothing is left out. A partition that is new has been at 0."""
        if self.skipped:
            return f"{self.skipped}, of source {self.source_id}"
        rest = "the rest of the first snapshot" if self.leaves_first_snapshot else ""
        return self._counted(self._new, self._old, rest, new=True)

    @property
    def leaves_first_snapshot(self) -> bool:
        """Whether the source still reads what the table held when the query began, and reads no more of it."""
        return self._old.is_in_first_snapshot and not self._new.is_in_first_snapshot

    @property
    def _old(self) -> TypedOffset:
        return self.old.view(self.kind)

    @property
    def _new(self) -> TypedOffset:
        return self.new.view(self.kind)

    def _counted(self, high: TypedOffset, low: TypedOffset, more: str = "", *, new: bool = False) -> str:
        """How far one offset is past the other one; with ``new``, also in partitions that the other one lacks."""
        if not high.kind.ordered:
            return "" if self.is_still else f"an unknown part of source {self.source_id}"
        ahead = high.ahead_of(low)
        if new:
            lacking = high.positions.keys() - low.positions.keys()
            ahead |= {at: high.positions[at][0] for at in lacking if high.positions[at] > (0,)}
        counted = f"{sum(ahead.values()):,} {_UNITS.get(self.kind, high.kind.unit)}" if ahead else ""
        parts = " and ".join(filter(None, (counted, more)))
        return f"at most {parts} of source {self.source_id}" if parts else ""


class Aim(Protocol):
    """Where a source is to go, as somebody has said it; what it reads from is asked."""

    @property
    def text(self) -> str:
        """What was said, to go after ``goes to``; the same words mean the same."""

    def move(self, source_id: str, committed: SourceOffset, planned: SourceOffset | None) -> Move:
        """Find the offset.

        Args:
            source_id: The source.
            committed: Where it is: its offset in the newest committed batch.
            planned: Its offset in the batch in flight; None without one.

        Raises:
            PlanError: There is no such offset, or it is of another source.
            StoreUnavailableError: What the source reads from does not answer.
            StoreError: That cannot be read.
        """


def kind_of(offset: SourceOffset) -> str | None:
    """The type among MOVABLE whose shape an offset has that this package wrote itself; None when it has none."""
    for kind in MOVABLE:
        try:
            offset.view(kind)
        except MalformedEntryError:
            continue
        return kind
    return None
