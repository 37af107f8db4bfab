"""Looking at a checkpoint again and again: how far has its query come?

A look is a listing of the commit log and, where something is new, one read. What the storage has to be asked for is
asked for through a generator, so that the same steps run on threads and natively in an event loop.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.query_metadata import QueryMetadata
from airflow_provider_ckpt.errors import CheckpointFormatError, CheckpointNotFoundError
from airflow_provider_ckpt.lifecycle.observing import now_ms
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.progress import Progress
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.view import batch_ids
from airflow_provider_ckpt.waiting import Needs

Result = TypeVar("Result")

#: A look that finds an entry gone which it has just seen listed is begun again, so often.
ATTEMPTS = 4
#: The rate of a query is taken over up to so many batches.
RATE_BATCHES = 20


class List(NamedTuple):
    """Please list a directory."""

    directory: str


class Read(NamedTuple):
    """Please read an object."""

    name: str


#: Steps that ask the storage for something and end with a result.
Asks = Generator[List | Read, Any, Result]


def answer(asks: Asks[Result], store: Store) -> Result:
    """Carry steps out with a store that blocks."""
    reply: Any = None
    error: Exception | None = None
    while True:
        try:
            ask = asks.throw(error) if error else asks.send(reply)
        except StopIteration as stop:
            result: Result = stop.value
            return result
        reply, error = None, None
        try:
            reply = store.ls(ask.directory)[0] if isinstance(ask, List) else store.read(ask.name)
        except CheckpointNotFoundError as missing:
            error = missing


@dataclass(slots=True)
class Watched:
    """A checkpoint that is looked at again and again, and what is remembered of it.

    Args:
        location: Its URI, for errors.
        latest: What the last look showed.
        earlier: An older batch to take the rate from, once it was read; its offsets are those of that batch.
    """

    location: str
    latest: Progress | None = None
    earlier: Progress | None = None
    _asked: int = field(default=0, repr=False)

    def look(self, needs: Needs) -> Asks[Progress]:
        """One look. Raises CheckpointFormatError, CheckpointNotFoundError for an entry that comes and goes, StoreError.

        A checkpoint that does not exist yet has made no progress.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return (yield from self._look(needs))
            except CheckpointNotFoundError:  # rolled back, or purged, while we looked
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError

    def _look(self, needs: Needs) -> Asks[Progress]:
        self._asked = 0
        looked_at_ms = now_ms()
        commits = _commit_times((yield from self._ask(List(layout.COMMITS))))
        progress = Progress(max(commits, default=None), commits=commits, looked_at_ms=looked_at_ms)
        same = self._is_continued_by(progress)
        if needs.offsets and progress.batch_id is not None:
            progress = replace(progress, offsets=(yield from self._entry(progress, known=same)))
        if needs.planned_after_ms is not None and progress.batch_id is not None:
            progress = replace(progress, planned=(yield from self._planned(progress, needs.planned_after_ms)))
        query_id = self.latest.query_id if self.latest else None
        if not same or progress.batch_id is None:
            query_id = yield from self._query_id()
        progress = replace(progress, query_id=query_id)
        if not same:
            self.earlier = None
        self.latest = progress
        if self._asked < 2:
            yield from self._look_back(progress, needs)
        return progress

    def _ask(self, ask: List | Read) -> Generator[List | Read, Any, Any]:
        self._asked += 1
        return (yield ask)

    def _is_continued_by(self, progress: Progress) -> bool:
        """Whether the newest commit that was seen last time still stands as it was."""
        if self.latest is None:
            return False
        batch_id = self.latest.batch_id
        if batch_id is None:
            return progress.batch_id is None
        return batch_id in progress.commits and progress.commits[batch_id] == self.latest.committed_at_ms

    def _entry(self, progress: Progress, *, known: bool) -> Asks[OffsetSeq]:
        assert progress.batch_id is not None
        if known and self.latest and self.latest.batch_id == progress.batch_id and self.latest.offsets:
            return self.latest.offsets
        return (yield from self._offsets_of(progress.batch_id))

    def _offsets_of(self, batch_id: int) -> Asks[OffsetSeq]:
        name = layout.offset_entry(batch_id)
        data = yield from self._ask(Read(name))
        try:
            entry = codec.decode(name, data)
        except CheckpointFormatError as error:
            raise error.at(self.location) from None
        assert isinstance(entry, OffsetSeq)
        return entry

    def _planned(self, progress: Progress, after_ms: int) -> Asks[int | None]:
        """The newest planned batch, when the query has been quiet for so long; what is busy need not be listed.

        Where the storage does not say how long that is, the target does, and others that share the look are not hurt.
        """
        if progress.committed_at_ms is None or progress.quiet_ms < after_ms:
            return None
        objects = yield from self._ask(List(layout.OFFSETS))
        return max(batch_ids(objects, layout.OFFSETS), default=None)

    def _query_id(self) -> Asks[str | None]:
        try:
            data = yield from self._ask(Read(layout.METADATA))
        except CheckpointNotFoundError:
            return None
        try:
            metadata = codec.decode(layout.METADATA, data)
        except CheckpointFormatError as error:
            raise error.at(self.location) from None
        assert isinstance(metadata, QueryMetadata)
        return metadata.query_id

    def _look_back(self, progress: Progress, needs: Needs) -> Asks[None]:
        """With a request to spare, get an older batch to take the rate from."""
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


def look(store: Store, needs: Needs | None = None) -> Progress:
    """Look once. Raises as :meth:`Watched.look`."""
    return answer(Watched(store.location).look(needs or Needs(offsets=True)), store)


def _commit_times(objects: Mapping[str, StoredObject]) -> dict[int, int | None]:
    stored = {batch_id: objects.get(layout.commit_entry(batch_id)) for batch_id in batch_ids(objects, layout.COMMITS)}
    return {batch_id: commit.modified_ms if commit else None for batch_id, commit in stored.items()}
