"""Conditions that are positions in the sources of a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from airflow_provider_ckpt.checkpoint.progress import Progress, or_none, source_kind
from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.codec.typed_offset import TypedOffset
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.times import duration_text, time_text
from airflow_provider_ckpt.visible import visible
from airflow_provider_ckpt.waiting.conditions import Condition, Needs, SourceEnds


@dataclass(frozen=True, slots=True)
class OffsetsReached(Condition):
    """Every source named in ``offsets`` is at its offset or past it, partition by partition.

    Args:
        offsets: Offset as JSON text, by source id (``"0"`` for the first source).
        source_types: Declared type by source id; without one an offset can only be equal, and that is refused.
        slack: Number of units (records, for Kafka) that may be missing in all; 0 for none.
    """

    name: ClassVar[str] = "offsets"

    offsets: Mapping[str, str]
    source_types: Mapping[str, str] = field(default_factory=dict)
    slack: int = 0

    def reached(self, progress: Progress) -> bool:
        """True once the committed offset is at the given one or past it.

        Raises CheckpointError when an offset cannot be compared.
        """
        if progress.offsets is None:
            return False
        if all(self._source_reached(progress, source_id) for source_id in self.offsets):
            return True
        missing = self.remaining(progress) if self.slack else None
        return missing is not None and missing <= self.slack

    def _source_reached(self, progress: Progress, source_id: str) -> bool:
        pair = self._typed(progress, source_id)
        if pair is None:
            return False
        current, goal = pair
        try:
            return current.has_reached(goal)
        except ValueError as error:
            raise CheckpointError(f"offsets of source {source_id} cannot be ordered: {error}") from error

    def _typed(self, progress: Progress, source_id: str) -> tuple[TypedOffset, TypedOffset] | None:
        """The position of a source, and where it has to; None when it has no offset yet."""
        offsets = progress.offsets
        assert offsets is not None
        ids = [known for known, _ in offsets.offsets]
        if source_id not in ids:
            raise CheckpointError(f"the query has no source {source_id!r}; its sources are {', '.join(ids)}")
        current = offsets.offset(source_id)
        if current is None:
            return None
        kind = source_kind(offsets, source_id, self.source_types)
        if kind is None:
            raise CheckpointError(
                f"offsets of source {source_id} cannot be ordered, because its type is not known",
                hint=f"Declare the type, for example {source_id}=kafka.",
            )
        return current.view(kind), SourceOffset(self.offsets[source_id]).view(kind)

    def _doubts(self, progress: Progress) -> Iterable[str]:
        for source_id in self.offsets:
            pair = self._typed(progress, source_id) if progress.offsets is not None else None
            if pair is not None:
                current, goal = pair
                stands = current.positions
                unread = [partition for partition in goal.positions if partition not in stands]
                if unread:
                    more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
                    yield f"Source {source_id} has not read {unread[0]}{more}; check that the query subscribes to it."

    def remaining(self, progress: Progress) -> float | None:
        """Units of the sources (records, for Kafka); None where they cannot be counted."""
        if progress.offsets is None:
            return None
        missing = 0
        for source_id in self.offsets:
            pair = self._typed(progress, source_id)
            if pair is None:
                return None
            current, goal = pair
            try:
                missing += sum(max(0, units) for units in goal.minus(current).values())
            except ValueError:
                return 0.0 if self._source_reached(progress, source_id) and len(self.offsets) == 1 else None
        return float(missing)

    def explain(self, progress: Progress) -> str:
        """Say how far the source is from the given offset."""
        current = progress.offsets.offsets if progress.offsets else ()
        stands = {source_id: offset.json if offset else "-" for source_id, offset in current}
        waits = ", ".join(
            f"source {source_id} to go from {visible(stands.get(source_id, 'none'))} to {visible(text)}"
            for source_id, text in self.offsets.items()
        )
        slack = f", or at most {self.slack:,} less" if self.slack else ""
        late = [source_id for source_id in self.offsets if _marks_begin(self.source_types.get(source_id))]
        note = f" (the end of a batch of source {late[0]} is known only when the next batch is planned)" if late else ""
        return f"committed batch {or_none(progress.batch_id)}, waiting for {waits}{slack}{note}"


def _marks_begin(kind: str | None) -> bool:
    return kind is not None and kind in KINDS and KINDS[kind].marks == "begin"


@dataclass(frozen=True, slots=True)
class SnapshotReached(Condition):
    """An Iceberg source has read a snapshot. Snapshot ids have no order, so its ancestors are part of the condition.

    Args:
        source_id: The source.
        snapshot_id: The snapshot that was the newest to read.
        position: How many data files it added.
        before: All its ancestors, also those that the source has read when the wait begins: it may be reset to one. Any
            other snapshot is a later one.
    """

    name: ClassVar[str] = "snapshot"

    source_id: str
    snapshot_id: int
    position: int
    before: tuple[int, ...] = ()

    def reached(self, progress: Progress) -> bool:
        """True once the committed position is at the snapshot or past it.

        Raises CheckpointError when the source is not an Iceberg source.
        """
        stands = self._position(progress)
        if stands is None or stands[0] == -1 or stands[0] in self.before:
            return False
        return stands[0] != self.snapshot_id or stands[1] >= self.position

    def _position(self, progress: Progress) -> tuple[int, int] | None:
        offset = progress.offsets.offset(self.source_id) if progress.offsets else None
        if offset is None:
            return None
        value = offset.view("iceberg").value
        return value["snapshot_id"], value["position"]

    def explain(self, progress: Progress) -> str:
        """Name the committed snapshot and the awaited one."""
        stands = self._position(progress)
        where = "nowhere" if stands is None else f"file {stands[1]} of snapshot {stands[0]}"
        return (
            f"committed batch {or_none(progress.batch_id)}, source {self.source_id} at {where}, "
            f"waiting for file {self.position} of snapshot {self.snapshot_id}"
        )


@dataclass(frozen=True, slots=True)
class FilesRead(Condition):
    """Result of a poll of a directory that a file source reads.

    Args:
        source_id: The source.
        unread: Number of files to read that are in no committed batch.
        newest: One of them, for people.
    """

    name: ClassVar[str] = "files_read"
    needs: ClassVar[Needs] = Needs()

    source_id: str
    unread: int
    newest: str | None = None

    def reached(self, progress: Progress) -> bool:
        """True once no file is left to read."""
        return self.unread == 0

    def explain(self, progress: Progress) -> str:
        """Say how many files the source still has to read."""
        such = f", such as {self.newest}" if self.newest else ""
        return f"source {self.source_id} still has to read {self.unread:,} files{such}"

    def remaining(self, progress: Progress) -> float | None:
        """Files."""
        return self.unread


@dataclass(frozen=True, slots=True)
class FilesWritten(Condition):
    """Every file that was in the directory of a file source at ``at_ms`` (epoch milliseconds) is in a committed batch.

    The directory and the source's own log are read again at each poll.
    """

    name: ClassVar[str] = "files"
    asks_ends: ClassVar[bool] = True

    source_id: str
    at_ms: int

    def reached(self, progress: Progress) -> bool:
        """Not before the directory was read: see :meth:`at_poll`."""
        return False

    def explain(self, progress: Progress) -> str:
        """Name the source and the time up to which it has to read files."""
        return f"waiting for source {self.source_id} to read the files of {time_text(self.at_ms)}"

    def at_poll(self, ends: SourceEnds, progress: Progress) -> Condition:
        """The remaining files at this poll, as :class:`FilesRead`."""
        return ends.files_at(self.source_id, self.at_ms, progress)


@dataclass(frozen=True, slots=True)
class SourceEndReached(Condition):
    """All that had been written to the sources at ``at_ms`` is in a committed batch.

    The end is taken once, when the wait begins, from where the data is: the broker, the table, the directory. What is
    written later is not waited for.

    Args:
        at_ms: Epoch milliseconds, by the timestamps of records, table versions and files; None is the beginning of the
            wait, and then the true end, whatever the timestamps say.
    """

    name: ClassVar[str] = "source_end"
    asks_ends: ClassVar[bool] = True

    at_ms: int | None = None

    def reached(self, progress: Progress) -> bool:
        """Not before the end is known: see :meth:`bound`."""
        return False

    def explain(self, progress: Progress) -> str:
        """Name the time up to which everything must be read."""
        return f"waiting for all that was written until {'now' if self.at_ms is None else time_text(self.at_ms)}"

    def bound(self, ends: SourceEnds, progress: Progress) -> Condition:
        """The position where the sources end."""
        return ends.end_at(self.at_ms, progress)


@dataclass(frozen=True, slots=True)
class LagAtMost(Condition):
    """The query is behind its sources by no more than a lag; their ends are asked for at each poll.

    Args:
        lag_ms: All that was written so long ago (milliseconds) is in a committed batch.
        lag_units: So many units of the sources that can be counted (records, for Kafka) are not in a committed batch;
            instead of ``lag_ms``.
    """

    name: ClassVar[str] = "lag"
    asks_ends: ClassVar[bool] = True

    lag_ms: int | None = None
    lag_units: int | None = None

    def reached(self, progress: Progress) -> bool:
        """Not before the ends were asked for: see :meth:`at_poll`."""
        return False

    def explain(self, progress: Progress) -> str:
        """Name the lag that is waited for."""
        lag = f"{self.lag_units:,} units" if self.lag_ms is None else f"{duration_text(self.lag_ms)}"
        return f"waiting for a lag of at most {lag}"

    def at_poll(self, ends: SourceEnds, progress: Progress) -> Condition:
        """All that was written until the lag began."""
        at_ms = None if self.lag_ms is None else progress.polled_at_ms - self.lag_ms
        return ends.end_at(at_ms, progress, slack=self.lag_units or 0).at_poll(ends, progress)
