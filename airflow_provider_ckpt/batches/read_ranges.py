"""Reading the rows of a micro-batch: committed batches of one timeline, each of them exactly once.

A batch that is gone by the time it is read is a row that says so, or an error. It was purged, because the stream came
too late, or rolled back, and then it is no longer what the query has done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.batches.positions import BatchRange
from airflow_provider_ckpt.batches.read_logs import LogListing, ReadMany, list_log, read_batches, read_origin
from airflow_provider_ckpt.batches.rows import DELETED, PURGED, ROLLED_BACK, BatchRow, Origin, lost_rows, rows_of
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.fleet.find import patiently
from airflow_provider_ckpt.storage.store import Store

_list_patiently = patiently(list_log)


@dataclass(frozen=True, slots=True)
class RangeReading:
    """How ranges are read.

    Args:
        declared: Source type by source id.
        fails_on_data_loss: True if purged batches are an error.
    """

    declared: Mapping[str, str]
    fails_on_data_loss: bool = True


def read_range(store: Store, wanted: BatchRange, reading: RangeReading, read: ReadMany) -> Iterator[BatchRow]:
    """The rows of a range, oldest batch first.

    Raises:
        CheckpointError: Batches were purged, or the checkpoint was deleted, and ``reading.fails_on_data_loss``.
        StoreError: The storage refused or did not answer.
    """
    try:
        listing = _list_patiently(store)
    except CheckpointNotFoundError:
        if reading.fails_on_data_loss:
            raise
        yield from lost_rows(Origin(store.location, None, wanted.timeline), wanted.first, wanted.last, DELETED)
        return
    origin = read_origin(store, listing, Origin(store.location, None, wanted.timeline, reading.declared))
    batches = _of_the_timeline(listing, wanted)
    oldest = min(listing.committed_at_ms, default=wanted.last + 1)
    first_there = min(max(oldest, wanted.first), wanted.last + 1)
    yield from _lost(origin, wanted.first, first_there - 1, reading)
    last_there = first_there - 1
    for batch in read_batches(store, listing, batches, read):
        last_there = batch.batch_id
        if batch.vanished:
            yield from _lost(origin, batch.batch_id, batch.batch_id, reading)
        else:
            yield from rows_of(batch, origin)
    yield from lost_rows(origin, last_there + 1, wanted.last, ROLLED_BACK)


def _of_the_timeline(listing: LogListing, wanted: BatchRange) -> list[int]:
    """The batches of a range that the log still holds as they were: all of them, as long as the last one is there.

    Otherwise those up to the first that was committed after it. Times alone would not do: a clock may go back.
    """
    times, until_ms = listing.committed_at_ms, wanted.last_committed_at_ms
    found = [batch for batch in listing.batches if batch in times and wanted.first <= batch <= wanted.last]
    if until_ms is None or times.get(wanted.last) == until_ms:
        return found
    later = (at for at, batch in enumerate(found) if (time_ms := times[batch]) is not None and time_ms > until_ms)
    return found[: next(later, len(found))]


def _lost(origin: Origin, first: int, last: int, reading: RangeReading) -> Iterator[BatchRow]:
    if first <= last and reading.fails_on_data_loss:
        raise CheckpointError(
            f"batches {first} to {last} were purged before the stream had read them.",
            location=origin.location,
            batch_id=last,
            hint="Set failOnDataLoss to false to continue without them. To avoid this, poll more often than Spark "
            "purges (spark.sql.streaming.minBatchesToRetain of the query).",
        )
    yield from lost_rows(origin, first, last, PURGED)
