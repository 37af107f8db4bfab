"""What is in a table: manifests alone tell, never a listing of the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_provider_ckpt.epochs.manifest import EPOCHS, DataFile, Manifest, Place, decode, parse_place, visible
from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.storage.concurrency import THREADS, in_parallel
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class TableFiles:
    """A table at one moment.

    Args:
        location: Where it is.
        manifests: Those that count, by query and epoch.
    """

    location: str
    manifests: tuple[Manifest, ...]

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files with the rows."""
        return tuple(file for manifest in self.manifests for file in manifest.files)

    @property
    def schemas(self) -> tuple[str, ...]:
        """Spark's ``StructType`` as JSON text, each that there is once, the oldest first."""
        by_age = sorted(self.manifests, key=lambda manifest: manifest.created_at_ms)
        return tuple(dict.fromkeys(manifest.schema for manifest in by_age))


def read_table(table: Store) -> TableFiles:
    """The table as it is now: all epochs that were committed before the call, each once.

    Raises CheckpointNotFoundError when nothing has been written there.
    """
    places = visible(list_places(table))
    if not places:
        raise CheckpointNotFoundError(
            "no epoch was committed here.",
            location=table.location,
            hint="Give the path that a stream of the format checkpoint_history writes to.",
        )
    return TableFiles(table.location, read_manifests(table, places))


def list_places(table: Store) -> list[Place]:
    """Every manifest, also the replaced ones."""
    places = map(parse_place, table.find(EPOCHS))
    return [place for place in places if place is not None]


def read_manifests(table: Store, places: Iterable[Place]) -> tuple[Manifest, ...]:
    """The manifests of some places, in their order."""
    by_name = {place.name: place for place in places}
    return tuple(in_parallel(lambda name: decode(table.read(name), by_name[name]), list(by_name), THREADS))
