"""Reads the content of a table from its manifests alone, never from a listing of the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_provider_ckpt.errors import CheckpointNotFoundError, MalformedEntryError, UnsupportedVersionError
from airflow_provider_ckpt.history_table.manifest import (
    EPOCHS,
    UNDONE,
    DataFile,
    Manifest,
    Place,
    decode,
    parse_place,
    parse_undone,
    visible,
)
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
        """Spark's ``StructType`` as JSON text, each that there is once, the oldest first; of a query by epoch."""
        by_age = sorted(zip(self._ages_ms(), self.manifests, strict=True), key=lambda aged: aged[0])
        return tuple(dict.fromkeys(manifest.schema for _, manifest in by_age))

    def _ages_ms(self) -> list[int]:
        """Since when the rows are there at the latest: a merged manifest may be younger than the epochs after it."""
        first_ms: dict[str, int] = {}
        ages_ms = []
        for manifest in reversed(self.manifests):
            query_id = manifest.place.query_id
            first_ms[query_id] = min(manifest.created_at_ms, first_ms.get(query_id, manifest.created_at_ms))
            ages_ms.append(first_ms[query_id])
        return ages_ms[::-1]


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


def list_places(table: Store, query_id: str | None = None) -> list[Place]:
    """Every manifest, also the replaced ones; of one query, or of all."""
    places = map(parse_place, table.find(EPOCHS if query_id is None else f"{EPOCHS}/{query_id}"))
    return [place for place in places if place is not None]


def read_manifests(table: Store, places: Iterable[Place]) -> tuple[Manifest, ...]:
    """The manifests of some places, in their order."""
    by_name = {place.name: place for place in places}
    return tuple(in_parallel(lambda name: read_manifest(table, by_name[name]), list(by_name), THREADS))


def read_manifest(table: Store, place: Place, name: str | None = None) -> Manifest:
    """The manifest of a place; ``name`` is where it is when it was taken out of the table.

    Raises:
        CheckpointNotFoundError: It is not there.
        CheckpointFormatError: It is damaged, or of a later release.
    """
    try:
        return decode(table.read(name or place.name), place)
    except MalformedEntryError as error:
        error.hint = error.hint or (
            "Put a copy of the file back. Without one, move the file away: the table is without the rows of its epochs "
            "then, and a vacuum deletes their files."
        )
        raise error.at(table.location) from None
    except UnsupportedVersionError as error:
        raise error.at(table.location) from None


def undone_places(table: Store, query_id: str | None = None) -> dict[str, Place]:
    """The names of manifests that were taken out of the table, and where they were; of one query, or of all."""
    found = {name: parse_undone(name) for name in table.find(UNDONE)}
    return {name: place for name, place in found.items() if place and query_id in (None, place.query_id)}
