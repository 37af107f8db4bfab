"""The ways to a file that is missing or not whole: a temporary file, what other entries tell, one backup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_ckpt.backup.manifest import Manifest, ManifestObject
from airflow_provider_ckpt.change.plan.facts import batch_of
from airflow_provider_ckpt.changes.salvage.pieces import Piece
from airflow_provider_ckpt.changes.salvage.tree import Tree
from airflow_provider_ckpt.codec import layout


class Ways:
    """Where files come from. This one has no way at all: a batch must be whole in its place."""

    def from_the_start(self, tree: Tree) -> dict[str, Piece]:
        """Pieces that a tree gets whatever it lacks."""
        return {}

    def pieces(self, tree: Tree, lacking: Iterable[str]) -> dict[str, Piece]:
        """Pieces for what a tree lacks, as far as there are, or for what makes up for it; none that it has already."""
        found: dict[str, Piece] = {}
        for name in lacking:
            for other in (name, *self._instead(name, tree)):
                is_new = other not in tree.pieces and other not in tree.refused
                if is_new and (piece := self.piece(other)) is not None:
                    found[other] = piece
                    break
        return found

    def names(self) -> Iterable[str]:
        """The names for which there may be pieces."""
        return ()

    def _instead(self, name: str, tree: Tree) -> list[str]:
        """Names that hold the same as a file: the compacted entry of a log, a whole version of a state."""
        place = layout.parse(name.replace("_?.", "_0."))  # of a version whose id nobody knows
        if isinstance(place, layout.SourceLogEntry):
            return [f"{name}{layout.COMPACT}"]
        if not isinstance(place, layout.StateFile):
            return []
        wholes = [
            (other.version, target)
            for target in self.names()
            if isinstance(other := layout.parse(target), layout.StateFile)
            and other.store_id == place.store_id
            and other.kind in ("snapshot", "zip")
            and place.version <= other.version <= tree.batch_id + 1
        ]
        return [target for _, target in sorted(wholes, reverse=True)]

    def piece(self, name: str) -> Piece | None:
        """The piece for a name, or None."""
        return None

    def problem(self, name: str) -> str:
        """Why there is none, in words; empty when there is nothing to say."""
        return ""


@dataclass(frozen=True)
class WithTemporaries(Ways):
    """Temporary files of the checkpoint itself, and what its other entries tell.

    Args:
        temporary: The piece of a temporary file for a name, or None.
        targets: The names that temporary files would have.
        why_not: Why there is none, in words.
        known: Pieces whose content other entries tell.
    """

    temporary: Callable[[str], Piece | None]
    targets: Sequence[str]
    why_not: Callable[[str], str]
    known: Mapping[str, Piece] = field(default_factory=dict)

    def from_the_start(self, tree: Tree) -> dict[str, Piece]:
        """The entry of the batch in flight, which no restart set has."""
        name = layout.offset_entry(tree.last)
        return {name: self.known[name]} if name in self.known and not tree.own(name) else {}

    def piece(self, name: str) -> Piece | None:
        """The object of the first way, or else that of the backup."""
        return self.temporary(name) or self.known.get(name)

    def names(self) -> Iterable[str]:
        """Names of the first way and of the backup."""
        return self.targets

    def problem(self, name: str) -> str:
        """Reason why the first way has no object for a name."""
        return self.why_not(name)


@dataclass(frozen=True)
class WithBackup(Ways):
    """Ways of the checkpoint, and then one backup of the same history.

    Args:
        first: The ways of the checkpoint itself.
        backup: The backup.
        shared: The newest batch that is the same in both.
        is_whole: Reads an object of the backup, and says whether it is what was backed up.
    """

    first: Ways
    backup: Manifest
    shared: int
    is_whole: Callable[[ManifestObject], bool]

    def from_the_start(self, tree: Tree) -> dict[str, Piece]:
        """All that the backup has of its own batch: what is lost as a whole shows in no listing."""
        if tree.batch_id != self.backup.batch_id or self.shared < tree.batch_id:
            return self.first.from_the_start(tree)
        mains = [
            item.name
            for item in self.backup.objects
            if not isinstance(layout.parse(item.name), layout.Sidecar | layout.Temporary | layout.Other)
        ]
        return self.pieces(tree, (name for name in mains if not tree.own(name)))

    def piece(self, name: str) -> Piece | None:
        """The object of the first way, or else that of the backup."""
        own = self.first.piece(name)
        if own is not None:
            return own
        item = next((item for item in self.backup.objects if item.name == name), None)
        if item is None or not self._is_same(name) or not self.is_whole(item):
            return None
        return Piece(name, "backup", item.size, item.sha256, item.stored_at)

    def names(self) -> Iterable[str]:
        """Names of the first way and of the backup."""
        return (*self.first.names(), *(item.name for item in self.backup.objects))

    def problem(self, name: str) -> str:
        """Reason why the first way has no object for a name."""
        return self.first.problem(name)

    def _is_same(self, name: str) -> bool:
        """True if a file of the backup is also this checkpoint's; a file named by an id is the same wherever it is."""
        place = layout.parse(name)
        match place:
            case layout.StateFile(unique_id=str()) | layout.StateTable():
                return True
            case layout.SourceLogEntry() | layout.InitialOffsetFile():
                return self.shared >= self.backup.batch_id
            case layout.Other() | layout.Temporary():
                return False
        return (batch_of(name) or 0) <= self.shared
