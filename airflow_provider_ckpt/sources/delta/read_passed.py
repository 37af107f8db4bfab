"""The meaning of a move of a Delta source where the table was restored."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.sources.move import Counted
from airflow_provider_ckpt.tables.delta import DeltaLog
from airflow_provider_ckpt.tables.delta_restores import Reverted, not_read, reverted, versions_text
from airflow_provider_ckpt.tables.read_restores import has_restore, read_restores


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
