"""Where in an Iceberg table a source goes, and what that means for its snapshots; all measured with Iceberg 1.12.

Right after a snapshot that appended is the number of its data files. A source cannot begin at a snapshot that
overwrites or deletes, not even at its end: right after such a one is before the first file of the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_provider_ckpt.codec.offsets.iceberg import START, IcebergOffset
from airflow_provider_ckpt.sources.iceberg.way import Skips, StoppedError, latest_offset, stop_at
from airflow_provider_ckpt.sources.move import UNKNOWN_PART, Counted
from airflow_provider_ckpt.tables.iceberg_history import History, Snapshot, files_of, rows_of

_NO_SKIPS = Skips()


def after(history: History, snapshot: Snapshot) -> IcebergOffset | None:
    """Right after a snapshot of the main branch; None where no offset says that."""
    if snapshot.appends and snapshot.added_files is not None:
        return IcebergOffset(snapshot.snapshot_id, snapshot.added_files)
    child = history.child_of(snapshot.snapshot_id)
    if child is not None:
        return IcebergOffset(child.snapshot_id, 0)
    index = history.snapshots.index(snapshot)
    before = next((item for item in history.snapshots[index:] if item.appends), None)
    if before is None:
        return IcebergOffset(snapshot.snapshot_id, 0)
    return None if before.added_files is None else IcebergOffset(before.snapshot_id, before.added_files)


def first_from(history: History, at_ms: int) -> Snapshot | None:
    """The first snapshot that is not older than a time (``SnapshotUtil.oldestAncestorAfter``); None without one."""
    found = None
    for snapshot in history.snapshots:
        if snapshot.at_ms < at_ms:
            break
        found = snapshot
    return found


def unread(history: History, at: IcebergOffset) -> Iterator[Snapshot]:
    """The snapshots that are not read at an offset that is there, oldest first; of the first a part may be read."""
    begun = history.find(at.snapshot_id)
    if begun is not None and not (begun.appends and at.position >= (begun.added_files or 0)):
        yield begun
    yield from history.after(None if begun is None else begun.snapshot_id)


def next_stop(history: History, at: IcebergOffset) -> Snapshot | None:
    """The snapshot that the source stops at, unless an option skips it; None when it reads up to the end."""
    return next((snapshot for snapshot in unread(history, at) if stop_at(snapshot, _NO_SKIPS) is not None), None)


def counted(history: History, old: IcebergOffset, new: IcebergOffset) -> Counted:
    """Data between two offsets, the newer of which is in the table."""
    begin = _frontier(history, old)
    if begin is None:
        return UNKNOWN_PART
    low, high = sorted((begin, _place(history, new)))
    text = _between(history, low, high)
    if not history.has(old.snapshot_id) and old != START:  # nobody can tell how many files it had
        rest = f"the unread rest of snapshot {old.snapshot_id} (if any)"
        return Counted(left_out=f"{rest} and {text}" if text else rest)
    return Counted(again=text) if begin == high else Counted(left_out=text)


def initial_beside(history: History, initial: IcebergOffset | None, new: IcebergOffset) -> IcebergOffset | None:
    """The initial offset that a source needs beside a new offset; None when that which it has will do.

    With the trigger ``availableNow`` a source goes from there to the end of the table, so everything on its way has to
    be there, and none of it may stop the source. The offset of a source that has found no snapshot yet (``START``)
    means the oldest snapshot at each start, so it never expires.
    """
    if initial is not None and _leads_to(history, initial, new):
        return None
    place = history.find(new.snapshot_id)
    near = () if place is None else history.snapshots[history.snapshots.index(place) :]
    for candidate in (START, *(IcebergOffset(snapshot.snapshot_id, 0) for snapshot in near)):
        if _leads_to(history, candidate, new):
            return candidate
    return None


def _leads_to(history: History, initial: IcebergOffset, new: IcebergOffset) -> bool:
    """True if a source gets from an initial offset to a new offset; a later stop would stop the query anyway."""
    try:
        return latest_offset(history, initial, _NO_SKIPS).end is not None
    except StoppedError as error:
        ahead = {snapshot.snapshot_id for snapshot in unread(history, new)}
        return error.stop.snapshot is not None and error.stop.snapshot_id in ahead


#: A place in the history: so many of the oldest snapshots are read, and so many files of the next.
_Place = tuple[int, int]


def _place(history: History, offset: IcebergOffset) -> _Place:
    if offset == START:
        return 0, 0
    index = next(at for at, item in enumerate(reversed(history.snapshots)) if item.snapshot_id == offset.snapshot_id)
    snapshot = history.snapshots[-1 - index]
    is_read = not snapshot.appends or offset.position >= (snapshot.added_files or 0)
    return (index + 1, 0) if is_read and offset.position > 0 else (index, max(offset.position, 0))


def _frontier(history: History, old: IcebergOffset) -> _Place | None:
    """Place up to which the main branch is read at an offset that may have left it; None if nobody can tell."""
    if old == START or history.find(old.snapshot_id) is not None:
        return _place(history, old)
    if old.snapshot_id in history.others:
        fork = history.fork_of(old.snapshot_id)
        return None if fork is None else (_place(history, IcebergOffset(fork.snapshot_id, 0))[0] + 1, 0)
    is_last_gone = history.oldest is not None and history.oldest.parent_id == old.snapshot_id
    return (0, 0) if is_last_gone else None


def _between(history: History, low: _Place, high: _Place) -> str:
    """The files that a source reads between two places, in words; empty when there are none."""
    oldest_first = history.snapshots[::-1]
    whole = [item for item in oldest_first[low[0] : high[0]] if item.appends and item.added_files != 0]
    files = files_of(whole)
    if files is None:
        return f"an unknown number of data files of {_snapshots(whole)}"
    files += high[1] - low[1]
    if not files:
        return ""
    is_exact = not low[1] and not high[1]
    rows = rows_of(whole) if is_exact else None
    involved = len(whole) + bool(high[1])
    told = f"{files:,} data file{'s' if files != 1 else ''}"
    with_rows = "" if rows is None else f" with {rows:,} row{'s' if rows != 1 else ''}"
    return f"{told}{with_rows} of {_snapshots([*whole, *oldest_first[high[0] : high[0] + involved - len(whole)]])}"


def _snapshots(found: Sequence[Snapshot]) -> str:
    if len(found) == 1:
        return f"snapshot {found[0].snapshot_id}"
    return f"{len(found):,} snapshots"
