"""What a search of a fleet has passed by: what is deeper than it went, and what is there and is no checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.findings import NoCheckpointsFields

#: Locations that are named of each kind.
MOST_NAMED = 3


@dataclass(slots=True)
class Some:
    """Locations of one kind.

    Args:
        count: How many.
        first: The first of them.
    """

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, locations: Sequence[str]) -> None:
        """Remember some."""
        self.first += locations[: max(0, MOST_NAMED - len(self.first))]
        self.count += len(locations)

    @property
    def text(self) -> str:
        """The first of them, and how many more there are."""
        more = self.count - len(self.first)
        return ", ".join(self.first) + (f" and {more:,} more" if more else "")


@dataclass(slots=True)
class NoCheckpoints:
    """What is below the roots and is no checkpoint.

    Args:
        empty: Directories with nothing in them, of which one may have been a checkpoint that is lost.
        files: Files directly below a root, where a directory with a checkpoint may be expected.
    """

    empty: Some = field(default_factory=Some)
    files: Some = field(default_factory=Some)

    def to_dict(self) -> NoCheckpointsFields:
        """JSON-ready."""
        return {
            "empty_directories": self.empty.count,
            "files": self.files.count,
            "first": [*self.empty.first, *self.files.first],
        }

    def text(self) -> str:
        """The same in one line for people; empty when there is nothing of it."""
        kinds = (("empty directory", "empty directories", self.empty), ("file", "files", self.files))
        told = [
            f"{some.count:,} {one if some.count == 1 else many} ({some.text})"
            for one, many, some in kinds
            if some.count
        ]
        if not told:
            return ""
        alone = self.empty.count + self.files.count == 1
        verb = "is no checkpoint" if alone else "are no checkpoints"
        lost = (
            " If a query had its checkpoint there, it is lost: restore it (ckpt restore)." if self.empty.count else ""
        )
        return f"{' and '.join(told)} {verb}.{lost}"
