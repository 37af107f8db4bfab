"""Compaction in the log of a file source or file sink, and the names that its entries must have.

Mirrors ``CompactibleFileStreamLog``.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass
from math import gcd, isqrt

from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.jvm_text import INT_MAX

#: ``spark.sql.streaming.fileSource.log.compactInterval`` and ``…fileSink…``, unless the deploy sets them.
COMPACT_INTERVAL = 10


@dataclass(frozen=True, slots=True)
class Misnamed:
    """An entry that Spark reads under another name than it has.

    Args:
        entry_id: Its number.
        interval: The interval that Spark compacts at.
        read_at: The entry that is written with what is read then; Spark also reads it at a restart of a source.
    """

    entry_id: int
    interval: int
    read_at: int

    @property
    def wanted(self) -> str:
        """The name that Spark reads, without its directory."""
        compacted = (self.entry_id + 1) % self.interval == 0
        return f"{self.entry_id}.compact" if compacted else str(self.entry_id)


def interval_over(conf: int, compacted: Collection[int]) -> int | None:
    """The interval that Spark uses over a log, in entries; None where it would use none.

    Args:
        conf: The interval that the deploy sets, at least 1.
        compacted: Numbers of the compacted entries that the log has: two of them decide, one bounds it
            (``deriveCompactInterval``).
    """
    newest = sorted(compacted)[-2:]
    if not newest:
        return conf
    if len(newest) == 2:
        return newest[1] - newest[0]
    count = newest[0] + 1
    if count > INT_MAX:
        return None
    return _divisor(count, conf) if conf < count // 2 else count


def _divisor(count: int, least: int) -> int:
    """The smallest divisor of ``count`` that is not less than ``least``."""
    small = [number for number in range(1, isqrt(count) + 1) if count % number == 0]
    return min(number for found in small for number in (found, count // found) if number >= least)


def misnamed(conf: int, plain: Set[int], compacted: Set[int]) -> Misnamed | None:
    """The first entry that Spark does not find under its name, of those that it reads from the last compaction on.

    An entry that is there under neither name is a hole, and not told here.
    """
    interval = interval_over(conf, compacted)
    known = plain | compacted
    if interval is None or not known:
        return None
    next_compaction = (max(known) + 1) // interval * interval + interval - 1
    for entry_id in sorted(entry_id for entry_id in known if entry_id >= next_compaction - interval):
        if entry_id not in (compacted if (entry_id + 1) % interval == 0 else plain):
            return Misnamed(entry_id, interval, next_compaction)
    return None


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
