"""Reading both logs of one checkpoint, batch by batch: two listings, then each entry once, in the order of the batches.

No more than a few entries are held at once, however long the logs are. An entry that Spark purges meanwhile is left out
or told apart: see :attr:`LoggedBatch.vanished`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.listing import list_checkpoint
from airflow_provider_ckpt.checkpoint.observe import read_initial_offsets, require_checkpoint
from airflow_provider_ckpt.checkpoint.view import batch_ids
from airflow_provider_ckpt.codec import Encodable, layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.query_metadata import QueryMetadata
from airflow_provider_ckpt.errors import CheckpointError, CheckpointFormatError, CheckpointNotFoundError
from airflow_provider_ckpt.history.rows import LoggedBatch, Origin
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: Reads some files; an error of its own is in the place of one that cannot be read.
ReadMany = Callable[[Iterable[str]], Iterator[Encodable | CheckpointError]]


@dataclass(frozen=True, slots=True)
class LogListing:
    """What both logs list.

    Args:
        objects: The entries, by name, and what is at the top.
        batches: Every batch that one of the logs has, ascending; there may be gaps.
    """

    objects: Mapping[str, StoredObject]
    batches: tuple[int, ...]


def list_log(store: Store) -> LogListing:
    """List both logs: one request on S3, else three.

    Raises:
        CheckpointNotFoundError: Nothing there, or no checkpoint.
        StoreError: The storage refused or did not answer.
    """
    listing = list_checkpoint(store)
    require_checkpoint(store, listing)
    objects = dict(listing.objects)
    if not listing.logs_seen:  # what a running query writes first is listed last
        objects |= store.ls(layout.COMMITS)[0]
        objects |= store.ls(layout.OFFSETS)[0]
    ids = {*batch_ids(objects, layout.OFFSETS), *batch_ids(objects, layout.COMMITS)}
    return LogListing(objects, tuple(sorted(ids)))


def one_after_the_other(store: Store) -> ReadMany:
    """Read files one by one."""
    return lambda names: (read_entry(store, name) for name in names)


def read_entry(store: Store, name: str) -> Encodable | CheckpointError:
    """Decode one file; the error when it is damaged, or gone. Raises StoreError for anything else."""
    try:
        return codec.decode(name, store.read(name))
    except (CheckpointFormatError, CheckpointNotFoundError) as error:
        error.at(store.location)
        return error.with_traceback(None)


def read_origin(store: Store, listing: LogListing, origin: Origin) -> Origin:
    """The origin with the id of the query, and with what is wrong with ``metadata``."""
    found = read_entry(store, layout.METADATA) if layout.METADATA in listing.objects else None
    if isinstance(found, QueryMetadata):
        return replace(origin, query_id=found.query_id)
    return replace(origin, problem=str(found)) if isinstance(found, CheckpointFormatError) else origin


def read_batches(
    store: Store, listing: LogListing, wanted: Sequence[int], read: ReadMany, *, commits: bool = True
) -> Iterator[LoggedBatch]:
    """Read some batches, which follow each other in the listing, oldest first.

    Args:
        store: Where the checkpoint is.
        listing: What was listed of it.
        wanted: Which batches; ascending, with none of the listing left out between them.
        read: How files are read.
        commits: Whether commit entries are read, too, not just listed.

    Raises:
        StoreError: The storage refused or did not answer.
    """
    if not wanted:
        return
    ids = [*[batch for batch in listing.batches if batch < wanted[0]][-1:], *wanted]
    if wanted[-1] + 1 in listing.batches:
        ids.append(wanted[-1] + 1)
    within = range(wanted[0], wanted[-1] + 1)
    batches = _batches(ids, within if commits else range(0), listing, read)
    before: LoggedBatch | None = None
    for now, after in _with_next(batches):
        if now.batch_id in within:
            follows = after is not None and after.batch_id == now.batch_id + 1
            yield replace(
                now,
                previous=_before_first(store, now) if now.batch_id == 0 else before.offsets if before else None,
                following=after.offsets if after is not None and follows else None,
            )
        before = now


def _before_first(store: Store, batch: LoggedBatch) -> OffsetSeq | None:
    return read_initial_offsets(store, batch.offsets) if batch.offsets else None


def _with_next(batches: Iterable[LoggedBatch]) -> Iterator[tuple[LoggedBatch, LoggedBatch | None]]:
    now: LoggedBatch | None = None
    for after in batches:
        if now is not None:
            yield now, after
        now = after
    if now is not None:
        yield now, None


def _batches(ids: Sequence[int], commits: range, listing: LogListing, read: ReadMany) -> Iterator[LoggedBatch]:
    """Batches with what their own entries hold. Commits are read of those in a range."""
    names = [name for batch in ids for name in _names(batch, batch in commits, listing)]
    entries = zip(names, read(names), strict=True)
    for batch_id in ids:
        found = dict(next(entries) for _ in _names(batch_id, batch_id in commits, listing))
        yield _batch(batch_id, found, listing)


def _names(batch_id: int, with_commit: bool, listing: LogListing) -> list[str]:
    names = [layout.offset_entry(batch_id), *([layout.commit_entry(batch_id)] if with_commit else [])]
    return [name for name in names if name in listing.objects]


def _batch(batch_id: int, found: Mapping[str, Any], listing: LogListing) -> LoggedBatch:
    offsets, commit = found.get(layout.offset_entry(batch_id)), found.get(layout.commit_entry(batch_id))
    committed = listing.objects.get(layout.commit_entry(batch_id))
    return LoggedBatch(
        batch_id,
        layout.offset_entry(batch_id) in listing.objects,
        committed is not None,
        committed.modified_ms if committed else None,
        offsets if isinstance(offsets, OffsetSeq) else None,
        commit if isinstance(commit, CommitMetadata) else None,
        problems=tuple(error for error in found.values() if isinstance(error, CheckpointError)),
    )
