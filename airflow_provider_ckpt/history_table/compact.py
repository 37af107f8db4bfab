"""Merge the epochs of each query into one manifest, and small files into larger ones. Readers need not stop."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from airflow_provider_ckpt import clock
from airflow_provider_ckpt.history_table.manifest import DataFile, Manifest, Place, merged_schema, small_runs, visible
from airflow_provider_ckpt.history_table.publish import publish
from airflow_provider_ckpt.history_table.read import list_places, read_manifests
from airflow_provider_ckpt.history_table.write_rows import MOST_BYTES, write_rows
from airflow_provider_ckpt.storage.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

#: Fewer manifests of a query are left as they are.
LEAST_EPOCHS = 32
#: The newest epochs of a query are not merged: so far may its checkpoint, of which Spark retains as many batches, be
#: rolled back, and the table with it.
KEPT_EPOCHS = 100


def compact(
    table: Store,
    now_ms: int,
    *,
    least_epochs: int = LEAST_EPOCHS,
    kept_epochs: int = KEPT_EPOCHS,
    most_bytes: int = MOST_BYTES,
) -> tuple[Place, ...]:
    """Merge the manifests of each query that has many epochs, except its newest ones.

    Nothing is deleted: what a merged manifest replaced is a vacuum's, a day later. Of two that merge the same epochs at
    once, one wins, and both are right.

    Args:
        table: The directory of the table.
        now_ms: Epoch milliseconds.
        least_epochs: Fewer manifests of a query are left as they are.
        kept_epochs: The newest so many epochs of a query are not merged.
        most_bytes: Size up to which small files are merged.

    Returns:
        The merged manifests that were created.

    Raises:
        StoreError: A column has changed its type; or merging took so long that a vacuum may have deleted what it wrote.
    """
    created, ahead_ms = [], now_ms - clock.now_ms()
    for _, of_query in groupby(visible(list_places(table)), key=lambda place: place.query_id):
        places = tuple(of_query)
        places = places[: max(len(places) - kept_epochs, 0)]
        if len(places) >= max(least_epochs, 2):
            place = Place(places[-1].query_id, places[-1].epoch, compact=True)
            if _merge(table, place, read_manifests(table, places), ahead_ms, most_bytes):
                created.append(place)
    return tuple(created)


def _merge(table: Store, place: Place, manifests: Sequence[Manifest], ahead_ms: int, most_bytes: int) -> bool:
    """``ahead_ms`` is by how much the caller's clock is ahead of this machine's: it goes on while this merges."""
    since_ms, files, new = clock.now_ms(), [], []
    schema = _schema_of(table, manifests)
    for run in small_runs((file for manifest in manifests for file in manifest.files), most_bytes):
        for same in _of_one_schema(table, run):
            merged = list(write_rows(table, _rows(table, same), most_bytes)) if len(same) > 1 else []
            files += merged or same
            new += merged
    at_ms = clock.now_ms()
    whole = Manifest(place, tuple(files), schema, at_ms + ahead_ms, manifests[-1].plan)
    return publish(table, whole, new, at_ms - since_ms)


def _schema_of(table: Store, manifests: Sequence[Manifest]) -> str:
    """Every column that one of the epochs has: those of the last one alone would hide what an earlier one had more."""
    schemas = dict.fromkeys(manifest.schema for manifest in manifests)
    return next(iter(schemas)) if len(schemas) == 1 else json.dumps(merged_schema(schemas, table.location))


def _of_one_schema(table: Store, run: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    """Neighbours whose columns are the same, which is almost always all of a run."""
    import pyarrow.parquet as pq

    if len(run) == 1:
        yield list(run)
        return
    schemas = {file.name: pq.read_schema(io.BytesIO(table.read(file.name))) for file in run}
    for _, same in groupby(run, key=lambda file: schemas[file.name]):
        yield list(same)


def _rows(table: Store, files: Iterable[DataFile]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    for file in files:
        yield from pq.ParquetFile(io.BytesIO(table.read(file.name))).iter_batches()
