"""Findings on a Delta source whose table was restored: rows that the query would read, or has read, are not in it.

The options that let a stream go past a commit that removes rows (``skipChangeCommits``, ``ignoreDeletes``) are no
remedy here: with them the query reads the reverted versions first, without an error. It has to pass over both.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from airflow_provider_ckpt.checks.findings import Finding, Severity, an_error
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offsets.delta import BASE_INDEX
from airflow_provider_ckpt.sources.delta.loss import CHANGES, ONLY_DELETES, DeltaTable, Stop, place_of
from airflow_provider_ckpt.sources.table_loss import TableAtRestart
from airflow_provider_ckpt.tables.delta_restores import Reverted, versions_text

UNREAD, READ = "CKPT267", "CKPT268"
_SINK = "--sink TYPE[:URI]"


def concerns(table: DeltaTable, stop: Stop) -> bool:
    """True if a source stops at a RESTORE that it has not read, or at a version that such a RESTORE has reverted."""
    found = table.reverted
    if found is None or stop.is_past or stop.condition not in (ONLY_DELETES, CHANGES):
        return False
    return stop.version in (*found.restores, *found.unread)


def findings_of_restores(at: TableAtRestart, table: DeltaTable, stops: Sequence[Stop]) -> Iterator[Finding]:
    """Findings on RESTOREs: CKPT267 where reverted rows are about to be read, CKPT268 where they were read.

    ``stops`` are the stops of the source for which :func:`concerns` is true, in the order in which Delta meets them.
    """
    found = table.reverted
    if found is None or at.sets("readchangefeed"):
        return
    condition = stops[0].condition if stops else None
    if not found.known:
        if condition is not None:
            yield _of_unknown(at, found, condition)
        return
    unread = (
        found.unread
        if condition is not None
        else tuple(version for version in found.unread if _is_read(at, table, version))
    )
    if unread:
        yield _of_unread(at, table, found, unread, condition)
    elif condition is not None and not found.read:
        yield _of_restore_alone(at, table, found, stops[0])
    if found.read:
        yield _of_read(at, found, None if unread else condition)


def _is_read(at: TableAtRestart, table: DeltaTable, version: int) -> bool:
    """True if a source whose options let it pass reads the rows of a version that was reverted."""
    commit = table.commits.get(version)
    if commit is None:
        return False
    return bool(commit.added) and (at.sets("ignorechanges") or not commit.removed)


def _of_unread(
    at: TableAtRestart, table: DeltaTable, found: Reverted, unread: tuple[int, ...], condition: str | None
) -> Finding:
    """CKPT267: the query would read rows that the table does not hold any more."""
    does = (
        f"source {at.source_id} stops there"
        if condition is not None
        else f"with its options source {at.source_id} goes on without an error and reads them"
    )
    message = (
        f"{versions_text(unread)} of the Delta table {_table(at)}, which source {at.source_id} has not read, "
        f"{_were(unread)} reverted by the RESTORE in {versions_text(found.restores)}: the query would read rows that "
        f"the table does not hold any more, and {does}"
    )
    hint, commands = _way_past(at, table, found)
    return _finding(UNREAD, at, message, hint, commands, condition)


def _of_restore_alone(at: TableAtRestart, table: DeltaTable, found: Reverted, stop: Stop) -> Finding:
    """CKPT267: nothing of what the source reads was reverted, and it stops at the RESTORE all the same."""
    message = (
        f"version {stop.version} of the Delta table {_table(at)} is a RESTORE, which takes files away, and source "
        f"{at.source_id} stops there"
    )
    hint, commands = _way_past(at, table, found, never="")
    return _finding(UNREAD, at, message, hint, commands, stop.condition)


def _of_unknown(at: TableAtRestart, found: Reverted, condition: str) -> Finding:
    """CKPT267: the log does not tell how far back a RESTORE went."""
    message = (
        f"{versions_text(found.restores)} of the Delta table {_table(at)} is a RESTORE, at which source {at.source_id} "
        "stops, and its log does not tell to which version the table went back"
    )
    hint = (
        "Do not pass it with an option such as skipChangeCommits: the query would also read the versions that it "
        "reverted. DESCRIBE HISTORY may tell the version. The command passes over the RESTORE and everything unread "
        "before it; copy to the sink what the table still holds of that."
    )
    return _finding(UNREAD, at, message, hint, (_reset(at, found.last),), condition)


def _of_read(at: TableAtRestart, found: Reverted, condition: str | None) -> Finding:
    """CKPT268: the query has read rows that the table does not hold any more."""
    first = found.read[0]
    message = (
        f"{versions_text(found.read)} of the Delta table {_table(at)}, which source {at.source_id} has read, "
        f"{_were(found.read)} reverted by the RESTORE in {versions_text(found.restores)}: the sink and the state of "
        "the query hold rows that the table does not hold any more"
    )
    past = found.past if found.past is not None else found.last
    if at.back_to is not None:
        hint = (
            f"Roll the query back to batch {at.back_to}, which ended before version {first}, with the rows of its "
            f"sink; then pass over everything up to version {past}. To keep the rows, do the second alone."
        )
        commands: tuple[str, ...] = (rollback_command(at, at.back_to), _reset(at, past))
    else:
        hint = (
            f"No batch that ended before version {first} can be restored from this checkpoint: roll back to a backup "
            "that is older, or take the rows out of the sink yourself; then pass over the RESTORE."
        )
        commands = (_reset(at, past),)
    name = layout.offset_entry(at.batch_id)
    severity: Severity = "warning" if condition is None else "error"
    return Finding(READ, severity, message, at.batch_id, name, hint, spark_error=condition, commands=commands)


_NEVER = "Do not deploy with skipChangeCommits, ignoreDeletes or ignoreChanges: the query reads the reverted rows then."


def _way_past(
    at: TableAtRestart, table: DeltaTable, found: Reverted, never: str = _NEVER
) -> tuple[str, tuple[str, ...]]:
    """Remedy and its commands: a reset past the RESTORE, when all that the table holds before it was read."""
    place = place_of(at)
    if found.past is not None:
        hint = f"Move the source past version {found.past}: the query has read all that the table still holds. {never}"
        return hint.rstrip(), (_reset(at, found.past),)
    if place.in_first_snapshot:
        hint = (
            f"The query still reads what the table held at version {place.version}, and no reset leaves that exactly. "
            f"Begin anew with a new checkpoint and a new output: it reads what the table holds now. {never}"
        )
        return hint, ()
    kept, first = found.kept, found.restores[0]
    if kept[0] < place.version:
        hint = (
            f"The RESTORE in version {first} brought back {versions_text(kept)}, which the query has not read and no "
            f"later version adds: copy those rows to the sink; then move the source past version {first}. {never}"
        )
        return hint, (_reset(at, first),)
    changing = [version for version in kept if table.commits[version].removed]
    if changing:
        hint = (
            f"{_begun(kept)} unread and not reverted. First skip version {changing[0]}, at which the source stops as "
            f"well; then ask the gate again. {never}"
        )
        return hint, ()
    files = sum(len(table.commits[version].added) for version in kept) - max(0, place.index + 1)
    unread = f"{_begun(kept)} unread and not reverted"
    if at.planned is not None:
        return f"{unread}. {_with_one_in_flight(at, kept)} {never}", ()
    hint = (
        f"{unread}: the table still holds that. First start the query with maxFilesPerTrigger={files} and the trigger "
        f"processingTime='1 day': its first batch reads exactly that. Stop it after that batch; then move the source "
        f"past version {first}. {never}"
    )
    return hint, (_reset(at, first),)


def _with_one_in_flight(at: TableAtRestart, kept: tuple[int, ...]) -> str:
    """First step for a batch in flight: it reads what the table still holds, or reverted rows as well."""
    end = place_of(at, planned=True)
    if (end.version, end.index) <= (kept[-1] + 1, BASE_INDEX):
        return (
            "Start the query with the trigger processingTime='1 day': it commits the batch in flight. Stop it after "
            "that batch; then ask the gate again."
        )
    return (
        f"The batch in flight reads reverted versions: drop it (ckpt rollback {shlex.quote(at.checkpoint)} --to-batch "
        f"{at.batch_id}), and then ask the gate again."
    )


def _finding(
    code: str, at: TableAtRestart, message: str, hint: str, commands: tuple[str, ...], condition: str | None
) -> Finding:
    name = layout.offset_entry(at.batch_id)
    return an_error(code, message, at.batch_id, name, hint, spark_error=condition, commands=commands)


def _were(versions: tuple[int, ...]) -> str:
    return "was" if len(versions) == 1 else "were"


def _begun(versions: tuple[int, ...]) -> str:
    """The beginning of a sentence about versions."""
    return f"{versions_text(versions).capitalize()} {'is' if len(versions) == 1 else 'are'}"


def _table(at: TableAtRestart) -> str:
    return at.shown_place


def _reset(at: TableAtRestart, version: int) -> str:
    return f"ckpt reset-offsets {shlex.quote(at.checkpoint)} {at.shown_source} --to-version {version} {_SINK}"


def rollback_command(at: TableAtRestart, batch_id: int) -> str:
    """The command that rolls the query back."""
    return f"ckpt rollback {shlex.quote(at.checkpoint)} --to-batch {batch_id} {_SINK}"
