"""Entries that the log of a file sink must have, and their names, for readers and for the next compaction."""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass
from math import gcd

from airflow_provider_ckpt.checkpoint.compaction import interval_over
from airflow_provider_ckpt.codec import layout


@dataclass(frozen=True, slots=True)
class Shape:
    """The log as it has to be.

    Args:
        interval: How many batches are between two compactions.
        newest: The newest batch that it has to have.
    """

    interval: int
    newest: int

    def compacts(self, batch_id: int) -> bool:
        """True if the entry of a batch is compacted."""
        return (batch_id + 1) % self.interval == 0

    def entry(self, batch_id: int) -> str:
        """The name of the entry of a batch."""
        return f"{layout.SINK_LOG}/{batch_id}{layout.COMPACT if self.compacts(batch_id) else ''}"

    @property
    def base(self) -> int:
        """The newest batch whose entry is compacted; -1 when none is."""
        return (self.newest + 1) // self.interval * self.interval - 1

    @property
    def live(self) -> range:
        """The batches whose entries readers and the next compaction read."""
        return range(max(self.base, 0), self.newest + 1)


def interval_of(plain: Set[int], compacted: Set[int], conf: int) -> int | None:
    """Interval at which a log was written, when its names fit one; None when they fit none.

    Args:
        plain: Numbers of its single entries.
        compacted: Numbers of its compacted entries.
        conf: The interval that the query sets.
    """
    common = 0
    for batch_id in compacted:
        common = gcd(common, batch_id + 1)
    tried = (interval_over(conf, compacted), conf, common)
    fitting = (interval for interval in tried if interval and _fits(interval, plain, compacted))
    return next(fitting, None)


def _fits(interval: int, plain: Collection[int], compacted: Collection[int]) -> bool:
    compacts = all((batch_id + 1) % interval == 0 for batch_id in compacted)
    return compacts and not any((batch_id + 1) % interval == 0 for batch_id in plain)
