"""Following the commit logs of a fleet: which batches have come since, and where a stream is after it has read some.

Each checkpoint is polled (one listing of its commit log) when its query is expected to have committed, not at a fixed
interval; the roots are searched for new checkpoints now and then.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from airflow_provider_ckpt.batches.positions import BatchRange, Pending, limited, moved_to, poll_again_after_ms
from airflow_provider_ckpt.batches.read_logs import LogListing, ReadMany, list_log, read_batches, read_origin
from airflow_provider_ckpt.batches.rows import DELETED, PURGED, ROLLED_BACK, BatchRow, Origin, lost_rows, rows_of
from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.checkpoint_offset import CheckpointPosition
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError
from airflow_provider_ckpt.fleet.find import patiently
from airflow_provider_ckpt.storage.concurrency import in_order
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.waiting.poll import commit_times

log = logging.getLogger(__name__)

Positions = Mapping[str, CheckpointPosition]
THREADS = 16


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often things are asked for, milliseconds.

    Args:
        discover_ms: New checkpoints below the roots.
        least_ms: A checkpoint is polled no more often.
        most_ms: A checkpoint is polled at least as often.
    """

    discover_ms: int
    least_ms: int
    most_ms: int


@dataclass(slots=True)
class Tail:
    """Follows a fleet. What it remembers only saves requests: a new one goes on from an offset alone.

    Args:
        discover: Finds the checkpoints that are not among those given.
        open_store: Opens a location.
        rhythm: How often to ask.
        clock_ms: The time, epoch milliseconds.
    """

    discover: Callable[[set[str]], Sequence[str]]
    open_store: Callable[[str], Store]
    rhythm: Rhythm
    clock_ms: Callable[[], int] = now_ms
    _due: list[tuple[float, str]] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)
    _pending: dict[str, Pending] = field(default_factory=dict)
    _next_discovery_ms: float = 0
    _last_poll_ms: float = 0

    def poll_due(self, positions: Positions, *, everywhere: bool = False) -> dict[str, CheckpointPosition]:
        """Poll what is due. Afterwards :meth:`take` says what to read.

        Args:
            positions: The position up to which each checkpoint was read.
            everywhere: Poll every checkpoint, due or not, and search the roots for new ones.

        Returns:
            Checkpoints whose timeline has changed without anything to read, by location.

        Raises:
            CheckpointError: It is the first time, and a root cannot be listed, or no checkpoint can be polled. Later
                that is logged: a storage that does not answer for a while ends no stream.
        """
        at_ms, is_first = self.clock_ms(), self._next_discovery_ms == 0
        if at_ms < self._last_poll_ms - self.rhythm.least_ms:  # the clock was set back, and all times here are wrong
            everywhere = True
        self._last_poll_ms = at_ms
        if everywhere or at_ms >= self._next_discovery_ms:
            self._add([*(positions.keys() - self._known), *self._search(positions, is_first=is_first)])
            self._next_discovery_ms = at_ms + self.rhythm.discover_ms
        due = []
        while self._due and (everywhere or self._due[0][0] <= at_ms):
            due.append(heapq.heappop(self._due)[1])
        return self._poll(due, positions, is_first=is_first)

    def take(self, most: int | None) -> dict[str, CheckpointPosition]:
        """Where each checkpoint is that has batches to read, once as many as that are read; they are no longer pending.

        Args:
            most: How many batches in all; None for every one. Each checkpoint that has any gives at least one.
        """
        taken = {}
        for location, count in limited(self._pending, most).items():
            taken[location], rest = self._pending[location].after(count)
            if rest is None:
                del self._pending[location]
            else:
                self._pending[location] = rest
        return taken

    def _search(self, positions: Positions, *, is_first: bool) -> Sequence[str]:
        try:
            return self.discover(self._known | positions.keys())
        except CheckpointError as error:
            if is_first:
                raise
            log.warning(
                "The locations cannot be searched for checkpoints now; they are searched again later: %s", error
            )
            return ()

    def _add(self, locations: Sequence[str]) -> None:
        for location in locations:
            if location not in self._known:
                self._known.add(location)
                heapq.heappush(self._due, (0, location))

    def _poll(self, due: list[str], positions: Positions, *, is_first: bool) -> dict[str, CheckpointPosition]:
        moved: dict[str, CheckpointPosition] = {}
        errors: list[CheckpointError] = []
        # What is pending is taken before it is polled again, since its position is that of what was taken.
        free = [location for location in due if location not in self._pending]
        for location in due:
            if location in self._pending:
                heapq.heappush(self._due, (self.clock_ms() + self.rhythm.least_ms, location))
        with ThreadPoolExecutor(THREADS) as pool:
            for location, progress in zip(free, in_order(pool, self._poll_one, free, window=4 * THREADS), strict=True):
                wait_ms: float = self.rhythm.least_ms
                if isinstance(progress, CheckpointError):
                    errors.append(progress)
                    log.warning("A checkpoint cannot be polled now; it is polled again later: %s", progress)
                else:
                    self._note(location, positions.get(location), progress, moved)
                    wait_ms = poll_again_after_ms(progress, self.rhythm.least_ms, self.rhythm.most_ms)
                heapq.heappush(self._due, (self.clock_ms() + wait_ms, location))
        if is_first and errors and len(errors) == len(free):  # later one that fails is often due alone
            raise errors[0]
        return moved

    def _poll_one(self, location: str) -> Progress | CheckpointError:
        try:
            at_ms, commits = self.clock_ms(), _list_commits(self.open_store(location))
        except CheckpointError as error:
            return error
        return Progress(max(commits, default=None), commits=commits, polled_at_ms=at_ms)

    def _note(
        self,
        location: str,
        known: CheckpointPosition | None,
        progress: Progress,
        moved: dict[str, CheckpointPosition],
    ) -> None:
        position, pending = moved_to(known, progress.commits)
        if pending is not None:
            self._pending[location] = pending
        elif position is not None and position != known:
            moved[location] = position


@patiently
def _list_commits(store: Store) -> dict[int, int | None]:
    return commit_times(store.ls(layout.COMMITS)[0])


_list_patiently = patiently(list_log)


# --- reading what has come --------------------------------------------------------------------------------------------
# A batch that is gone by the time it is read is a row that says so, or an error. It was purged, because the stream came
# too late, or rolled back, and then it is no longer what the query has done.


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
