"""Where one source goes, and what that means for what it has read and for what it will read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.codec.typed_offset import TypedOffset
from airflow_provider_ckpt.errors import MalformedEntryError

#: What a distance counts, where that is not what the source reads.
_UNITS = {"kafka": "offsets"}


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of a source where its offsets alone do not tell them; each in words, and empty for nothing.

    Args:
        again: Data read a second time.
        left_out: Data never read.
        perhaps: Data that is read a second time, unless its topic was created anew, which nobody can tell.
    """

    again: str = ""
    left_out: str = ""
    perhaps: str = ""


#: Of a source whose offsets have no order: any of it may be read again, and any left out.
UNKNOWN_PART = Counted("an unknown part", "an unknown part")


@dataclass(frozen=True, slots=True)
class Move:
    """Where one source goes.

    Args:
        source_id: Its position in the query, or its name.
        kind: Its type.
        old: Its offset in the newest committed batch.
        new: The offset that it gets.
        warnings: Sentences that the person who approves it should know.
        notes: How the offset was found; sentences.
        counted: Records read twice and records skipped, if the source can tell.
        initial: The initial offset that it gets beside it (``sources/N/offsets/0`` of Iceberg); None when that stays.
    """

    source_id: str
    kind: str
    old: SourceOffset
    new: SourceOffset
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    counted: Counted | None = None
    initial: SourceOffset | None = None

    @property
    def is_still(self) -> bool:
        """True if the two offsets mean the same."""
        return bool(self.old.view(self.kind).value == self.new.view(self.kind).value)

    @property
    def again(self) -> str:
        """Data read a second time, in words; empty when there is none."""
        if self.counted is not None:
            return self._of_source(self.counted.again)
        return self._counted(self._old, self._new)

    @property
    def perhaps(self) -> str:
        """Data read a second time unless its topic was created again, in words; empty when there is none."""
        return self._of_source(self.counted.perhaps) if self.counted is not None else ""

    @property
    def left_out(self) -> str:
        """Data never read, in words; empty when nothing is left out. A partition that is new has been at 0."""
        if self.counted is not None:
            return self._of_source(self.counted.left_out)
        rest = "the rest of the first snapshot" if self.leaves_first_snapshot else ""
        return self._counted(self._new, self._old, rest, new=True)

    @property
    def leaves_first_snapshot(self) -> bool:
        """True if the move ends the reading of the rows that the table held when the query began."""
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
            return "" if self.is_still else self._of_source(UNKNOWN_PART.again)
        ahead = high.ahead_of(low)
        if new:
            lacking = high.positions.keys() - low.positions.keys()
            ahead |= {at: high.positions[at][0] for at in lacking if high.positions[at] > (0,)}
        counted = f"{sum(ahead.values()):,} {_UNITS.get(self.kind, high.kind.unit)}" if ahead else ""
        parts = " and ".join(filter(None, (counted, more)))
        return f"at most {parts} of source {self.source_id}" if parts else ""

    def _of_source(self, text: str) -> str:
        """A text that ends with a clause is set off by a comma."""
        if not text:
            return ""
        return f"{text}{',' if ', which ' in text else ''} of source {self.source_id}"


class Aim(Protocol):
    """Where a source is to go, as somebody has said it; what it reads from is asked."""

    @property
    def text(self) -> str:
        """The goal as it was given, to go after ``goes to``."""

    @property
    def key(self) -> str:
        """The goal as text that differs from all others and is never reworded: plans keep a digest of it."""

    @property
    def is_relative(self) -> bool:
        """True if the same words, given once more, go further."""

    def move(
        self,
        source_id: str,
        committed: SourceOffset,
        planned: SourceOffset | None,
        initial: SourceOffset | None = None,
    ) -> Move:
        """Find the offset.

        Args:
            source_id: The source.
            committed: Where it is: its offset in the newest committed batch.
            planned: Its offset in the batch in flight; None without one.
            initial: Its initial offset; None where it keeps none.

        Raises:
            PlanError: The source has no such offset, or the offset is of another source.
            StoreUnavailableError: The place that the source reads from does not answer.
            StoreError: That cannot be read.
        """


def kind_of(offset: SourceOffset) -> str | None:
    """The type of a source that can be moved, whose shape an offset has that this package wrote; None for another."""
    for kind in KINDS.answering("resolve_goal"):
        try:
            offset.view(kind)
        except MalformedEntryError:
            continue
        return kind
    return None
