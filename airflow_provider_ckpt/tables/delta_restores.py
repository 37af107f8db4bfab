"""Versions that RESTORE has reverted in a Delta table, and their meaning for a query that reads it as a stream.

The log keeps the versions that a RESTORE reverts, and a stream reads the log: versions whose rows the table does not
hold any more, and after them the RESTORE, which removes files and adds earlier ones again. A stream stops there, or
with an option such as ``skipChangeCommits`` reads the reverted rows without an error. It is right only when it reads
neither the reverted versions nor the RESTORE.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.tables.delta_commit import DeltaCommit


@dataclass(frozen=True, slots=True)
class Restores:
    """The RESTOREs of a log.

    Args:
        targets: The version that the table went back to, by the version that the RESTORE made; None where the log does
            not tell.
    """

    targets: Mapping[int, int | None]

    def held(self, version: int) -> tuple[range, ...]:
        """The versions whose changes the table had at a version, newest first.

        Raises:
            LookupError: The log does not tell.
        """
        spans = []
        at: int | None = version
        while at is not None and at >= 0:
            restore = max((made for made in self.targets if made <= at), default=-1)
            spans.append(range(restore + 1, at + 1))
            at = self.targets[restore] if restore >= 0 else -1
        if at is None:
            raise LookupError("a RESTORE does not say which version it went back to")
        return tuple(spans)

    def holds(self, at: int, version: int) -> bool:
        """True if the table had the changes of a version when it was at another one. Raises as :meth:`held`."""
        return any(version in span for span in self.held(at))


@dataclass(frozen=True, slots=True)
class Reverted:
    """Meaning of the RESTOREs that a query has not read; versions of the table, ascending.

    Args:
        restores: The RESTOREs.
        unread: Versions with data that the query has not read, and that were reverted.
        read: Versions with data that it has read, and that were reverted since: it has rows that the table has not.
        past: The RESTORE after which the query goes on with exactly the rows that the table holds, if it skips
            everything up to there; None when there is none.
        kept: Unread versions before the first RESTORE whose data the table still has; empty when ``past`` is set.
        known: True if the log tells to which version each of these RESTOREs went back; if not, nothing else is known.
    """

    restores: tuple[int, ...]
    unread: tuple[int, ...] = ()
    read: tuple[int, ...] = ()
    past: int | None = None
    kept: tuple[int, ...] = ()
    known: bool = True

    @property
    def last(self) -> int:
        """The newest RESTORE."""
        return self.restores[-1]


def reverted(
    position: DeltaOffset, commits: Mapping[int, DeltaCommit], restores: Restores, newest: int
) -> Reverted | None:
    """Judge the RESTOREs that a query has not read; None when it has no RESTORE to read.

    Args:
        position: The position of the query.
        commits: The versions of the table, from the oldest one on that matters.
        restores: The RESTOREs among them.
        newest: The newest version of the table.
    """
    ahead = tuple(sorted(made for made in restores.targets if position.version <= made <= newest))
    if not ahead:
        return None
    if sum(version >= position.version for version in commits) <= newest - position.version:  # some are missing
        return Reverted(ahead, known=False)
    try:
        return _reverted(position, commits, restores, ahead, newest)
    except LookupError:
        return Reverted(ahead, known=False)


def _reverted(
    position: DeltaOffset, commits: Mapping[int, DeltaCommit], restores: Restores, ahead: tuple[int, ...], newest: int
) -> Reverted:
    at = position.version
    data = _with_data(commits, restores)
    now, then = restores.held(newest), restores.held(_read_up_to(position))
    read = [version for version in data if _in(then, version) and not _in(now, version)]
    if position.index >= 0 and at in data and not position.in_first_snapshot and not _in(now, at):
        read.append(at)
    unread = [version for version in _unread(position, commits, data) if not _in(now, version)]
    missing = {made: tuple(not_read(position, commits, restores, made)) for made in ahead}
    past = next((made for made in reversed(ahead) if not missing[made]), None)
    if position.in_first_snapshot:  # the rest of it is unread, and was kept or not
        past = None
    kept = () if past is not None else missing[ahead[0]]
    return Reverted(ahead, tuple(unread), tuple(sorted({*read})), past, kept)


def not_read(position: DeltaOffset, commits: Mapping[int, DeltaCommit], restores: Restores, made: int) -> Iterator[int]:
    """The versions whose data the table has at a version, and of which the query has not read everything.

    Raises LookupError where the log does not tell.
    """
    held, then = restores.held(made), restores.held(_read_up_to(position))
    data = _with_data(commits, restores)
    ahead = {*_unread(position, commits, data)}
    for version in data:
        is_unread = version in ahead or (version < position.version and not _in(then, version))
        if version <= made and is_unread and _in(held, version):
            yield version


def _read_up_to(position: DeltaOffset) -> int:
    """The newest version that was read whole."""
    return position.version if position.in_first_snapshot else position.version - 1


def _with_data(commits: Mapping[int, DeltaCommit], restores: Restores) -> list[int]:
    """The versions with data of their own."""
    return [
        version for version, commit in sorted(commits.items()) if commit.has_data and version not in restores.targets
    ]


def _unread(position: DeltaOffset, commits: Mapping[int, DeltaCommit], data: Sequence[int]) -> Iterator[int]:
    """The versions with data of which the query has not read everything."""
    begins = position.version + (1 if position.in_first_snapshot else 0)
    for version in data:
        files = len(commits[version].added) if version == position.version and position.index >= 0 else 0
        if version >= begins and not (files and position.index + 1 >= files):
            yield version


def _in(spans: tuple[range, ...], version: int) -> bool:
    return any(version in span for span in spans)


def versions_text(versions: tuple[int, ...]) -> str:
    """Versions for people: ``version 3``, ``versions 3 to 5``, ``versions 3, 5 and 4 more``."""
    if len(versions) == 1:
        return f"version {versions[0]}"
    if versions == tuple(range(versions[0], versions[-1] + 1)):
        return f"versions {versions[0]} to {versions[-1]}"
    if len(versions) <= 5:
        return f"versions {', '.join(map(str, versions[:-1]))} and {versions[-1]}"
    return f"versions {', '.join(map(str, versions[:5]))} and {len(versions) - 5:,} more"
