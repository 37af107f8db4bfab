"""How the Iceberg source goes from snapshot to snapshot, and what it stops at.

Mirrors ``SyncSparkMicroBatchPlanner`` and ``SnapshotUtil`` of Iceberg 1.12, which follow the main branch alone. Earlier
releases do the same in ``SparkMicroBatchStream``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_provider_ckpt.codec.offsets.iceberg import START, IcebergOffset
from airflow_provider_ckpt.tables.iceberg_history import History, Snapshot

_STATE, _NULL = "IllegalStateException", "NullPointerException"


@dataclass(frozen=True, slots=True)
class Skips:
    """Options that a query sets for an Iceberg source; None is not known, and Iceberg's default is assumed.

    Args:
        deletes: ``streaming-skip-delete-snapshots``; false by default.
        overwrites: ``streaming-skip-overwrite-snapshots``; false by default.
        from_ms: ``stream-from-timestamp``, epoch milliseconds; by default there is none.
    """

    deletes: bool | None = None
    overwrites: bool | None = None
    from_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Error with which a source stops.

    Args:
        error: Simple name of the Java exception.
        message: Its message, as Iceberg words it.
        snapshot_id: The snapshot that it is about.
        snapshot: That snapshot, when the source met it on its way; None when it did not find it there.
    """

    error: str
    message: str
    snapshot_id: int
    snapshot: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """Where a source gets to.

    Args:
        end: Where it is then, exclusive; None where it has nothing new.
        passed: Snapshots that it has passed over because an option says so, oldest first.
    """

    end: IcebergOffset | None
    passed: tuple[Snapshot, ...] = ()


class StoppedError(Exception):
    """The source stops. Carries the Stop."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.message)
        self.stop = stop


def stop_at(snapshot: Snapshot, skips: Skips) -> Stop | None:
    """Stop of a source that meets this snapshot (``shouldProcess``); None when it reads or skips it."""
    option = {"delete": "streaming-skip-delete-snapshots", "overwrite": "streaming-skip-overwrite-snapshots"}
    skipped = {"delete": skips.deletes, "overwrite": skips.overwrites}
    operation, snapshot_id = snapshot.operation, snapshot.snapshot_id
    if operation in ("append", "replace") or skipped.get(operation):
        return None
    if operation not in option:
        message = f"Cannot process unknown snapshot operation: {operation} (snapshot id {snapshot_id})"
        return Stop(_STATE, message, snapshot_id, snapshot)
    ignored = "deletes" if operation == "delete" else "overwrites"
    message = f"Cannot process {operation} snapshot: {snapshot_id}, to ignore {ignored}, set {option[operation]}=true"
    return Stop(_STATE, message, snapshot_id, snapshot)


def latest_offset(history: History, start: IcebergOffset, skips: Skips) -> Way:
    """Where a source that is at an offset plans to read up to, without a limit (``latestOffset``).

    Raises StoppedError.
    """
    newest = history.newest
    if newest is None or (skips.from_ms is not None and newest.at_ms < skips.from_ms):
        return Way(START)
    begin = _resolved(history, start, skips)
    if begin == START:
        return Way(START)
    at = history.find(begin.snapshot_id)
    if at is None and begin.snapshot_id not in history.others:
        raise StoppedError(_gone(begin.snapshot_id))
    end = IcebergOffset(begin.snapshot_id, _read_of(at, begin), begin.scan_all_files)
    passed: list[Snapshot] = []
    for snapshot in _on_from(history, begin.snapshot_id):
        _require_passable(snapshot, skips)
        if snapshot.appends:
            end = IcebergOffset(snapshot.snapshot_id, snapshot.added_files or 0)
        elif snapshot.operation != "replace":
            passed.append(snapshot)
    return Way(None if end == begin else end, tuple(passed))


def plan(history: History, start: IcebergOffset, end: IcebergOffset, skips: Skips) -> None:
    """Plan the batch from one offset to another (``planFiles``). Raises StoppedError."""
    if end == START:
        return
    at = _resolved(history, start, skips)
    if at == START:
        raise StoppedError(_gone(at.snapshot_id))
    snapshot_id = at.snapshot_id
    while True:
        snapshot = history.find(snapshot_id) or history.others.get(snapshot_id)
        if snapshot is None:
            raise StoppedError(_gone(snapshot_id))
        _require_passable(snapshot, skips)
        if snapshot_id == end.snapshot_id:
            return
        snapshot_id = _child(history, snapshot_id).snapshot_id


def _resolved(history: History, start: IcebergOffset, skips: Skips) -> IcebergOffset:
    """Where a source begins that has found no snapshot before (``determineStartingOffset``)."""
    if start != START:
        return start
    newest, oldest = history.newest, history.oldest
    if newest is None or oldest is None:
        return START
    if skips.from_ms is None:
        return IcebergOffset(oldest.snapshot_id, 0)
    if newest.at_ms < skips.from_ms:
        return START
    first = newest
    for snapshot in history.snapshots:
        if snapshot.at_ms < skips.from_ms:
            break
        first = snapshot
        if snapshot.at_ms == skips.from_ms:
            break
    return IcebergOffset(first.snapshot_id, 0)


def _on_from(history: History, snapshot_id: int) -> Iterator[Snapshot]:
    """The snapshots after one, up to the current one (``nextValidSnapshot``). Raises StoppedError."""
    newest = history.newest
    while newest is not None and snapshot_id != newest.snapshot_id:
        snapshot = _child(history, snapshot_id)
        yield snapshot
        snapshot_id = snapshot.snapshot_id


def _child(history: History, snapshot_id: int) -> Snapshot:
    """``snapshotAfter``: from the current snapshot back to the one that comes from this one. Raises StoppedError."""
    child = history.child_of(snapshot_id)
    if child is not None:
        return child
    if history.is_whole:  # the first snapshot has no parent, which Iceberg does not expect
        message = (
            'Cannot invoke "java.lang.Long.longValue()" because the return value of '
            '"org.apache.iceberg.Snapshot.parentId()" is null'
        )
        raise StoppedError(Stop(_NULL, message, snapshot_id))
    message = f"Cannot find snapshot after {snapshot_id}: not an ancestor of table's current snapshot"
    raise StoppedError(Stop(_STATE, message, snapshot_id))


def _require_passable(snapshot: Snapshot, skips: Skips) -> None:
    if (stop := stop_at(snapshot, skips)) is not None:
        raise StoppedError(stop)


def _read_of(snapshot: Snapshot | None, begin: IcebergOffset) -> int:
    """How many files of the snapshot that it begins with a source has read then."""
    files = None if snapshot is None else snapshot.total_files if begin.scan_all_files else snapshot.added_files
    return begin.position if files is None and snapshot is None else files or 0


def _gone(snapshot_id: int) -> Stop:
    message = f"Cannot load current offset at snapshot {snapshot_id}, the snapshot was expired or removed"
    return Stop(_STATE, message, snapshot_id)
