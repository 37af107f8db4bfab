"""Reading the rows of a fleet: those of each checkpoint in turn, lazily, and a problem as a row or as an error."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field

from airflow_provider_ckpt.batches.read_logs import (
    LogListing,
    ReadMany,
    list_log,
    one_after_the_other,
    read_batches,
    read_entry,
    read_origin,
)
from airflow_provider_ckpt.batches.rows import BatchRow, Origin, rows_of
from airflow_provider_ckpt.batches.selection import DeclaredTypes, Selection
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.find import patiently
from airflow_provider_ckpt.storage.concurrency import in_order
from airflow_provider_ckpt.storage.store import Store


@dataclass(frozen=True, slots=True)
class Reading:
    """How rows are read.

    Args:
        selection: The batches.
        declared: Declarations of the sources.
        fails_fast: True if a problem is an error; otherwise it is in the column ``problem``.
        commits: True if the content of commit entries is asked for.
        query_ids: True if the ids of queries are asked for.
    """

    selection: Selection = field(default_factory=Selection)
    declared: DeclaredTypes = field(default_factory=DeclaredTypes)
    fails_fast: bool = False
    commits: bool = True
    query_ids: bool = True


#: So many files of one checkpoint are read at once, where each is a request.
THREADS = 16


def read_with(store: Store, pool: Executor) -> ReadMany:
    """How to read the files of a checkpoint: one by one on a local disk, elsewhere some ahead of the one at hand."""
    if store.is_local:
        return one_after_the_other(store)
    return lambda names: in_order(pool, lambda name: read_entry(store, name), names, window=2 * THREADS)


def read_rows(store: Store, reading: Reading, read: ReadMany) -> Iterator[BatchRow]:
    """The rows of one checkpoint, oldest batch first. Batches that Spark purges meanwhile are left out.

    Args:
        store: The directory of the checkpoint.
        reading: The selection of rows, and how to read them.
        read: How files are read.

    Raises:
        CheckpointError: ``reading.fails_fast``, and the checkpoint or an entry cannot be read.
    """
    try:
        yield from _rows(store, reading, read)
    except CheckpointError as error:
        if reading.fails_fast:
            raise
        yield BatchRow(store.location, problem=str(error))


_list_patiently = patiently(list_log)


def _rows(store: Store, reading: Reading, read: ReadMany) -> Iterator[BatchRow]:
    listing = _list_patiently(store)
    origin = Origin(store.location, declared=reading.declared.of(store.location))
    if reading.query_ids:
        origin = read_origin(store, listing, origin)
    wanted = _recent_enough(listing, reading.selection)
    for batch in read_batches(store, listing, wanted, read, commits=reading.commits):
        if batch.vanished:
            continue
        if reading.fails_fast and batch.problems:
            raise batch.problems[0]
        metadata = batch.offsets.metadata if batch.offsets else None
        if reading.selection.admits_time(metadata.batch_timestamp_ms if metadata else None):
            yield from rows_of(batch, origin)


def _recent_enough(listing: LogListing, selection: Selection) -> list[int]:
    """The batches asked for, less the oldest ones whose commits show that they are too old."""
    wanted = list(selection.of(listing.batches))
    too_old = (selection.is_too_old(listing.committed_at_ms.get(batch)) for batch in wanted)
    first = next((at for at, is_too_old in enumerate(too_old) if not is_too_old), len(wanted))
    return wanted[first:]
