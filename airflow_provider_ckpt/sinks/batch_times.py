"""Whether the files that a file sink's log names were written while the batches of the query ran.

The sink writes down when it wrote each file (``modificationTime``), and keeps that when it is copied; the offset log
says when a batch was planned. A file of a batch is not older than the plan of its batch, and not newer than its commit
or the plan of the next. Output of another query that is by chance at the same batch contradicts that.

A query that was moved back by hand runs batches again that its sink skips, so its own sink may have files that are too
old. Files that are too new, and no batch that fits, no history of one query explains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.source_log import SinkFileStatus
from airflow_provider_ckpt.sinks.fit import OTHERWISE, Misfit
from airflow_provider_ckpt.times import time_text

#: So far may the clocks of a driver and of two storages be apart, milliseconds.
_APART_MS = 60_000
#: An offset entry that was written so shortly after its batch was planned is no copy, and shows that clocks agree. One
#: that is older than the plan shows that they do not.
_TOGETHER_MS = 2_000
#: The times of one storage are exact to a second.
_GRAIN_MS = 1_000
#: Structured Streaming is of 2016: an earlier time is none.
_FIRST_MS = 1_400_000_000_000
_IF_OTHER = (
    "It is the sink of another query, or this one was moved back without ckpt, or a clock was wrong. Make sure that "
    "the query writes to it; if not, declare the sink that it writes to."
)


@dataclass(frozen=True, slots=True)
class Ran:
    """When a batch ran, epoch milliseconds.

    Args:
        from_ms: No file of it is older.
        to_ms: No file of it is newer; None when not known.
        began: What the query did first.
        ended: What it did last.
    """

    from_ms: int
    to_ms: int | None
    began: str
    ended: str

    def is_early(self, at_ms: int) -> bool:
        """True if something was written before it."""
        return at_ms < self.from_ms

    def is_late(self, at_ms: int) -> bool:
        """True if something was written after it."""
        return self.to_ms is not None and at_ms > self.to_ms

    def holds(self, at_ms: int) -> bool:
        """True if something may have been written while it ran."""
        return not self.is_early(at_ms) and not self.is_late(at_ms)


@dataclass(frozen=True, slots=True)
class Fit:
    """What the times of files say of a sink.

    Args:
        misfit: A file that no batch of the query wrote when it ran last; None when there is none.
        is_proof: True if no history of the query explains that.
    """

    misfit: Misfit | None = None
    is_proof: bool = False


def ran(view: CheckpointView, entries: Mapping[str, object], *, one_storage: bool) -> dict[int, Ran]:
    """When batches ran, as far as their entries say it.

    Args:
        view: The checkpoint.
        entries: Offset entries, by name.
        one_storage: Whether the sink is on the storage of the checkpoint, so that one clock gives the times of both.
    """
    planned = {
        batch: entry.metadata.batch_timestamp_ms
        for batch in view.planned
        if isinstance(entry := entries.get(layout.offset_entry(batch)), OffsetSeq)
        and entry.metadata is not None
        and entry.metadata.batch_timestamp_ms >= _FIRST_MS
    }
    return {batch: _ran(view, batch, planned, one_storage=one_storage) for batch in planned}


def _ran(view: CheckpointView, batch_id: int, planned: Mapping[int, int], *, one_storage: bool) -> Ran:
    at_ms = planned[batch_id]
    written_ms, committed_ms = (
        None if (stored := view.objects.get(name)) is None else stored.modified_ms
        for name in (layout.offset_entry(batch_id), layout.commit_entry(batch_id))
    )
    from_ms, apart_ms = at_ms - _APART_MS, _APART_MS
    if one_storage and written_ms is not None and -_GRAIN_MS <= written_ms - at_ms <= _TOGETHER_MS:
        from_ms, apart_ms = min(at_ms, written_ms) - _GRAIN_MS, _TOGETHER_MS + _GRAIN_MS
    ends = [  # a fence and a repartition take the time of the batch before
        (time + _APART_MS, f"planned batch {batch} at {time_text(time)}")
        for batch, time in sorted(planned.items())
        if batch > batch_id and time > at_ms
    ][:1]
    if committed_ms is not None and committed_ms >= from_ms:  # a copy of it is later, and a time that was set is none
        ends.append((committed_ms + apart_ms, f"committed it at {time_text(committed_ms)}"))
    to_ms, ended = min(ends, default=(None, ""))
    return Ran(from_ms, to_ms, f"planned it at {time_text(at_ms)}", ended)


def judge(
    times: Mapping[int, Ran],
    files: Mapping[int, Iterable[SinkFileStatus]],
    newest: tuple[int, SinkFileStatus] | None = None,
    rerun_up_to: int = -1,
) -> Fit:
    """Compare files with the times at which the query ran their batches.

    Args:
        times: When batches ran that follow each other.
        files: By batch, what its own entry in the log of the sink names.
        newest: A batch whose entry is compacted, and the newest file in it: of this batch, or of one before it.
        rerun_up_to: Batches up to this one may have run again, as records of changes say, while the sink skipped them.
    """
    fitting, early, late = 0, "", ""
    for batch, statuses in sorted(files.items()):
        dated = sorted((item.modification_time_ms, item.path) for item in statuses if _is_time(item))
        if (run := times.get(batch)) is None or not dated:
            continue
        (first_ms, first), (last_ms, last) = dated[0], dated[-1]
        if run.is_late(last_ms):
            late = _said(last, last_ms, f"of its batch {batch}", run.ended)
        elif not run.is_early(first_ms):
            fitting += 1
        elif batch > rerun_up_to:
            early = _said(first, first_ms, f"of its batch {batch}", run.began)
    if newest is not None and newest[0] in times and _is_time(newest[1]):
        merged_late, merged_early = _judge_merged(times, *newest)
        fitting += not merged_late and not merged_early
        late, early = merged_late or late, (merged_early if newest[0] > rerun_up_to else "") or early
    if late and not fitting:
        return Fit(Misfit(f"{late}: it is the sink of another query", OTHERWISE), is_proof=True)
    return Fit(Misfit(late or early, _IF_OTHER)) if late or early else Fit()


def _judge_merged(times: Mapping[int, Ran], batch_id: int, file: SinkFileStatus) -> tuple[str, str]:
    """Why the newest file of a compacted entry is too late, or is not of a time at which any of its batches ran."""
    at_ms, batches = file.modification_time_ms, f"of its batches up to {batch_id}"
    runs = [run for other, run in times.items() if other <= batch_id]
    if times[batch_id].is_late(at_ms):
        return _said(file.path, at_ms, batches, times[batch_id].ended), ""
    if any(run.holds(at_ms) for run in runs) or at_ms < min(run.from_ms for run in runs):
        return "", ""
    return "", _said(file.path, at_ms, batches, "ran no batch then")


def _is_time(status: SinkFileStatus) -> bool:
    return status.modification_time_ms >= _FIRST_MS


def _said(path: str, at_ms: int, batches: str, did: str) -> str:
    name = path.rpartition("/")[2]
    return f"has the file {name} {batches}, written at {time_text(at_ms)}, but the query {did}"
