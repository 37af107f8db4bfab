"""Reading the RESTOREs of a Delta log, and what they have reverted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.tables.delta import Action, DeltaLog
from airflow_provider_ckpt.tables.delta_commit import ACTIONS, RESTORE, DeltaCommit, commit_of
from airflow_provider_ckpt.tables.delta_restores import Restores, Reverted, reverted
from airflow_provider_ckpt.untrusted.bounded_json import parse_json

_FILES = ("add", "remove")
#: A data file of a version: its path, and which of its rows are deleted.
_File = tuple[str, str]


def read_reverted(log: DeltaLog, position: DeltaOffset, known: Mapping[int, DeltaCommit] = {}) -> Reverted | None:
    """Read and judge the RESTOREs that a query has not read; None when there is none.

    Args:
        log: The table.
        position: The position of the query.
        known: Commits that were read already.

    Raises:
        StoreError: A commit cannot be read, or more than DELTA_LOG_BYTES of the log would be read.
    """
    commits, restores = read_restores(log, position.version, known)
    return reverted(position, commits, restores, log.newest)


def read_restores(
    log: DeltaLog, first: int, known: Mapping[int, DeltaCommit] = {}
) -> tuple[dict[int, DeltaCommit], Restores]:
    """The commits of a log from a version on, and before it as far as a RESTORE goes back; and the RESTOREs among them.

    Only commits that follow each other without a gap up to the newest one are read: what a gap hides is not known.
    Raises as :func:`read_reverted`.
    """
    commits: dict[int, DeltaCommit] = {}
    targets: dict[int, int | None] = {}
    lowest, at = first, log.newest
    while at >= lowest and at in log.commits:
        commits[at] = known[at] if at in known else log.read(at, ACTIONS, commit_of)
        if commits[at].operation == RESTORE:
            target = _target(log, at, commits[at])
            targets[at] = target
            lowest = min(lowest, at if target is None else target + 1)
        at -= 1
    return commits, Restores(targets)


def has_restore(log: DeltaLog, first: int) -> bool:
    """True if a version from ``first`` on is a RESTORE; reads only the commitInfo of each. Raises as read_reverted."""
    later = (version for version in sorted(log.commits, reverse=True) if version >= first)
    return any(log.read(version, ("commitInfo",), _is_restore) for version in later)


def _is_restore(actions: Iterable[Action]) -> bool:
    return any(parse_json(line)[kind].get("operation") == RESTORE for kind, line in islice(actions, 1))


def _target(log: DeltaLog, made: int, commit: DeltaCommit) -> int | None:
    """The version that a RESTORE went back to; None when the log does not tell."""
    named = commit.restored_to
    if named is not None:
        return named if named < made else None
    return _by_content(log, made)


def _by_content(log: DeltaLog, made: int) -> int | None:
    """The newest version before a RESTORE at which the table had exactly the files that it has after it.

    A RESTORE to a time does not say which version that was.
    """
    lacking, extra = log.read(made, _FILES, _files)  # what the version before it lacks, and has beside it
    at = made - 1
    while lacking or extra:
        if at not in log.commits:
            return None
        added, removed = log.read(at, _FILES, _files)
        for file in added - removed:
            _toggle(file, extra, lacking)
        for file in removed - added:
            _toggle(file, lacking, extra)
        at -= 1
    return at


def _toggle(file: _File, one: set[_File], other: set[_File]) -> None:
    """Take a file out of a set, or put it into the other one."""
    if file in one:
        one.remove(file)
    else:
        other.add(file)


def _files(actions: Iterable[Action]) -> tuple[set[_File], set[_File]]:
    """The files that a commit adds, and those that it removes."""
    found: dict[str, set[_File]] = {kind: set() for kind in _FILES}
    for kind, line in actions:
        file = parse_json(line)[kind]
        vector = file.get("deletionVector") or {}
        found[kind].add((str(file["path"]), f"{vector.get('pathOrInlineDv', '')}@{vector.get('offset', '')}"))
    return found["add"], found["remove"]
