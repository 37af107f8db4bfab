"""When each batch ran, as far as the checkpoint proves it: from what its offset entry says to the write of its commit.

Spark takes down the time of a batch when it plans it, writes the data files, then the entry in the log of the sink, and
then the commit; the time of the next batch is taken after that. A data file that was written in between is therefore of
this batch, of the attempt that was committed or of an earlier one. A copy of a checkpoint, and one that was restored,
has other times of writing, which do not lie between the times in the entries: then nothing is proven.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.changes.repair.data_file import DataFile
from airflow_provider_ckpt.checkpoint.spark_confs import SHUFFLE_PARTITIONS
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.storage.stored_object import StoredObject

_WHOLE_SECONDS = 1_000


@dataclass(frozen=True, slots=True)
class Window:
    """Begin and end of a batch, epoch milliseconds, both inclusive; without an end while it is not committed."""

    from_ms: int
    to_ms: int | None

    def holds(self, at_ms: int) -> bool:
        """True if something was written while the batch ran."""
        return self.from_ms <= at_ms and (self.to_ms is None or at_ms <= self.to_ms)


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """The windows of batches, and whether they can be relied on.

    Args:
        windows: Windows by batch.
        repartitions: Batches that gave the state other partitions, of which no sink gets anything.
        doubt: Why the times prove nothing, with the checkpoint or the sink as its subject; empty when they do.
    """

    windows: Mapping[int, Window] = field(default_factory=dict)
    repartitions: frozenset[int] = frozenset()
    doubt: str = ""

    def batches_at(self, at_ms: int) -> tuple[int, ...]:
        """The batches that ran at a time, ascending."""
        return tuple(sorted(batch for batch, window in self.windows.items() if window.holds(at_ms)))

    def written_during(self, batch_id: int, files: Iterable[DataFile]) -> tuple[DataFile, ...]:
        """The files that were written while a batch ran."""
        window = self.windows.get(batch_id)
        return tuple(file for file in files if window is not None and window.holds(file.modified_ms))


def times_of(view: CheckpointView, entries: Mapping[str, object], batches: Collection[int]) -> BatchTimes:
    """The times in which batches ran.

    Args:
        view: The checkpoint.
        entries: The offset entries of these batches, and of the batch before and after them, as far as they could be
            read.
        batches: The batches.
    """
    planned = {batch: entry for batch in view.planned if (entry := _entry(entries, batch)) is not None}
    began = {batch: entry.metadata.batch_timestamp_ms for batch, entry in planned.items() if entry.metadata is not None}
    repartitions = frozenset(batch for batch in planned if _repartitions(planned, batch))
    grain = grain_ms(view.objects.values())
    windows: dict[int, Window] = {}
    doubt = ""
    for batch in sorted(began.keys() & set(batches) - repartitions):
        from_ms = _first_ms(batch, began, view) // grain * grain
        later = [time for other, time in began.items() if other > batch and time > began[batch]]
        commit = view.objects.get(layout.commit_entry(batch))
        if commit is None and batch == view.in_flight:
            windows[batch] = Window(from_ms, None)
        elif commit is not None and commit.modified_ms is not None:
            to_ms = commit.modified_ms + grain - 1
            windows[batch] = Window(from_ms, to_ms)
            if not from_ms <= to_ms or (later and commit.modified_ms > min(later)):
                doubt = doubt or (
                    f"the checkpoint was copied or restored, for {commit.name} was not written between the beginning "
                    f"of batch {batch} and that of the next one"
                )
    return BatchTimes(windows, repartitions, doubt)


def _first_ms(batch_id: int, began: Mapping[int, int], view: CheckpointView) -> int:
    """When a batch began; not before the commit of one of the same time, such as the one that a fence follows."""
    same = [other for other, time in began.items() if other < batch_id and time == began[batch_id]]
    commits = (view.objects.get(layout.commit_entry(other)) for other in same)
    times = (commit.modified_ms for commit in commits if commit is not None and commit.modified_ms is not None)
    return max([began[batch_id], *times])


def _entry(entries: Mapping[str, object], batch_id: int) -> OffsetSeq | None:
    entry = entries.get(layout.offset_entry(batch_id))
    return entry if isinstance(entry, OffsetSeq) else None


def _repartitions(planned: Mapping[int, OffsetSeq], batch_id: int) -> bool:
    """True if the number of partitions changed with a batch, which only Spark's repartition can do."""
    before, entry = planned.get(batch_id - 1), planned[batch_id]
    if before is None or before.metadata is None or entry.metadata is None:
        return False
    old, new = (item.conf.get(SHUFFLE_PARTITIONS) for item in (before.metadata, entry.metadata))
    return old is not None and new is not None and old != new


def grain_ms(objects: Iterable[StoredObject]) -> int:
    """How exact the times of a storage are, in milliseconds: S3 tells whole seconds."""
    times = [stored.modified_ms for stored in objects if stored.modified_ms is not None]
    return _WHOLE_SECONDS if all(time % _WHOLE_SECONDS == 0 for time in times) else 1


def contradiction(times: BatchTimes, known: Mapping[int, Iterable[tuple[str, int]]]) -> str:
    """Contradiction of known entries to the times, or empty.

    Args:
        times: Times of the batches.
        known: By batch, the name of each file that its own entry names, and the time of its writing in the entry.
    """
    for batch, files in sorted(known.items()):
        window = times.windows.get(batch)
        for name, at_ms in files:
            if window is not None and not window.holds(at_ms):
                return f"the entry of batch {batch} names {name}, which was not written while that batch ran"
    return ""
