"""Where a source that reads an Iceberg table goes: its metadata says which snapshots there are, and of when.

An offset of such a source is in a snapshot of the main branch. A snapshot that overwrites or deletes stops the source
at every start; it goes on when that one is skipped.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec.offsets.iceberg import START, IcebergOffset, of_value
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError, PlanError
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sources.goal import OF_DELTA, AbsoluteAim, Goal, SkipSnapshot, ToSnapshot
from airflow_provider_ckpt.sources.iceberg.target import after, counted, first_from, initial_beside, next_stop, unread
from airflow_provider_ckpt.sources.iceberg.way import Skips, stop_at
from airflow_provider_ckpt.sources.kafka.strategies import Scope, ToCurrent, ToEarliest, ToLatest, asked_ms
from airflow_provider_ckpt.sources.move import Counted, Move
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.iceberg import read_history
from airflow_provider_ckpt.tables.iceberg_history import History, Snapshot
from airflow_provider_ckpt.times import time_text


def aim_of(declared: Source, goal: Goal, scope: Scope, access: Access) -> IcebergAim | None:
    """Where a source of an Iceberg table is to go; None for partitions, and for a goal in a table of another type."""
    if scope.topics or isinstance(goal, OF_DELTA):
        return None
    return IcebergAim(access.open_store(declared.directory), goal, declared.metadata_file)


@dataclass(frozen=True, slots=True)
class IcebergAim(AbsoluteAim):
    """Where a source that reads an Iceberg table is to go (:class:`~airflow_provider_ckpt.sources.move.Aim`).

    Args:
        store: The table.
        goal: Where to.
        metadata_file: Its metadata file, when that was declared.
    """

    store: Store
    goal: Goal
    metadata_file: str = ""

    def move(
        self,
        source_id: str,
        committed: SourceOffset,
        planned: SourceOffset | None,
        initial: SourceOffset | None = None,
    ) -> Move:
        """Move the source to the snapshot of the goal; see :class:`~airflow_provider_ckpt.sources.move.Aim`."""
        try:
            at = of_value(committed.view("iceberg").value)
        except (MalformedEntryError, ValueError) as error:
            raise self._refused(f"source {source_id} is not an Iceberg source: {error}") from None
        history = read_history(self.store, self.metadata_file)
        notes, told = [], None
        if isinstance(self.goal, ToCurrent):
            new = self._kept(history, at)
        elif isinstance(self.goal, SkipSnapshot):
            new, skipped = self._skipped(history, self.goal.snapshot_id, at, in_flight=planned is not None)
            notes, told = [f"Skipped is {skipped}."], Counted(left_out=skipped)
        else:
            new = self._target(history)
            told = counted(history, at, new)
        notes.append(_next_text(history, new))
        if (other := initial_beside(history, _readable(initial), new)) is None or initial is None:
            other = None
        else:
            notes.append(
                "The initial offset of the source, from which a start with the trigger availableNow searches for the "
                f"end of the table, becomes {_initial_text(other)}."
            )
        return Move(
            source_id,
            "iceberg",
            committed,
            committed if new == at else SourceOffset(new.json),
            warnings=(*self._of_place(history, at), *_of_stop(history, new)),
            notes=tuple(notes),
            counted=told,
            initial=None if other is None else SourceOffset(other.json),
        )

    def _target(self, history: History) -> IcebergOffset:
        newest, oldest = history.newest, history.oldest
        if newest is None or oldest is None:
            raise self._refused("the table has no snapshot")
        if (at_ms := asked_ms(self.goal, now_ms())) is not None:
            first = first_from(history, at_ms)
            return self._after(history, newest) if first is None else IcebergOffset(first.snapshot_id, 0)
        match self.goal:
            case ToSnapshot(snapshot_id):
                return self._after(history, self._there(history, snapshot_id))
            case ToEarliest():
                return IcebergOffset(oldest.snapshot_id, 0)
            case ToLatest():
                return self._after(history, newest)
        raise self._refused(f"an Iceberg source has no offsets that could be counted, so it does not go to {self.text}")

    def _kept(self, history: History, at: IcebergOffset) -> IcebergOffset:
        if at != START and history.find(at.snapshot_id) is None:
            raise self._refused(
                f"the query is at snapshot {at.snapshot_id}, from which it cannot go on: "
                f"{_why_not_there(history, at.snapshot_id)}",
                "Move it to another snapshot: --to-earliest or --to-snapshot (to_earliest=, to_snapshot= in a DAG).",
            )
        return at

    def _skipped(
        self, history: History, snapshot_id: int, at: IcebergOffset, *, in_flight: bool
    ) -> tuple[IcebergOffset, str]:
        """The offset behind a snapshot, and what of it is skipped, in words.

        Raises PlanError where the next batch would not begin with that snapshot.
        """
        snapshot = self._there(history, snapshot_id)
        self._kept(history, at)
        before = []
        for item in unread(history, at):
            if item.snapshot_id == snapshot_id:
                break
            before.append(item)
        else:
            raise self._refused(f"the query has passed snapshot {snapshot_id}")
        other = next((item for item in before if item.operation != "replace"), None)
        if other is not None:
            raise self._refused(
                f"the next batch begins with snapshot {before[0].snapshot_id}, so that snapshot {other.snapshot_id} "
                f"({other.operation}) would be skipped, too",
                _first_read(snapshot, other, in_flight=in_flight),
            )
        if stop_at(snapshot, Skips()) is not None and history.child_of(snapshot_id) is None:
            raise self._refused(
                f"snapshot {snapshot_id} is the newest of the table, and a source cannot begin at the end of one that "
                f"does not append ({snapshot.operation})",
                "Append to the table, and skip it then.",
            )
        read = at.position if at.snapshot_id == snapshot_id else 0
        rest = f" after its first {read:,} files" if read > 0 and snapshot.appends else ""
        return self._after(history, snapshot), f"snapshot {snapshot.text}{rest}"

    def _there(self, history: History, snapshot_id: int) -> Snapshot:
        """A snapshot of the main branch. Raises PlanError."""
        snapshot = history.find(snapshot_id)
        if snapshot is None:
            raise self._refused(f"there is no way from snapshot {snapshot_id}: {_why_not_there(history, snapshot_id)}")
        return snapshot

    def _after(self, history: History, snapshot: Snapshot) -> IcebergOffset:
        found = after(history, snapshot)
        if found is None:
            raise self._refused(f"snapshot {snapshot.snapshot_id} does not say how many data files it has added")
        return found

    def _of_place(self, history: History, at: IcebergOffset) -> tuple[str, ...]:
        """A warning where the table does not have the snapshot that the query is at."""
        if at == START or history.has(at.snapshot_id):
            return ()
        return (
            f"The query is at snapshot {at.snapshot_id}: {_why_not_there(history, at.snapshot_id)}. Make sure that "
            "it is the table that the query reads.",
        )

    def _refused(self, problem: str, remedy: str = "") -> PlanError:
        return PlanError(f"{problem}.", location=self.store.location, hint=f"Nothing was done. {remedy}".rstrip())


def _first_read(snapshot: Snapshot, other: Snapshot, *, in_flight: bool) -> str:
    """First step before a snapshot is skipped, where another one comes before it."""
    if stop_at(other, Skips()) is not None:
        return f"Skip snapshot {other.snapshot_id} first."
    drop = "Drop the batch in flight (--to-current, to_current= in a DAG). " if in_flight else ""
    return (
        f"{drop}Start the query with streaming-max-rows-per-micro-batch=1 and the trigger processingTime: it reads "
        f"file by file, until it stops at snapshot {snapshot.snapshot_id}; then skip that."
    )


def _readable(initial: SourceOffset | None) -> IcebergOffset | None:
    """An initial offset; None for one that Iceberg cannot read."""
    try:
        return None if initial is None else of_value(initial.view("iceberg").value)
    except (MalformedEntryError, ValueError):
        return None


def _why_not_there(history: History, snapshot_id: int) -> str:
    if history.has(snapshot_id):
        return "the current snapshot does not come from it; it was rolled back, or is of another branch or a tag"
    if history.is_whole:
        return "the table does not have it, and none of its snapshots has expired; it is of another table"
    assert history.oldest is not None
    return (
        "the table does not have it; it has expired, or is of another table. The oldest snapshot is "
        f"{history.oldest.snapshot_id} of {time_text(history.oldest.at_ms)}"
    )


def _next_text(history: History, new: IcebergOffset) -> str:
    first = next(unread(history, new), None)
    if first is None:
        return "The next batch begins with the snapshot that comes after the newest one."
    rest = (
        f", after its first {new.position:,} files" if first.snapshot_id == new.snapshot_id and new.position > 0 else ""
    )
    return f"The next batch begins with snapshot {first.text}{rest}."


def _initial_text(initial: IcebergOffset) -> str:
    if initial == START:
        return "the oldest snapshot that the table has at that start"
    return (
        f"snapshot {initial.snapshot_id}. When that expires, a reset to the current position (--to-current, "
        "to_current= in a DAG) gives it another one"
    )


def _of_stop(history: History, new: IcebergOffset) -> tuple[str, ...]:
    """A warning where the source stops later."""
    stop = next_stop(history, new)
    if stop is None:
        return ()
    option = f"streaming-skip-{stop.operation}-snapshots"
    return (
        f"The query stops at snapshot {stop.text}, unless it has the option {option}=true, or the snapshot is skipped "
        f"(--skip-snapshot {stop.snapshot_id}, skip_snapshot= in a DAG).",
    )
