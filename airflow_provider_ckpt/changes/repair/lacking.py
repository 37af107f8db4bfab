"""The log of a file sink with its holes: which live entries it lacks, and of which batches nothing tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.checkpoint.compaction import Shape
from airflow_provider_ckpt.checkpoint.file_sink_log import SinkLog
from airflow_provider_ckpt.codec.source_log import SinkFileStatus
from airflow_provider_ckpt.untrusted.spans import Span, missing_spans


@dataclass(frozen=True, slots=True)
class LogContents:
    """Remaining contents of a log.

    Args:
        log: Its listing.
        compacted: The newest compacted entry that is whole: its batch; -1 when there is none.
        base: The files that this entry names.
        singles: The files that each single entry after it names, by batch; of entries that are whole.
        damaged: Entries that Spark cannot read, and why, by name.
    """

    log: SinkLog
    compacted: int = -1
    base: tuple[SinkFileStatus, ...] = ()
    singles: Mapping[int, tuple[SinkFileStatus, ...]] = field(default_factory=dict)
    damaged: Mapping[str, str] = field(default_factory=dict)

    @property
    def statuses(self) -> Iterable[SinkFileStatus]:
        """Every file that is named, by the compacted entry first."""
        yield from self.base
        for _, files in sorted(self.singles.items()):
            yield from files


@dataclass(frozen=True, slots=True)
class Lacking:
    """The log as it is, as it has to be, and what is known beside it.

    Args:
        contents: Its remaining contents.
        shape: The shape that the log has to have.
        copied: Entries of a copy that it lacks, by name.
        outdated: Names of earlier compacted entries that nobody reads, by which Spark would take a wrong interval.
    """

    contents: LogContents
    shape: Shape
    copied: Mapping[str, bytes] = field(default_factory=dict)
    outdated: tuple[str, ...] = ()

    @property
    def lacking(self) -> list[int]:
        """The batches whose live entries it lacks, the newest first."""
        return [batch for batch in reversed(self.shape.live) if not self._has(batch)]

    def _has(self, batch_id: int) -> bool:
        if self.shape.compacts(batch_id):
            return batch_id == self.contents.compacted
        return batch_id in self.contents.singles

    @property
    def unknown(self) -> list[Span]:
        """Batches that are needed and whose files no entry lists, ascending and one by one."""
        own = {batch for batch in self.lacking if self.shape.entry(batch) not in self.copied}
        if not own:
            return []
        first = self.contents.compacted + 1 if self.shape.base in own else min(own)
        known = {*self.contents.singles, *(batch for batch in self.lacking if batch not in own)}
        return list(missing_spans(known, first, self.shape.newest))

    def up_to(self, batch_id: int, own: Mapping[int, Iterable[SinkFileStatus]]) -> Iterable[SinkFileStatus]:
        """Files of a compacted entry: those of the compacted one before it, and of all batches since, which ``own``
        tells.
        """
        yield from self.contents.base
        added = {**{batch: list(files) for batch, files in self.contents.singles.items()}, **own}
        for batch in sorted(batch for batch in added if batch <= batch_id):
            yield from (file for file in added[batch] if file.action != "delete")
