"""Delta tables: the newest version that holds data for a stream.

A source that has processed version v is before version v+1 (``DeltaSourceOffset`` with the base index). Versions
that hold no data for a stream (OPTIMIZE, properties, columns) are stepped over from the end: Delta 4.4 writes an empty
batch for them, a Delta that writes none need not be waited for. Deletes are data: a change feed has them.

At a time, the end is the newest version that is not later, by the earlier of the times in the commit and of its file.

Late or never: a version that the query leaves out by its own options (``skipChangeCommits``, ``ignoreDeletes``) with a
Delta that writes no batch for it; the next version with data ends the wait. Writers whose commits only a catalog knows
are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError, StoreError
from airflow_provider_ckpt.sources.table_loss import Unread
from airflow_provider_ckpt.tables.delta import Action, DeltaLog, open_table
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.waiting import Condition, OffsetsReached

if TYPE_CHECKING:
    from airflow_provider_ckpt.query.source import Source
    from airflow_provider_ckpt.sources.open_end import Access

#: Actions that are read; of the files of a commit, the first that is data is enough.
_READ = ("commitInfo", "add", "remove", "cdc")


@dataclass(frozen=True, slots=True)
class _Commit:
    """Times and sizes that one version of the log records.

    ``times_ms`` are epoch milliseconds by its writer's clock; ``files`` and their ``size`` in bytes are counted only
    where it is asked for.
    """

    has_data: bool
    times_ms: tuple[int, ...]
    files: int = 0
    size: int = 0


class End:
    """The end of one Delta table."""

    def __init__(self, declared: Source, source_id: str, access: Access) -> None:
        self.source_id = source_id
        self.store = access.open_store(declared.directory)
        self._id = ""

    def end_at(self, at_ms: int | None, committed: SourceOffset | None, slack: int = 0) -> Condition:
        """Condition for the end at a time; see :meth:`~airflow_provider_ckpt.sources.open_end.SourceEnd.end_at`."""
        at = self._position_in_table(committed)
        end = self._next_version(at_ms, at)
        if end is None and committed is not None:
            text = committed.json
        else:
            assert end is not None  # as the query has read nothing
            text = DeltaOffset(self._table_id(), end).json
        return OffsetsReached({self.source_id: text}, {self.source_id: "delta"}, slack)

    def unread_now(self, committed: SourceOffset | None) -> Unread:
        """The versions that hold data for a stream and were not read, with the files that they have added.

        Raises as :meth:`end_at`; StoreError also for versions that the log of the table does not have any more.
        """
        at = self._position_in_table(committed)
        log = self._log(at)
        start = min(log.commits) if at is None else at["reservoirVersion"]
        first_snapshot = bool(at and at.get("isStartingVersion"))
        versions = sorted(version for version in log.commits if version >= start + first_snapshot)
        if versions and len(versions) != versions[-1] - start - first_snapshot + 1:
            raise StoreError(f"versions from {start} on are missing in its log", location=self.store.location)
        found = []
        for version in versions:
            index = -1 if at is None or version != start else max(-1, at["index"])
            added = log.read(version, _READ, partial(_files_after, index))
            if added.has_data:
                found.append((added, min(added.times_ms, default=log.commits[version].modified_ms)))
        note = (
            "the query still reads what the table held when it began, which is not counted" if first_snapshot else None
        )
        files, size = sum(added.files for added, _ in found), sum(added.size for added, _ in found)
        oldest_ms = found[0][1] if found else None
        return Unread("versions", len(found), files, size, oldest_ms, note, is_partial=first_snapshot)

    def _position_in_table(self, committed: SourceOffset | None) -> dict[str, Any] | None:
        """The position of the query. Raises StoreError when that is one in another table."""
        table_id = self._table_id()
        at = _position(committed, self.source_id)
        if at and at["reservoirId"] != table_id:
            raise StoreError(
                f"the query reads the table with the id {at['reservoirId']}, but this table has the id "
                f"{table_id}: it was created again, or is not the one that the query reads",
                location=self.store.location,
            )
        return at

    def _log(self, at: Mapping[str, Any] | None) -> DeltaLog:
        """The log of the table. Raises StoreError when it ends before the position of the query, or is not whole."""
        log = DeltaLog(self.store)
        log.require_no_staged()
        if at and at["reservoirVersion"] > log.newest + 1:
            raise StoreError(
                f"the query is at version {at['reservoirVersion']}, but the newest version is {log.newest}: the "
                "table was created again, or has lost versions",
                location=self.store.location,
            )
        return log

    def _next_version(self, at_ms: int | None, at: Mapping[str, Any] | None) -> int | None:
        """The version that the query is before when it has read everything; None when it has."""
        log = self._log(at)
        oldest = min(log.commits)
        start = oldest if at is None else max(oldest, at["reservoirVersion"])
        first_snapshot = bool(at and at.get("isStartingVersion"))
        in_time = at_ms is None
        for version in range(log.newest, start - (not first_snapshot), -1):
            if version not in log.commits:
                raise StoreError(f"version {version} is missing in its log", location=self.store.location)
            commit = log.read(version, _READ, _tell)
            file_ms = log.commits[version].modified_ms
            times_ms = commit.times_ms if file_ms is None else (*commit.times_ms, file_ms)
            in_time = in_time or at_ms is None or min(times_ms, default=at_ms) <= at_ms
            if in_time and commit.has_data:
                return version + 1
        if first_snapshot:
            return start + 1
        return start if at is None or at["reservoirVersion"] < oldest else None

    def _table_id(self) -> str:
        """Asked for once: it takes a load of the table."""
        self._id = self._id or str(open_table(self.store, without_files=True).metadata().id)
        return self._id


def _tell(actions: Iterable[Action]) -> _Commit:
    has_data = False
    info: dict[str, Any] = {}
    for kind, line in actions:
        if has_data and kind != "commitInfo":
            continue
        action = parse_json(line)
        info = action.get("commitInfo", info)
        files = (action.get("add"), action.get("remove"))
        has_data = has_data or "cdc" in action or any(file and file["dataChange"] for file in files)
    times = (info.get("inCommitTimestamp"), info.get("timestamp"))
    return _Commit(has_data, tuple(int(time) for time in times if time is not None))


def _files_after(index: int, actions: Iterable[Action]) -> _Commit:
    """A commit with the files that it adds after an index: a source numbers the files of data in their order."""
    lines = list(actions)
    told = _tell(lines)
    added = [parse_json(line)["add"] for kind, line in lines if kind == "add"]
    sizes = [int(file["size"]) for file in added if file["dataChange"]][index + 1 :]
    has_data = told.has_data and (index < 0 or bool(sizes))
    return _Commit(has_data, told.times_ms, len(sizes), sum(sizes))


def _position(committed: SourceOffset | None, source_id: str) -> dict[str, Any] | None:
    if committed is None:
        return None
    try:
        position: dict[str, Any] = committed.view("delta").value
    except MalformedEntryError as error:
        raise StoreError(f"source {source_id} is not a Delta source: {error.message}") from error
    return position
