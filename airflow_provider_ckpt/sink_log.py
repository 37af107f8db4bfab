"""The log that a file sink keeps in its output directory: which batches it holds, and what is still whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.objects import StoredObject
from airflow_provider_ckpt.spans import Span, missing_spans

#: ``spark.sql.streaming.fileSink.log.compactInterval``, unless the deploy sets it.
COMPACT_INTERVAL = 10


@dataclass(frozen=True, slots=True)
class SinkLog:
    """What was listed of a file sink's ``_spark_metadata``."""

    location: str
    objects: Mapping[str, StoredObject]

    @property
    def entries(self) -> dict[layout.SinkLogEntry, str]:
        """Names by entry."""
        places = {name: layout.parse(name) for name in self.objects}
        return {place: name for name, place in places.items() if isinstance(place, layout.SinkLogEntry)}

    @property
    def latest(self) -> int | None:
        """The newest batch that the sink holds; Spark skips every batch up to it."""
        return max((entry.batch_id for entry in self.entries), default=None)

    @property
    def holes(self) -> tuple[Span, ...]:
        """Batches that are missing after the newest compacted entry; the next compaction stops at them."""
        compacted = max((entry.batch_id for entry in self.entries if entry.compact), default=-1)
        return missing_spans((entry.batch_id for entry in self.entries), compacted + 1, (self.latest or 0) - 1)

    def next_compaction(self, batch_id: int, interval: int = COMPACT_INTERVAL) -> int:
        """The first batch from ``batch_id`` on (inclusive) that compacts the log."""
        return batch_id + (-(batch_id + 1)) % interval
