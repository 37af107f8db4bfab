"""A checkpoint as it would be after a salvage to one batch: what stays, and what is put there.

It is judged as any checkpoint is, before anything is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from airflow_provider_ckpt.change.plan.facts import batch_of
from airflow_provider_ckpt.changes.salvage.pieces import Piece
from airflow_provider_ckpt.checkpoint.restart_set import RestartSet
from airflow_provider_ckpt.checkpoint.source_log_files import file_log_offset, source_entries, source_log_end
from airflow_provider_ckpt.checkpoint.view import CheckpointView, has_state
from airflow_provider_ckpt.codec import Encodable, layout
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Spark takes each of these that a listing shows for a file, whatever its number is.
_EACH_COUNTS = (
    layout.QueryMetadataFile,
    layout.SourceLogEntry,
    layout.InitialOffsetFile,
    layout.StateFile,
    layout.OperatorMetadataFile,
    layout.StateSchemaFile,
)


@dataclass(slots=True)
class Tree:
    """Checkpoint that a salvage to a batch would leave.

    Args:
        view: The whole checkpoint as it is, with every text file of it read.
        batch_id: The newest committed batch that is kept.
        last: The newest planned batch that is kept: that one, or the batch in flight after it.
        keeps_state: True if state of the batch in flight stays, as it does after a crash of the query.
        pieces: Objects that are put there, by name.
        broken: Own files that are not whole, by name, and why; they count as missing.
        passed: Zips of state checkpoint format 2 that are not whole and stay: a changelog beside each names the files
            before it.
        refused: Names whose pieces would not help: the files that they need are not whole.
        stale: Checksum files that are damaged themselves, of files that are whole.
    """

    view: CheckpointView
    batch_id: int
    last: int
    keeps_state: bool = False
    pieces: dict[str, Piece] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    stale: set[str] = field(default_factory=set)
    passed: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)

    def give_up(self, found: Mapping[str, str]) -> bool:
        """Do without files that are not whole, and without pieces that would not help; whether anything was new."""
        is_new = False
        for name, reason in found.items():
            kind = self.passed if self._is_passed(name) else self.broken
            is_new |= name not in kind
            kind[name] = kind.get(name) or reason or "missing"
            if kind is self.broken and self.pieces.pop(name, None) is not None:
                self.refused.add(name)
        return is_new

    def _is_passed(self, name: str) -> bool:
        place = layout.parse(name)
        if not isinstance(place, layout.StateFile) or place.kind != "zip" or place.unique_id is None:
            return False
        return place.version <= self.batch_id

    @property
    def cleared(self) -> frozenset[str]:
        """Directories that are where a restart reads or writes a file. The plan removes them with their content."""
        return frozenset(
            name for name in self.view.folders if name in self.pieces or stands_in_the_way(name, self.batch_id)
        )

    def own(self, name: str) -> bool:
        """True if the checkpoint has a file that stays and counts."""
        return name in self.view.objects and name not in self.broken and name not in self.pieces

    def is_past(self, name: str) -> bool:
        """True if a file is of a batch that goes."""
        batch, place = batch_of(name), layout.parse(main_name(name))
        if batch is None or isinstance(place, layout.SinkLogEntry):
            return False
        is_planned = isinstance(place, layout.LogEntry) and place.log == layout.OFFSETS
        is_state = not isinstance(place, layout.LogEntry)
        return batch > (self.last if is_planned or (is_state and self.keeps_state) else self.batch_id)

    def _stays(self, name: str) -> bool:
        main = main_name(name)
        if name != main and main not in self.view.objects:
            is_in_the_way = isinstance(layout.parse(main), layout.OperatorMetadataFile | layout.StateSchemaFile)
            return not is_in_the_way and not self.is_past(name)
        return self.own(main) and name not in self.stale and not self.is_past(name)

    def objects(self) -> dict[str, StoredObject]:
        """The listing that it would have, without what lies inside a directory in the place of a file."""
        inside = tuple(f"{name}/" for name in self.cleared)
        found = {
            name: stored
            for name, stored in self.view.objects.items()
            if self._stays(name) and not (inside and name.startswith(inside))
        }
        for name, piece in self.pieces.items():
            found[name] = StoredObject(name, piece.size, None, piece.sha256)
            for sidecar in layout.sidecars(name):
                if piece.way == "temporary" and sidecar in self.view.objects and sidecar not in self.stale:
                    found[sidecar] = self.view.objects[sidecar]
        return found

    def after(self, read: Mapping[str, Encodable]) -> CheckpointView:
        """The checkpoint that it would be; ``read`` has what the text files among the pieces say."""
        objects = self.objects()
        own = {name: entry for name, entry in self.view.entries.items() if name in objects and name not in self.pieces}
        cleared = self.cleared
        listed = replace(
            self.view,
            objects=objects,
            entries={**own, **{name: entry for name, entry in read.items() if name in objects}},
            damaged={name: error for name, error in self.view.damaged.items() if name in objects and name not in read},
            complete=True,
            stateful=has_state(objects),
            folders=tuple(name for name in self.view.folders if name not in cleared),
        )
        past = set(self.source_names_past(listed))
        kept = {name: stored for name, stored in objects.items() if main_name(name) not in past}
        return replace(
            listed,
            objects=kept,
            entries={name: entry for name, entry in listed.entries.items() if name in kept},
            damaged={name: error for name, error in listed.damaged.items() if name in kept},
        )

    def source_names_past(self, listed: CheckpointView) -> Iterator[str]:
        """Entries of the logs of file sources past the newest batch that is kept, and what has only a checksum file."""
        entry = listed.entries.get(layout.offset_entry(self.last))
        for source_id, offset in entry.offsets if isinstance(entry, OffsetSeq) else ():
            log_offset = file_log_offset(listed, source_id, offset)
            if log_offset is None:
                continue
            end = source_log_end(source_entries(listed, source_id).keys(), log_offset)
            for name in self.view.names_below(f"{layout.SOURCES}/{source_id}"):
                place = layout.parse(main_name(name))
                if isinstance(place, layout.SourceLogEntry) and place.entry_id > end:
                    yield main_name(name)


def stands_in_the_way(folder: str, batch_id: int) -> bool:
    """True if a directory has the name of a file that Spark searches for, or writes after a batch."""
    if isinstance(layout.parse(folder), _EACH_COUNTS):
        return True
    batch = batch_of(folder)
    return batch is not None and batch > batch_id


@dataclass(frozen=True, slots=True)
class Assembled:
    """A batch that can be put together.

    Args:
        tree: The files that stay and the files that come.
        after: The checkpoint that it makes.
        chosen: The files that a restart after the batch needs of it.
    """

    tree: Tree
    after: CheckpointView
    chosen: RestartSet

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Objects that are put there, in the order of names."""
        return tuple(self.tree.pieces[name] for name in sorted(self.tree.pieces))
