"""The log that a file sink keeps in its output directory: which batches it holds, and what is still whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_ckpt.checkpoint.compaction import COMPACT_INTERVAL, interval_over
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointFormatError
from airflow_provider_ckpt.storage.stored_object import StoredObject
from airflow_provider_ckpt.untrusted.spans import Span, missing_spans

#: So far may the clocks of a driver and of the storage be apart, milliseconds.
CLOCKS_MS = 2_000


def while_it_ran(at_ms: int, planned_ms: int | None, committed_ms: int | None) -> bool:
    """True if an entry of a sink may be that of a batch: it was written between the plan and the commit of the batch.

    Args:
        at_ms: When the entry was written, epoch milliseconds by the clock of the storage.
        planned_ms: When the batch began, by the clock of the driver; None when not known.
        committed_ms: When it was committed, by the clock of the storage; None when not known.
    """
    is_early = planned_ms is not None and at_ms < planned_ms - CLOCKS_MS
    return not is_early and (committed_ms is None or at_ms <= committed_ms + CLOCKS_MS)


@dataclass(frozen=True, slots=True)
class SinkLog:
    """Observed state of a file sink's ``_spark_metadata``.

    Args:
        location: URI of the output directory.
        objects: Listed objects, by name.
        folders: Directories where entries belong, by name.
        damaged: Entries that were read and that Spark cannot read, by name.
        repeated: Entries that name a file which another entry names too: the name of that other, by name.
        stale: Entries that do not fit their checksum file.
        unread: Entries that were not read because they are too large, or too many.
        file_format: Format of the newest file in the entries that were read; None when its name does not say it.
    """

    location: str
    objects: Mapping[str, StoredObject]
    folders: tuple[str, ...] = ()
    damaged: Mapping[str, CheckpointFormatError] = field(default_factory=dict)
    repeated: Mapping[str, str] = field(default_factory=dict)
    stale: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    file_format: str | None = None

    @property
    def entries(self) -> dict[layout.SinkLogEntry, str]:
        """Names by entry."""
        places = {name: layout.parse(name) for name in self.objects}
        return {place: name for name, place in places.items() if isinstance(place, layout.SinkLogEntry)}

    @property
    def entries_ms(self) -> dict[int, int | None]:
        """When the entry of each batch was written, epoch milliseconds; None when not known."""
        return {entry.batch_id: self.objects[name].modified_ms for entry, name in self.entries.items()}

    @property
    def live(self) -> dict[layout.SinkLogEntry, str]:
        """Names by entry of what readers and the next compaction read: the newest compacted entry and all after it."""
        entries = self.entries
        compacted = max((entry.batch_id for entry in entries if entry.compact), default=-1)
        return {
            entry: name
            for entry, name in sorted(entries.items(), key=lambda item: item[0].batch_id)
            if entry.batch_id > compacted or (entry.compact and entry.batch_id == compacted)
        }

    @property
    def latest(self) -> int | None:
        """The newest batch that the sink holds; Spark skips every batch up to it."""
        return max((entry.batch_id for entry in self.entries), default=None)

    @property
    def holes(self) -> tuple[Span, ...]:
        """Batches that are missing after the newest compacted entry; the next compaction stops at them."""
        compacted = max((entry.batch_id for entry in self.entries if entry.compact), default=-1)
        return missing_spans((entry.batch_id for entry in self.entries), compacted + 1, (self.latest or 0) - 1)

    def next_compaction(self, batch_id: int) -> int:
        """The first batch from ``batch_id`` on (inclusive) that compacts the log, where no conf sets the interval."""
        interval = interval_over(COMPACT_INTERVAL, [entry.batch_id for entry in self.entries if entry.compact])
        return batch_id + (-(batch_id + 1)) % (interval or COMPACT_INTERVAL)
