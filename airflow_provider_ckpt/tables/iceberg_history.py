"""The snapshots of the main branch of an Iceberg table, in their order, and how long they are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from airflow_provider_ckpt.times import time_text

#: What Iceberg assumes where a table says nothing: five days, and one snapshot.
MAX_AGE_MS, LEAST_KEPT = 5 * 24 * 3_600_000, 1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot, as its summary describes it.

    Args:
        snapshot_id: Its id. Ids have no order.
        parent_id: Id of the snapshot that it comes from; None for the first one of a table.
        at_ms: When it was made, by the clock of its writer, epoch milliseconds.
        operation: ``append``, ``replace``, ``overwrite`` or ``delete``; empty when it has no summary.
        added_files: Data files that it has added; None when it does not say.
        added_rows: Their rows.
        added_bytes: Their bytes.
        removed_files: Data files that it has removed.
        removed_rows: Rows that it has removed, with files or by delete files.
        total_files: Data files of the table at this snapshot.
    """

    snapshot_id: int
    parent_id: int | None
    at_ms: int
    operation: str
    added_files: int | None = None
    added_rows: int | None = None
    added_bytes: int | None = None
    removed_files: int | None = None
    removed_rows: int | None = None
    total_files: int | None = None

    @property
    def appends(self) -> bool:
        """True if a source reads the files that it has added."""
        return self.operation == "append"

    @property
    def text(self) -> str:
        """Its operation and time in words, to go after ``snapshot``."""
        added = _counted(self.added_files, self.added_rows)
        removed = _counted(self.removed_files, self.removed_rows)
        told = [f"adds {added}"] if added else []
        told += [f"removes {removed}"] if removed else []
        did = f", which {' and '.join(told)}" if told else ""
        return f"{self.snapshot_id} ({self.operation or 'of an unknown operation'} of {time_text(self.at_ms)}){did}"


@dataclass(frozen=True, slots=True)
class Expiry:
    """Settings of a table for the expiry of snapshots; somebody has to run one.

    Args:
        max_age_ms: Older snapshots expire (``history.expire.max-snapshot-age-ms``), milliseconds.
        least_kept: This many of the newest stay (``history.expire.min-snapshots-to-keep``).
        pinned: Snapshots that tags and other branches hold.
    """

    max_age_ms: int = MAX_AGE_MS
    least_kept: int = LEAST_KEPT
    pinned: frozenset[int] = frozenset()


@dataclass(frozen=True)
class History:
    """The snapshots that the metadata of a table has.

    Args:
        location: The table.
        table_id: Its UUID.
        snapshots: The current snapshot and those that it comes from, newest first, as far as they are kept.
        others: The other ones: rolled back, or of other branches.
        expiry: How long they are kept.
    """

    location: str
    table_id: str
    snapshots: tuple[Snapshot, ...]
    others: Mapping[int, Snapshot] = field(default_factory=dict)
    expiry: Expiry = field(default_factory=Expiry)

    @property
    def newest(self) -> Snapshot | None:
        """The current snapshot; None in a table that never had one."""
        return self.snapshots[0] if self.snapshots else None

    @property
    def oldest(self) -> Snapshot | None:
        """The oldest one that is kept."""
        return self.snapshots[-1] if self.snapshots else None

    @property
    def is_whole(self) -> bool:
        """True if nothing of the history of the current snapshot has expired."""
        return self.oldest is None or self.oldest.parent_id is None

    def find(self, snapshot_id: int) -> Snapshot | None:
        """A snapshot of the main branch."""
        index = self._indices.get(snapshot_id)
        return None if index is None else self.snapshots[index]

    def has(self, snapshot_id: int) -> bool:
        """True if the metadata has a snapshot, on the main branch or not."""
        return snapshot_id in self._indices or snapshot_id in self.others

    def child_of(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot of the main branch that comes right after another one, which may have expired."""
        return self._children.get(snapshot_id)

    def after(self, snapshot_id: int | None) -> Iterator[Snapshot]:
        """The snapshots of the main branch after one, oldest first; all without one."""
        start = len(self.snapshots) if snapshot_id is None else self._indices[snapshot_id]
        return (self.snapshots[index] for index in range(start - 1, -1, -1))

    def between(self, earlier: int | None, later: int) -> tuple[Snapshot, ...]:
        """The snapshots after one up to another one, oldest first. Both are of the main branch."""
        end = self._indices[later]
        start = len(self.snapshots) if earlier is None else self._indices[earlier]
        return tuple(self.snapshots[index] for index in range(start - 1, end - 1, -1))

    def fork_of(self, snapshot_id: int) -> Snapshot | None:
        """The newest snapshot of the main branch that another one comes from; None where nobody can tell."""
        seen = set[int]()
        at: int | None = snapshot_id
        while at is not None and at in self.others and at not in seen:
            seen.add(at)
            at = self.others[at].parent_id
        return None if at is None else self.find(at)

    def kept_until_ms(self, snapshot_id: int) -> int | None:
        """Time from which an expiry may take a snapshot of the main branch, epoch milliseconds; None while none does.

        One that is pinned or among the newest is kept until it is so no more, of which nobody knows the time.
        """
        index = self._indices.get(snapshot_id)
        if index is None or index < self.expiry.least_kept or snapshot_id in self.expiry.pinned:
            return None
        return self.snapshots[index].at_ms + self.expiry.max_age_ms

    @cached_property
    def _indices(self) -> dict[int, int]:
        return {snapshot.snapshot_id: index for index, snapshot in enumerate(self.snapshots)}

    @cached_property
    def _children(self) -> dict[int, Snapshot]:
        return {snapshot.parent_id: snapshot for snapshot in self.snapshots if snapshot.parent_id is not None}


def _counted(files: int | None, rows: int | None) -> str:
    """How much, in words; empty for nothing."""
    counts = ((files, "data file", "data files"), (rows, "row", "rows"))
    told = [f"{count:,} {one if count == 1 else many}" for count, one, many in counts if count]
    return " with ".join(told)


def files_of(snapshots: Iterable[Snapshot]) -> int | None:
    """Number of data files that a source reads from snapshots; None when a snapshot does not tell."""
    counts = [snapshot.added_files for snapshot in snapshots if snapshot.appends]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def rows_of(snapshots: Iterable[Snapshot]) -> int | None:
    """How many rows a source reads from snapshots; None when one does not say."""
    counts = [snapshot.added_rows for snapshot in snapshots if snapshot.appends]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
