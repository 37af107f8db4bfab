"""Where a source that reads a Delta table goes: the log of the table says which versions there are, and of when.

An offset of such a source is before a version: it was read up to the one before it (``DeltaSourceOffset``). A version
that the source cannot read, such as one with a delete, stops it at every start; it goes on when that one is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset, of_value
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError, PlanError, StoreError
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sources.goal import OF_ICEBERG, AbsoluteAim, Goal, SkipVersion, ToVersion
from airflow_provider_ckpt.sources.kafka.strategies import Scope, ToCurrent, ToEarliest, ToLatest, asked_ms
from airflow_provider_ckpt.sources.move import Counted, Move
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.tables.delta import Action, DeltaLog, open_table
from airflow_provider_ckpt.tables.delta_commit import ACTIONS, DeltaCommit, commit_of
from airflow_provider_ckpt.tables.delta_restores import Reverted, not_read, reverted, versions_text
from airflow_provider_ckpt.tables.read_restores import has_restore, read_restores, read_reverted
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

_COMMIT_INFO = "commitInfo"
#: What Delta calls a commit that only takes rows away.
_DELETE = "DELETE"


def aim_of(declared: Source, goal: Goal, scope: Scope, access: Access) -> DeltaAim | None:
    """Where a source of a Delta table is to go; None for partitions, and for a goal in a table of another type."""
    if scope.topics or isinstance(goal, OF_ICEBERG):
        return None
    return DeltaAim(access.open_store(declared.directory), goal)


@dataclass(frozen=True, slots=True)
class DeltaAim(AbsoluteAim):
    """Where a source that reads a Delta table is to go (:class:`~airflow_provider_ckpt.sources.move.Aim`).

    Args:
        store: The table.
        goal: Where to.
    """

    store: Store
    goal: Goal

    def move(
        self,
        source_id: str,
        committed: SourceOffset,
        planned: SourceOffset | None,
        initial: SourceOffset | None = None,
    ) -> Move:
        """Move the source to the version of the goal; see :class:`~airflow_provider_ckpt.sources.move.Aim`."""
        try:
            at = of_value(committed.view("delta").value)
        except MalformedEntryError as error:
            raise self._refused(f"source {source_id} is not a Delta source: {error.message}") from None
        table_id = str(open_table(self.store, without_files=True).metadata().id)
        if at.table_id != table_id:
            raise self._refused(
                f"the query reads the table with the id {at.table_id}, and this one has the id {table_id}"
            )
        log = DeltaLog(self.store)
        log.require_no_staged()
        if isinstance(self.goal, ToCurrent):
            self._require_there(log, at.version)
            return Move(source_id, "delta", committed, committed)
        version = self._next_version(log)
        self._require_there(log, version)
        note = f"The next batch begins with version {version}; the newest version of the table is {log.newest}."
        new = SourceOffset(DeltaOffset(table_id, version).json)
        passed = read_passed(log, at, version)
        if passed.counted is not None and not (isinstance(self.goal, SkipVersion) and passed.counted.left_out):
            notes = (*passed.notes, note)
            return Move(source_id, "delta", committed, new, passed.warnings, notes, passed.counted)
        if isinstance(self.goal, SkipVersion):
            skipped, warning = self._skipped(log, self.goal.version, at)
            notes = (f"Skipped is {skipped}.", note)
            told = (*passed.warnings, warning) if warning else passed.warnings
            return Move(source_id, "delta", committed, new, told, notes, Counted(left_out=skipped))
        warnings = passed.warnings
        if at.in_first_snapshot:
            warnings = (
                *warnings,
                "The query still reads what the table held when it began: it reads no more of that, and goes on with "
                "the versions.",
            )
        return Move(source_id, "delta", committed, new, warnings, (note,))

    def _next_version(self, log: DeltaLog) -> int:
        """The version that the next batch begins with."""
        if (at_ms := asked_ms(self.goal, now_ms())) is not None:
            return _first_at(log, at_ms)
        match self.goal:
            case ToVersion(version) | SkipVersion(version):
                return version + 1
            case ToEarliest():
                return min(log.commits)
            case ToLatest():
                return log.newest + 1
        raise self._refused(f"a Delta source has no offsets that could be counted, so it does not go to {self.text}")

    def _skipped(self, log: DeltaLog, version: int, at: DeltaOffset) -> tuple[str, str]:
        """The skipped part of a version, in words, and a warning or an empty text.

        Raises PlanError where the next batch would not begin with that version.
        """
        begins = at.version
        if at.in_first_snapshot:
            raise self._refused(
                f"the query still reads what the table held at version {begins}, and would skip the rest of that, too"
            )
        if version not in log.commits:
            raise self._refused(f"the log of the table has no version {version}")
        if begins > version:
            raise self._refused(f"the query has read version {version}: its next batch begins with version {begins}")
        for earlier in range(begins, version):
            if earlier not in log.commits:
                raise self._refused(
                    f"version {earlier}, which is to be read before, is missing in the log of the table"
                )
            if log.read(earlier, ACTIONS, commit_of).has_data:
                raise self._refused(
                    f"the next batch begins with version {begins}, so that version {earlier} would be skipped, too",
                    _instead(log, at, earlier),
                )
        commit = log.read(version, ACTIONS, commit_of)
        read = max(0, at.index + 1) if begins == version else 0
        warning = (
            f"Version {version} changes the schema or the properties of the table. A query with schemaTrackingLocation "
            "must not skip it: it would read later files with the earlier schema."
            if commit.metadata is not None
            else ""
        )
        return commit_text(version, commit, read), warning

    def _require_there(self, log: DeltaLog, version: int) -> None:
        oldest = min(log.commits)
        if not oldest <= version <= log.newest + 1:
            raise self._refused(
                f"the next batch would begin with version {version}, but the log of the table has the versions "
                f"{oldest} to {log.newest}"
            )

    def _refused(self, problem: str, remedy: str = "") -> PlanError:
        return PlanError(f"{problem}.", location=self.store.location, hint=f"Nothing was done. {remedy}".rstrip())


def _instead(log: DeltaLog, at: DeltaOffset, earlier: int) -> str:
    """Remedy for an unread version before the one that is to be skipped."""
    found = read_reverted(log, at)
    if found is None:
        return (
            f"If the query stops at version {earlier}, skip that first. If it can read it: start the query with "
            "skipChangeCommits=true until it has read the table; that leaves out every version in which rows were "
            "deleted or changed."
        )
    if found.past is not None:
        return (
            f"The RESTORE in version {found.past} reverted what the query has not read before it, so pass over all of "
            f"it: --to-version {found.past}."
        )
    return (
        f"{versions_text(found.restores).capitalize()} is a RESTORE: with an option such as skipChangeCommits the "
        "query reads rows that it has reverted. ckpt gate with the source declared says what to do."
    )


def commit_text(version: int, commit: DeltaCommit, read: int = 0) -> str:
    """A version in words: what wrote it and when, and the files that a stream has not read of it.

    Args:
        version: Its number.
        commit: Its changes.
        read: Number of its files that were read already.
    """
    files = commit.added[read:]
    known = [file.rows for file in files if file.rows is not None]
    rows = f"{sum(known):,} rows" if files and len(known) == len(files) else ""
    stored = f"{len(files):,} {'more ' if read else ''}data files"
    removes = f"takes the rows of {len(commit.removed or ()):,} files away"
    what = commit.operation or "a commit that does not say what wrote it"
    when = "" if commit.at_ms is None else f" of {time_text(commit.at_ms)}"
    if commit.operation == _DELETE and commit.removed:  # its files have rows that stay, and that the table had before
        keeps = f", and keeps the {rows or 'other rows'} that stay in {stored}" if files else ""
        does = f"has no new rows: it {removes}{keeps}"
    else:
        adds = f"adds {stored} with {rows}" if rows else f"adds {stored}"
        does = f"{adds} and {removes}" if commit.removed else adds
    return f"version {version} ({what}{when}), which {does}"


def _first_at(log: DeltaLog, at_ms: int) -> int:
    """The first version that is not older than a time, by the earlier of its times; the one after all without any.

    A later version with an earlier time (clocks differ, and a copy of the table has other times) does not count: Delta
    moves such a time on, to one millisecond after the version before (``monotonizeCommitTimestamps``).
    """
    last_ms = 0
    for version in sorted(log.commits):
        file_ms = log.commits[version].modified_ms
        times_ms = [] if file_ms is None else [file_ms]
        if file_ms is None or file_ms >= at_ms:  # otherwise it is older, whatever the commit says
            times_ms += log.read(version, (_COMMIT_INFO,), _times)
        last_ms = max(min(times_ms, default=at_ms), last_ms + 1)
        if last_ms >= at_ms:
            return version
    return log.newest + 1


def _times(actions: Iterable[Action]) -> list[int]:
    """Time at which a commit was made, epoch milliseconds, by the clock of its writer."""
    infos = [parse_json(line)[_COMMIT_INFO] for _, line in actions]
    times = [info.get(key) for info in infos for key in ("inCommitTimestamp", "timestamp")]
    return [int(time) for time in times if time is not None]


@dataclass(frozen=True, slots=True)
class Passed:
    """Warnings and notes about a move.

    Args:
        warnings: Sentences that the person who approves it should know.
        notes: Sentences on what was reverted.
        counted: Data that is left out; None where the move passes no RESTORE, or what it reverted is not known.
    """

    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    counted: Counted | None = None


def read_passed(log: DeltaLog, at: DeltaOffset, version: int) -> Passed:
    """Read the RESTOREs of the table and judge a move by them.

    Args:
        log: The table.
        at: Where the source is.
        version: The version that its next batch is to begin with.

    Raises:
        StoreError: A commit cannot be read.
    """
    first = min(at.version, version)
    try:
        if not has_restore(log, first):
            return Passed()
        commits, restores = read_restores(log, first)
    except StoreError:
        if not log.is_read_out:
            raise
        return Passed(("The log is too long to be read for RESTOREs, so what they reverted is not known.",))
    met = reverted(DeltaOffset(at.table_id, version), commits, restores, log.newest)
    warnings = () if met is None else _of_met(met)
    passed = reverted(at, commits, restores, log.newest)
    if passed is None or passed.restores[0] >= version:
        return Passed(warnings)
    if not passed.known or at.in_first_snapshot:
        which = versions_text(tuple(made for made in passed.restores if made < version))
        told = f"{which.capitalize()} is a RESTORE: what the query has not read before it may not be in the table."
        return Passed((told, *warnings))
    left = tuple(not_read(at, commits, restores, version - 1))
    made = tuple(made for made in passed.restores if made < version)
    gone = tuple(item for item in passed.unread if item < made[-1])
    notes = (f"Not read: {versions_text(gone)}, reverted by the RESTORE in {versions_text(made)}.",) if gone else ()
    return Passed((*_of_read(passed), *warnings), notes, Counted(left_out=versions_text(left) if left else ""))


def _of_read(passed: Reverted) -> tuple[str, ...]:
    """Warnings about rows that the sink and the state hold and the table does not."""
    if not passed.read:
        return ()
    return (
        f"The query has read {versions_text(passed.read)}, which the RESTORE in {versions_text(passed.restores)} has "
        "reverted: its sink and its state keep rows that the table does not hold any more. If they are not to stay, "
        f"first roll the query back to a batch that ended before version {passed.read[0]}.",
    )


def _of_met(met: Reverted) -> tuple[str, ...]:
    """Warnings about versions that the query reads, or stops at, after the move."""
    made = versions_text(met.restores)
    if met.unread:
        past = "" if met.past is None else f" To pass over both, move it past version {met.past}."
        return (
            f"The next batches would read {versions_text(met.unread)}, reverted by the RESTORE in {made}, or stop at "
            f"that RESTORE: the table does not hold those rows any more.{past}",
        )
    return (f"The next batches come to the RESTORE in {made}, at which a Delta source stops.",)
