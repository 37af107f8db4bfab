"""Delete what is no part of a table any more: files of attempts that were lost, and what merging replaced."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_ckpt.errors import CheckpointNotFoundError
from airflow_provider_ckpt.history_table.manifest import DATA, EPOCHS, Garbage, Manifest, Place, garbage
from airflow_provider_ckpt.history_table.read import list_places, read_manifest, undone_places
from airflow_provider_ckpt.storage.concurrency import THREADS, in_parallel
from airflow_provider_ckpt.storage.store import Store


def vacuum(table: Store, now_ms: int, *, dry_run: bool = False) -> Garbage:
    """Delete what has been nobody's for a day; streams may write and readers read meanwhile.

    The data is listed before the manifests: a file that is named in between is seen as named. Manifests that were taken
    out are listed before the others and after them: on its way out or back, a manifest is seen in one place at least.

    Args:
        table: The directory of the table.
        now_ms: The present time, epoch milliseconds; the clock may be wrong by some hours.
        dry_run: Delete nothing.

    Returns:
        What was deleted, or would be.
    """
    files = {**table.find(DATA), **table.find(EPOCHS)}.values()
    before = undone_places(table)
    undone = _read(table, before)
    manifests = _read(table, {place.name: place for place in list_places(table)})
    undone += _read(table, {name: place for name, place in undone_places(table).items() if name not in before})
    found = garbage(manifests, files, now_ms, undone=undone)
    if not dry_run:
        in_parallel(table.delete, found.files, THREADS)
        in_parallel(table.delete, found.manifests, THREADS)  # after what they name
    return found


def _read(table: Store, places: Mapping[str, Place]) -> tuple[Manifest, ...]:
    """The manifests of some names, less those that are gone: another vacuum deleted them, or they were moved."""

    def read(name: str) -> Manifest | None:
        try:
            return read_manifest(table, places[name], name)
        except CheckpointNotFoundError:
            return None

    return tuple(manifest for manifest in in_parallel(read, list(places), THREADS) if manifest is not None)
