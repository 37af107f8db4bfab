"""Objects where a plan works: its requirements and its actions are checked against them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.layout import main_name
from airflow_provider_ckpt.storage.access import Attributes
from airflow_provider_ckpt.storage.stored_object import StoredObject, digest

#: Which of a plan's stores something is in.
Place = Literal["checkpoint", "sink"]
#: An object of one of the stores.
Spot = tuple[Place, str]


@dataclass(frozen=True, slots=True)
class Facts:
    """One observation of the places that a plan works on, and what else the plan relies on.

    Args:
        query_id: Id of the query; None when the checkpoint does not say.
        latest_committed: The newest committed batch.
        latest_planned: The newest planned batch.
        objects: Listed objects, by place; without ``sink`` when no sink was read.
        deleted: Objects that the plan removes, with their identities.
        written: Objects that the plan adds, with their SHA-256 (hex; empty when the plan does not say).
        resuming: True if the plan may have changed something already.
        writer_stopped: True if somebody gave the word that no query writes to the checkpoint.
        backup_id: The backup that copies come from, as long as it is there.
        sha256_of: Reads an object and tells its SHA-256 (hex).
        last_kept: Of a plan that adds a batch: the newest batch that it leaves alone. Later ones are the plan's.
        folders: Directories in the place of files.
        partitions: State partitions of the batch that such a plan adds; None as long as it is not planned.
    """

    query_id: str | None
    latest_committed: int | None
    latest_planned: int | None
    objects: Mapping[Place, Mapping[str, StoredObject]]
    deleted: Mapping[Spot, str] = field(default_factory=dict)
    written: Mapping[Spot, str] = field(default_factory=dict)
    resuming: bool = False
    writer_stopped: bool = False
    backup_id: str | None = None
    sha256_of: Callable[[Place, str], str] = lambda place, name: ""
    last_kept: int | None = None
    partitions: int | None = None
    folders: frozenset[str] = frozenset()

    def at(self, place: Place, name: str) -> StoredObject | None:
        """The object that is there, or None."""
        return self.objects.get(place, {}).get(name)

    def touched(self, place: Place) -> set[str]:
        """Names that the plan removes from or adds to one place."""
        names = {name for where, name in (*self.deleted, *self.written) if where == place}
        if self.last_kept is None or place != "checkpoint":
            return names
        return names | names_after(self.objects[place], self.last_kept)

    def is_own(self, place: Place, name: str) -> bool:
        """True if the object at a place is the one that the plan adds there."""
        wanted = self.written.get((place, name))
        return bool(wanted) and self.at(place, name) is not None and self.sha256_of(place, name) == wanted


def batch_of(name: str) -> int | None:
    """The batch that a file belongs to; None for files that belong to several, or to none."""
    match layout.parse(main_name(name)):
        case layout.LogEntry(batch_id=batch) | layout.SinkLogEntry(batch_id=batch):
            return batch
        case layout.StateFile(version=version):
            return version - 1
        case layout.OperatorMetadataFile(_, int(batch)) | layout.StateSchemaFile(_, int(batch)):
            return batch
    return None


def is_table(name: str) -> bool:
    """True if a file is a table of RocksDB, or its checksum file. No two tables ever have the same name."""
    return isinstance(layout.parse(main_name(name)), layout.StateTable)


def names_after(names: Iterable[str], batch_id: int) -> set[str]:
    """Files of batches after one, and the tables of RocksDB, of which no name tells the batch."""
    return {name for name in names if is_table(name) or (batch_of(name) or 0) > batch_id}


def kept_objects(objects: Mapping[str, StoredObject], touched: Iterable[str]) -> str:
    """Digest over everything that a plan leaves alone, but for what a killed writer left behind."""
    touched = set(touched)
    return digest(
        stored
        for name, stored in objects.items()
        if name not in touched and not isinstance(layout.parse(name), layout.Temporary)
    )


@dataclass(frozen=True, slots=True)
class Saved:
    """An object that a change has saved before it removed it.

    Args:
        size: Bytes.
        sha256: SHA-256 of its content, hex.
        attributes: Owner, group, mode and time of the original, where the copy may lack them; None when the saved
            object is the original.
    """

    size: int
    sha256: str
    attributes: Attributes | None = None
