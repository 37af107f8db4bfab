"""Reading the newest batches of a checkpoint for a page: so many, for so long, however long the logs are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from heapq import nlargest

from airflow_provider_ckpt.batches.read_logs import LogListing, one_after_the_other, read_batches
from airflow_provider_ckpt.batches.rows import BatchRow, Origin, rows_of
from airflow_provider_ckpt.checkpoint.listing import DirectoryListing, list_checkpoint, list_logs
from airflow_provider_ckpt.checkpoint.observe import require_checkpoint
from airflow_provider_ckpt.plugin.source_positions import Tally
from airflow_provider_ckpt.plugin.timeline import Batch, ConfChange, Logbook, finished
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Batches of a page, and how many are read before the time is looked at again.
MOST_BATCHES, AT_ONCE = 50, 10
#: Of logs on a disk with more entries the newest ones alone are listed; Spark keeps a hundred by default.
MOST_ENTRIES = 20_000
_COMMITS, _OFFSETS = "commits", "offsets"


@dataclass(frozen=True, slots=True)
class Logs:
    """Both logs as they were listed.

    Args:
        listing: The top and the entries of both logs; of very long ones the newest alone.
        entries: How many entries both have.
        whole: True if all of them are in the listing.
    """

    listing: DirectoryListing
    entries: int
    whole: bool


def list_both(store: Store, before: int | None = None) -> Logs:
    """List a checkpoint. Of very long logs on a disk no more entries are kept than a page shows before a batch.

    Raises:
        CheckpointNotFoundError: Nothing there, or no checkpoint.
        StoreError: The storage refused or did not answer.
    """
    listing = list_checkpoint(store)
    require_checkpoint(store, listing)
    if store.is_local and not listing.logs_seen:
        names = {log: store.names(log) for log in (_COMMITS, _OFFSETS)}
        entries = sum(map(len, names.values()))
        if entries > MOST_ENTRIES:
            found = {name: _stat(store, name) for log, of_log in names.items() for name in _kept(log, of_log, before)}
            objects = {**listing.objects, **{name: stored for name, stored in found.items() if stored}}
            return Logs(replace(list_logs(store, replace(listing, logs_seen=True)), objects=objects), entries, False)
    listing = list_logs(store, listing)
    entries = sum(name.startswith((f"{_COMMITS}/", f"{_OFFSETS}/")) for name in listing.objects)
    return Logs(listing, entries, True)


def _stat(store: Store, name: str) -> StoredObject | None:
    stored = store.stat(name)
    return stored and replace(stored, name=name)


def _kept(log: str, names: Iterable[str], before: int | None) -> set[str]:
    """The newest entries, and those of a page."""
    pages = (_largest(names, None, MOST_BATCHES + 1), _largest(names, before, MOST_BATCHES + 2))
    return {f"{log}/{batch}" for page in pages for batch in page}


def _largest(names: Iterable[str], before: int | None, count: int) -> list[int]:
    """The largest ids of entries up to one (inclusive), descending: there may be a million, so nothing is parsed."""
    numbers = (name.rpartition("/")[2] for name in names)
    ids = (int(text) for text in numbers if text.isascii() and text.isdigit() and len(text) < 20)
    return nlargest(count, (number for number in ids if before is None or number <= before))


@dataclass(frozen=True, slots=True)
class Log:
    """The batches of one page of the logs.

    Args:
        batches: Newest first.
        conf_changes: Newest first.
        tallies: Units read of each source, by id.
        newest: The newest batch of the logs; None when they have none.
        older: The batch before which the next page begins; None when there is none.
        unread: Why the page has fewer batches than it could have; empty when it has all.
    """

    batches: list[Batch] = field(default_factory=list)
    conf_changes: list[ConfChange] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=dict)
    newest: int | None = None
    older: int | None = None
    unread: str = ""


def read_log(
    store: Store, logs: Logs, before: int | None, declared: Mapping[str, str], is_late: Callable[[], bool]
) -> Log:
    """The newest batches that are before one.

    Args:
        store: The directory of the checkpoint.
        logs: The present listing.
        before: Only batches before this one (exclusive); None for the newest.
        declared: Types of sources by id, for logs that do not name them.
        is_late: Tells if no more should be read.

    Raises:
        CheckpointError: A type was declared that is unknown or does not fit; or the storage refused or did not answer.
    """
    listed = _log_listing(logs)
    earlier = tuple(batch for batch in listed.batches if before is None or batch < before)
    found, tallies, unread = _rows(store, listed, earlier[-MOST_BATCHES:], declared, is_late)
    logbook = Logbook()
    for rows in found:
        logbook.add(rows)
    newest = max(listed.batches, default=None)
    first = logbook.batches[0].batch_id if logbook.batches else None
    return Log(
        batches=finished(logbook.batches, newest),
        conf_changes=logbook.conf_changes[::-1],
        tallies=tallies,
        newest=newest,
        older=first if first is not None and earlier[0] < first else None,
        unread=unread,
    )


def _log_listing(logs: Logs) -> LogListing:
    objects = logs.listing.objects
    planned, committed = (_of_log(objects, log) for log in (_OFFSETS, _COMMITS))
    times = {batch: objects[f"{_COMMITS}/{batch}"].modified_ms for batch in committed}
    return LogListing(frozenset(objects), times, tuple(sorted(planned | committed)))


def _of_log(objects: Mapping[str, StoredObject], log: str) -> set[int]:
    names = [name for name in objects if name.startswith(f"{log}/")]
    return {batch for batch in _largest(names, None, len(names)) if f"{log}/{batch}" in objects}


def _rows(
    store: Store, listed: LogListing, wanted: tuple[int, ...], declared: Mapping[str, str], is_late: Callable[[], bool]
) -> tuple[list[list[BatchRow]], dict[str, Tally], str]:
    """The rows of batches, oldest first, without what only the tallies need; read from the newest on."""
    found: list[list[BatchRow]] = []
    tallies: dict[str, Tally] = {}
    origin, read = Origin(store.location, declared=declared), one_after_the_other(store)
    for end in range(len(wanted), 0, -AT_ONCE):
        if found and is_late():
            return found, tallies, f"The storage is slow, so only the newest {len(found)} batches were read."
        part = wanted[max(0, end - AT_ONCE) : end]
        rows = [rows_of(batch, origin) for batch in read_batches(store, listed, part, read) if not batch.vanished]
        found[:0] = [[_counted(row, tallies) for row in batch] for batch in rows]
    return found, tallies, ""


def _counted(row: BatchRow, tallies: dict[str, Tally]) -> BatchRow:
    """The row without the partitions and the offsets of its source, which ten thousand partitions make large."""
    if row.source is None:
        return row
    tallies.setdefault(row.source.source_id, Tally()).add(row.source, row.batch_time_ms)
    return row._replace(source=row.source._replace(partitions=(), start_offset=None, end_offset=None))
