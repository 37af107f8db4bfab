"""Polling a checkpoint: how far has its query come?

A poll is a listing of the commit log and, where something is new, one read. It asks the storage through a generator
(:mod:`airflow_provider_ckpt.storage.requests`), so that the same steps run on threads and natively in an event loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.checkpoint.view import batch_ids
from airflow_provider_ckpt.checks.no_data import why_waiting
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.query_metadata import QueryMetadata
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError, StoreError
from airflow_provider_ckpt.storage.requests import List, Read, Requests, answer_from, drive
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.waiting import Needs

#: A poll that finds an entry gone which it has just seen listed is begun again, so often.
ATTEMPTS = 4
#: The rate of a query is taken over up to so many batches.
RATE_BATCHES = 20


@dataclass(slots=True)
class Poller:
    """Polls one checkpoint again and again, and remembers what the next poll need not read.

    Args:
        location: Its URI, for errors.
        latest: Result of the last poll.
        earlier: An older batch to take the rate from, once it was read; its offsets are those of that batch.
    """

    location: str
    latest: Progress | None = None
    earlier: Progress | None = None

    def poll(self, needs: Needs) -> Requests[Progress]:
        """Poll once. A checkpoint that does not exist yet has made no progress.

        Raises CheckpointFormatError, CheckpointNotFoundError for an entry that comes and goes, StoreError.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return (yield from self._poll(needs))
            except CheckpointNotFoundError:  # rolled back, or purged, in between
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError

    def _poll(self, needs: Needs) -> Requests[Progress]:
        polled_at_ms = now_ms()
        commits = commit_times((yield List(layout.COMMITS)))
        progress = Progress(max(commits, default=None), commits=commits, polled_at_ms=polled_at_ms)
        before = self.latest if self._is_continued_by(progress) else None
        known = before.offsets if before and before.batch_id == progress.batch_id else None
        if needs.offsets and progress.batch_id is not None:
            progress = replace(progress, offsets=known or (yield from self._offsets_of(progress.batch_id)))
        if needs.planned_after_ms is not None and progress.batch_id is not None:
            progress = replace(progress, planned=(yield from self._planned(progress, needs.planned_after_ms)))
        is_known = before is not None and progress.batch_id is not None
        query_id = before.query_id if before and is_known else (yield from self._query_id())
        self.latest = progress = replace(progress, query_id=query_id)
        if before is None:
            self.earlier = None
        elif progress.planned is None and (known or not needs.offsets):  # the listing was all: one request is to spare
            yield from self._read_earlier(progress, needs)
        return replace(progress, earlier=self.earlier)

    def with_offsets(self, progress: Progress) -> Requests[Progress]:
        """The same with the offset log entry of its batch: the end of a wait tells the watermark, whatever it asked.

        Without the entry where it is gone or damaged by now. Raises StoreError.
        """
        if progress.batch_id is None or progress.offsets is not None:
            return progress
        try:
            return replace(progress, offsets=(yield from self._offsets_of(progress.batch_id)))
        except (CheckpointNotFoundError, CheckpointFormatError):
            return progress

    def _is_continued_by(self, progress: Progress) -> bool:
        """True if the newest commit of the last poll is unchanged."""
        if self.latest is None:
            return False
        batch_id = self.latest.batch_id
        if batch_id is None:
            return progress.batch_id is None
        return batch_id in progress.commits and progress.commits[batch_id] == self.latest.committed_at_ms

    def _offsets_of(self, batch_id: int) -> Requests[OffsetSeq]:
        name = layout.offset_entry(batch_id)
        data = yield Read(name)
        try:
            entry = codec.decode(name, data)
        except CheckpointFormatError as error:
            raise error.at(self.location) from None
        assert isinstance(entry, OffsetSeq)
        return entry

    def _planned(self, progress: Progress, after_ms: int) -> Requests[int | None]:
        """The newest planned batch, when the query has been quiet for so long; what is busy need not be listed.

        Where the storage does not say how long that is, the condition says so, and others that
        share the poll are not hurt.
        """
        if progress.committed_at_ms is None or progress.quiet_ms < after_ms:
            return None
        objects = yield List(layout.OFFSETS)
        return max(batch_ids(objects, layout.OFFSETS), default=None)

    def _query_id(self) -> Requests[str | None]:
        try:
            data = yield Read(layout.METADATA)
        except CheckpointNotFoundError:
            return None
        try:
            metadata = codec.decode(layout.METADATA, data)
        except CheckpointFormatError as error:
            raise error.at(self.location) from None
        assert isinstance(metadata, QueryMetadata)
        return metadata.query_id

    def _read_earlier(self, progress: Progress, needs: Needs) -> Requests[None]:
        """Get an older batch to take the rate from."""
        older = sorted(
            batch for batch in progress.commits if progress.batch_id is not None and batch < progress.batch_id
        )
        if self.earlier is not None or not older:
            return
        batch_id = older[-RATE_BATCHES:][0]
        offsets = None
        if needs.offsets:
            try:
                offsets = yield from self._offsets_of(batch_id)
            except (CheckpointNotFoundError, CheckpointFormatError):
                return  # purged since, or of no use: the rate is a courtesy
        self.earlier = replace(progress, batch_id=batch_id, offsets=offsets)


def poll_progress(store: Store, needs: Needs | None = None) -> Progress:
    """Poll a checkpoint once.

    Args:
        store: The checkpoint.
        needs: Data that is read beyond the newest committed batch; by default its offsets.

    Returns:
        A ``Progress``: ``batch_id`` of the newest committed batch (None before the first commit), ``offsets`` (its
        offset log entry), ``query_id``, ``planned``, ``commits`` and ``polled_at_ms``, as far as ``needs`` asks.

    Raises:
        CheckpointNotFoundError: An entry that the poll needs was deleted while it ran.
        CheckpointFormatError: An entry that the poll needs is damaged.
        StoreError: The storage refuses, or does not answer.
    """
    return drive(Poller(store.location).poll(needs or Needs(offsets=True)), answer_from(store))


def with_offsets(store: Store, progress: Progress) -> Progress:
    """Run :meth:`Poller.with_offsets`; returns the progress unchanged if the storage fails, as the wait has ended."""
    if progress.offsets is not None:
        return progress
    with suppress(StoreError):
        return drive(Poller(store.location).with_offsets(progress), answer_from(store))
    return progress


def why_absent(store: Store) -> str | None:
    """Why a location holds no checkpoint (yet), as a sentence; None when it does. Raises StoreError."""
    objects, directories = store.ls()
    if {*objects, *directories} & {layout.METADATA, layout.OFFSETS, layout.COMMITS}:
        return None
    if objects or directories:
        such = min({*objects, *directories})
        return f"{store.location} is not a checkpoint: it has neither offsets/ nor commits/ nor metadata, but {such}."
    above = _nearest_existing(store)
    there = f"; {above} does" if above else ""
    return f"{store.location} does not exist{there}. The wait goes on, because a query may still create the checkpoint."


def why_quiet(store: Store) -> str | None:
    """Why no batch runs until there is new data, as a sentence; None when nothing shows that. Raises StoreError."""
    with suppress(CheckpointNotFoundError):
        why = why_waiting(observe(store))
        return why and f"Nothing runs until there is new data: {why}."
    return None


def _nearest_existing(store: Store) -> str | None:
    """The nearest directory above a location that exists; None when there is none, or it cannot be asked for."""
    location, root = store.location.rstrip("/"), store.root.rstrip("/")
    for _ in range(root.count("/") + 1):
        location, root = location.rpartition("/")[0], root.rpartition("/")[0]
        with suppress(Exception):  # it is a part of a message, and a bucket may forbid it
            if store.fs.exists(root or "/"):
                return location or "/"
    return None


def commit_times(objects: Mapping[str, StoredObject]) -> dict[int, int | None]:
    """Commit time of each batch of a listed commit log, epoch milliseconds; None where the storage does not say."""
    stored = {batch_id: objects.get(layout.commit_entry(batch_id)) for batch_id in batch_ids(objects, layout.COMMITS)}
    return {batch_id: commit.modified_ms if commit else None for batch_id, commit in stored.items()}
