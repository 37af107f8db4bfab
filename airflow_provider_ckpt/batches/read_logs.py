"""Reading both logs of one checkpoint, batch by batch: two listings, then each entry once, in the order of the batches.

No more than a few entries are held at once, however long the logs are. An entry that Spark purges meanwhile is left out
or told apart: see :attr:`LoggedBatch.vanished`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.batches.rows import LoggedBatch, Origin
from airflow_provider_ckpt.checkpoint.listing import list_checkpoint
from airflow_provider_ckpt.checkpoint.observe import read_initial_offsets, require_checkpoint
from airflow_provider_ckpt.checkpoint.view import batch_ids
from airflow_provider_ckpt.codec import Encodable, layout
from airflow_provider_ckpt.codec.commit_log import CommitMetadata
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.query_metadata import QueryMetadata
from airflow_provider_ckpt.errors import CheckpointError, CheckpointFormatError, CheckpointNotFoundError
from airflow_provider_ckpt.storage.store import Store

#: So many files, and about so many bytes, are read ahead.
_FILES_AHEAD, _BYTES_AHEAD = 32, 1 << 20
#: Reads some files; an error of its own is in the place of one that cannot be read.
ReadMany = Callable[[Iterable[str]], Iterator[Encodable | CheckpointError]]


@dataclass(frozen=True, slots=True)
class LogListing:
    """Listing of both logs.

    Args:
        names: Their entries, and the objects at the top.
        committed_at_ms: Commit time of each batch, by the clock of the storage, epoch milliseconds; None where the
            storage does not say.
        batches: Every batch that one of the logs has, ascending; there may be gaps.
    """

    names: frozenset[str]
    committed_at_ms: Mapping[int, int | None]
    batches: tuple[int, ...]


def list_log(store: Store) -> LogListing:
    """List both logs: one request on S3, else three.

    Raises:
        CheckpointNotFoundError: Nothing there, or no checkpoint.
        StoreError: The storage refused or did not answer.
    """
    listing = list_checkpoint(store)
    require_checkpoint(store, listing)
    objects, names = listing.objects, frozenset(listing.objects)
    if not listing.logs_seen:  # what a running query writes first is listed last
        objects = store.ls(layout.COMMITS)[0]
        names = names.union(objects, store.names(layout.OFFSETS))
    committed = {batch: objects.get(layout.commit_entry(batch)) for batch in batch_ids(names, layout.COMMITS)}
    times = {batch: stored.modified_ms for batch, stored in committed.items() if stored is not None}
    return LogListing(names, times, tuple(sorted({*batch_ids(names, layout.OFFSETS), *committed})))


def one_after_the_other(store: Store) -> ReadMany:
    """Read and decode files one by one, a few ahead of the one at hand: each step costs less after one of its kind."""

    def read(names: Iterable[str]) -> Iterator[Encodable | CheckpointError]:
        held: list[tuple[str, bytes | CheckpointError]] = []
        held_bytes = 0
        for name in names:
            try:
                data = _bytes_of(store, name)
            except CheckpointError:
                yield from [_decoded(store, *item) for item in held]  # what was read before it is told before it
                raise
            held.append((name, data))
            held_bytes += len(data) if isinstance(data, bytes) else 0
            if len(held) == _FILES_AHEAD or held_bytes > _BYTES_AHEAD:
                yield from [_decoded(store, *item) for item in held]
                held, held_bytes = [], 0
        yield from [_decoded(store, *item) for item in held]

    return read


def read_entry(store: Store, name: str) -> Encodable | CheckpointError:
    """Decode one file; the error when it is damaged, or gone. Raises StoreError for anything else."""
    return _decoded(store, name, _bytes_of(store, name))


def _bytes_of(store: Store, name: str) -> bytes | CheckpointError:
    try:
        return store.read(name)
    except (CheckpointFormatError, CheckpointNotFoundError) as error:
        return error.at(store.location).with_traceback(None)


def _decoded(store: Store, name: str, data: bytes | CheckpointError) -> Encodable | CheckpointError:
    if not isinstance(data, bytes):
        return data
    try:
        return codec.decode(name, data)
    except CheckpointFormatError as error:
        return error.at(store.location).with_traceback(None)


def read_origin(store: Store, listing: LogListing, origin: Origin) -> Origin:
    """The origin with the id of the query, and with what is wrong with ``metadata``."""
    found = read_entry(store, layout.METADATA) if layout.METADATA in listing.names else None
    if isinstance(found, QueryMetadata):
        return replace(origin, query_id=found.query_id)
    return replace(origin, problem=str(found)) if isinstance(found, CheckpointFormatError) else origin


def read_batches(
    store: Store, listing: LogListing, wanted: Sequence[int], read: ReadMany, *, commits: bool = True
) -> Iterator[LoggedBatch]:
    """Read some batches, which follow each other in the listing, oldest first.

    Args:
        store: The directory of the checkpoint.
        listing: Its listing.
        wanted: The batches; ascending, with none of the listing left out between them.
        read: How files are read.
        commits: True if commit entries are read, too, not just listed.

    Raises:
        StoreError: The storage refused or did not answer.
    """
    if not wanted:
        return
    ids = [*[batch for batch in listing.batches if batch < wanted[0]][-1:], *wanted]
    if wanted[-1] + 1 in listing.batches:
        ids.append(wanted[-1] + 1)
    within = range(wanted[0], wanted[-1] + 1)
    before: _Entries | None = None
    for now, after in _with_next(_entries(ids, within if commits else range(0), listing, read)):
        if now.batch_id in within:
            follows = after is not None and after.batch_id == now.batch_id + 1
            yield _batch(
                now,
                listing,
                _before_first(store, now) if now.batch_id == 0 else _offsets(before),
                _offsets(after) if follows else None,
            )
        before = now


class _Entries(NamedTuple):
    """The entries of one batch; None for one that is not listed, or was not asked for."""

    batch_id: int
    offsets: Encodable | CheckpointError | None
    commit: Encodable | CheckpointError | None


def _offsets(entries: _Entries | None) -> OffsetSeq | None:
    return entries.offsets if entries is not None and isinstance(entries.offsets, OffsetSeq) else None


def _before_first(store: Store, first: _Entries) -> OffsetSeq | None:
    offsets = _offsets(first)
    return read_initial_offsets(store, offsets) if offsets else None


def _with_next(batches: Iterable[_Entries]) -> Iterator[tuple[_Entries, _Entries | None]]:
    now: _Entries | None = None
    for after in batches:
        if now is not None:
            yield now, after
        now = after
    if now is not None:
        yield now, None


def _entries(ids: Sequence[int], commits: range, listing: LogListing, read: ReadMany) -> Iterator[_Entries]:
    """The entries of batches, each read when it is due. Commits are read of those in a range."""
    wanted = [
        (layout.offset_entry(batch_id), layout.commit_entry(batch_id) if batch_id in commits else "")
        for batch_id in ids
    ]
    found = read(name for names in wanted for name in names if name in listing.names)
    for batch_id, names in zip(ids, wanted, strict=True):
        yield _Entries(batch_id, *(next(found) if name in listing.names else None for name in names))


def _batch(
    entries: _Entries, listing: LogListing, previous: OffsetSeq | None, following: OffsetSeq | None
) -> LoggedBatch:
    batch_id = entries.batch_id
    return LoggedBatch(
        batch_id=batch_id,
        planned=layout.offset_entry(batch_id) in listing.names,
        committed=batch_id in listing.committed_at_ms,
        committed_at_ms=listing.committed_at_ms.get(batch_id),
        offsets=_offsets(entries),
        commit=entries.commit if isinstance(entries.commit, CommitMetadata) else None,
        previous=previous,
        following=following,
        problems=tuple(entry for entry in entries[1:] if isinstance(entry, CheckpointError)),
    )
