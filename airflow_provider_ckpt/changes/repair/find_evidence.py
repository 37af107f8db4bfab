"""Finds out when the batches without an entry ran, and which files were written then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from airflow_provider_ckpt.change.plan.actions import Copy, Create, Replace
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.changes.repair.batch_times import BatchTimes, contradiction, grain_ms, times_of
from airflow_provider_ckpt.changes.repair.data_file import name_below, unlisted
from airflow_provider_ckpt.changes.repair.decision import Decisions
from airflow_provider_ckpt.changes.repair.fork import Fork
from airflow_provider_ckpt.changes.repair.lacking import Lacking
from airflow_provider_ckpt.changes.repair.read_log import find_broken
from airflow_provider_ckpt.changes.repair.refusals import MOST_BATCHES
from airflow_provider_ckpt.changes.repair.share import Evidence, orphans_of
from airflow_provider_ckpt.checkpoint.observe import decode_entries
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.source_log import SinkFileStatus
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.spans import Span

#: Files of the compacted entry whose times are compared with the directory.
_COMPARED = 20


@dataclass(frozen=True, slots=True)
class Gathering:
    """What is there, from which follows what is known of batches.

    Args:
        checkpoint: The checkpoint.
        undo: Root of the records of its changes; None for the directory beside it.
        sink: The output directory.
        view: The checkpoint, observed.
        log: What the log of the sink lacks.
        files: The files of the output directory, by name.
        named: The names of those that entries of the log name.
    """

    checkpoint: Store
    undo: Store | None
    sink: Store
    view: CheckpointView
    log: Lacking
    files: Mapping[str, StoredObject]
    named: Set[str]
    fork: Fork | None = None

    def evidence(self, unknown: Sequence[Span], decisions: Decisions) -> Evidence:
        """Evidence on batches that have no entry."""
        if not unknown:
            return Evidence(BatchTimes(), (), decisions=decisions)
        times = self._times(unknown)
        unnamed = unlisted(self.files.values(), self.named)
        every = bool(times.doubt or decisions.adopted)
        concerned = [file for file in unnamed if every or times.batches_at(file.modified_ms)]
        broken = {file.name for file in find_broken(concerned, self.sink)}
        free = tuple(file for file in unnamed if file.name not in broken)
        partitioned = any("/" in name for name in (*self.named, *(file.name for file in concerned)))
        adopted = {name for names in decisions.adopted.values() for name in names}
        left = [file for file in unnamed if file.name not in adopted]
        lacking = [batch for batch in times.windows if any(span.first <= batch <= span.last for span in unknown)]
        orphans = orphans_of(left, free, times, lacking)
        elsewhere = -1 if self.fork is None else self.fork.wrote_nothing_before(self.log.contents, free)
        return Evidence(times, free, partitioned, decisions, orphans, elsewhere, not self.files)

    def _times(self, unknown: Sequence[Span]) -> BatchTimes:
        first = unknown[0].first
        batches = [batch for batch in self.view.planned if batch >= first - 1][-MOST_BATCHES:]
        entries, _ = decode_entries(self.checkpoint, map(layout.offset_entry, batches), self.checkpoint.read)
        times = times_of(self.view, entries, batches)
        return replace(times, doubt=times.doubt or self._put_by_a_change(times) or self._doubt(times))

    def _put_by_a_change(self, times: BatchTimes) -> str:
        """Which commit a change has written, as a restore does: its time is not that of the batch; else empty."""
        grain = grain_ms(self.view.objects.values())
        for record in history(self.checkpoint, self.undo):
            put = {action.name for action in record.plan.actions if isinstance(action, Copy | Create | Replace)}
            for batch in sorted(times.windows):
                commit = self.view.objects.get(layout.commit_entry(batch))
                if commit is None or commit.name not in put or commit.modified_ms is None:
                    continue
                if commit.modified_ms + grain > (record.begun_at_ms or 0):
                    return f"{commit.name} was written by the {record.plan.called} {record.plan.plan_id}"
        return ""

    def _doubt(self, times: BatchTimes) -> str:
        """Why the times of the files cannot be compared with those of the batches; empty when they can."""
        known = {batch: self._written(files) for batch, files in self.log.contents.singles.items()}
        if found := contradiction(times, known):
            return found
        for files in (self._written(self.log.contents.base[-_COMPARED:]), *known.values()):
            for name, at_ms in files:
                stored = self.files.get(name)
                if stored is not None and (stored.modified_ms or 0) // 1000 != at_ms // 1000:
                    return f"the output directory was copied, for {name} was not written when its entry says"
        if not (times.windows.keys() & {batch for batch, files in known.items() if files}) and not self._same_storage:
            return "no entry is left by which the clock of the sink can be compared with that of the checkpoint"
        return ""

    def _written(self, files: Iterable[SinkFileStatus]) -> list[tuple[str, int]]:
        return [(name_below(self.sink.root, file) or file.path, file.modification_time_ms) for file in files]

    @property
    def _same_storage(self) -> bool:
        sink, checkpoint = self.sink, self.checkpoint
        where = [
            (store.is_local, store.location.partition("://")[0] if "://" in store.location else "")
            for store in (sink, checkpoint)
        ]
        return where[0] == where[1]
