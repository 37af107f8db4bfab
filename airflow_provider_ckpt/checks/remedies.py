"""Remedies for a finding: what to do in words, and the commands that do it.

A rule chooses by what it has found, and passes it on: ``Finding(…, **from_backup(view, "the entry"))``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import TypedDict

from airflow_provider_ckpt.checkpoint.view import CheckpointView, newest_before
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.codec import empty_lines

#: Without the sink of the query, a plan is refused when it is carried out.
_SINK = "--sink TYPE[:URI]"
#: What brings a whole checkpoint back, beside the one that is lost.
RESTORE_COMMAND = f"ckpt restore ROOT ID --to NEW_LOCATION {_SINK}"
_TARGET = re.compile(r"^ckpt rollback .* --to-batch (\d+) ")
NEW_LOCATION = "start the query with a new checkpoint location"
OR_NEW_LOCATION = f"or {NEW_LOCATION}."


class Remedy(TypedDict):
    """Remedy for a finding: the fields of the finding that hold it."""

    hint: str
    commands: tuple[str, ...]


def from_backup(view: CheckpointView, what: str, *, why: str = "", otherwise: str = "") -> Remedy:
    """Take ``what`` is lost or damaged from a backup, in place or at a new location.

    Args:
        view: The checkpoint.
        what: The object that is taken, such as ``the entry``.
        why: A sentence before.
        otherwise: The alternative.
    """
    hint = f"Restore {what} from a backup (ckpt backups ROOT lists the IDs)" + (
        f", or {otherwise}." if otherwise else "."
    )
    return Remedy(hint=f"{why} {hint}".strip(), commands=(_rollback(view, "--to-backup ROOT/ID"), RESTORE_COMMAND))


def from_backup_or_before(view: CheckpointView, what: str, batch_id: int | None, *, why: str = "") -> Remedy:
    """Take ``what`` from a backup, or roll back to a batch before ``batch_id``; None is a batch that is not known."""
    otherwise, back = _back(view, batch_id)
    remedy = from_backup(view, what, why=why, otherwise=otherwise)
    in_place, elsewhere = remedy["commands"]
    return Remedy(hint=remedy["hint"], commands=(in_place, *back, elsewhere))


def back_before(view: CheckpointView, batch_id: int, *, why: str = "") -> Remedy:
    """Roll back to the batch before ``batch_id``, which is not to be kept; ``why`` is a sentence before."""
    what, back = _back(view, batch_id)
    if not back:
        return from_backup_or_before(view, "the checkpoint", batch_id, why=why)
    return Remedy(hint=f"{why} {what[0].upper()}{what[1:]}.".strip(), commands=back)


def back_to(view: CheckpointView, batch_id: int, *, why: str) -> Remedy:
    """Roll back to ``batch_id``, which drops all later batches; the sentence ``why`` comes before the advice."""
    if (batch := view.restorable.get(batch_id, batch_id)) is None:
        return or_salvage(view, from_backup(view, "the checkpoint", why=f"{why} No batch can be rolled back to."))
    return Remedy(hint=f"{why} Roll back to batch {batch}.", commands=(_rollback(view, f"--to-batch {batch}"),))


def finish_repartition(view: CheckpointView, batch_id: int, partitions: int) -> Remedy:
    """Finish the repartition that batch ``batch_id`` is, or take it back."""
    why = f"Repartition again with the same number, {partitions}, to finish it. Or drop it:"
    remedy = back_before(view, batch_id, why=why)
    finish = f"ckpt repartition {shlex.quote(view.location)} --partitions {partitions} {_SINK}"
    return Remedy(hint=remedy["hint"], commands=(finish, *remedy["commands"]))


def repartition(view: CheckpointView, partitions: int, *, otherwise: str) -> Remedy:
    """Write the state anew in this number of partitions; ``otherwise`` is what can be done instead."""
    command = f"ckpt repartition {shlex.quote(view.location)} --partitions {partitions} {_SINK}"
    return Remedy(hint=f"Repartition the state to {partitions} partitions. Or {otherwise}", commands=(command,))


def or_salvage(view: CheckpointView, remedy: Remedy) -> Remedy:
    """The same, and what is left when other files are torn as well, so that no batch can be rolled back to."""
    hint = f"{remedy['hint']} If other files are torn too, ckpt salvage finds the newest batch that can be saved."
    in_place = tuple(command for command in remedy["commands"] if command != RESTORE_COMMAND)
    elsewhere = remedy["commands"][len(in_place) :]
    return Remedy(hint=hint, commands=(*in_place, f"ckpt salvage {shlex.quote(view.location)} {_SINK}", *elsewhere))


def without_empty_lines(view: CheckpointView) -> Remedy:
    """Write an entry again without its empty lines."""
    return Remedy(hint=empty_lines.REMEDY, commands=(f"ckpt salvage {shlex.quote(view.location)} {_SINK}",))


def complete_sink_log(view: CheckpointView, sink: str, *, why: str) -> Remedy:
    """Write the entries that the log of the file sink at this location lacks; ``why`` is a sentence before."""
    command = f"ckpt repair {shlex.quote(view.location)} --sink {shlex.quote(f'file:{sink}')}"
    return Remedy(hint=f"{why} Complete the log.", commands=(command,))


def trim_sink_log(view: CheckpointView, sink: str) -> Remedy:
    """Take the batches that Spark will run out of the log of the file sink at this location."""
    if (batch := _newest_target(view)) is None:
        hint = f"Give the query another directory to write to, and {NEW_LOCATION}: no batch can be rolled back to."
        return Remedy(hint=hint, commands=())
    declared = f"--sink {shlex.quote(f'file:{sink}')} --trim-sink-log"
    command = f"ckpt rollback {shlex.quote(view.location)} --to-batch {batch} {declared}"
    return Remedy(hint="Trim the sink log, with a rollback to the newest batch.", commands=(command,))


def restore_table(view: CheckpointView) -> Remedy:
    """Take the batches that Spark will run out of the table that the query writes."""
    hint = "Restore the table to the version before that batch: the plan of ckpt rollback with --sink prints how."
    batch = _newest_target(view)
    return Remedy(hint=hint, commands=() if batch is None else (_rollback(view, f"--to-batch {batch}"),))


def listed(names: Iterable[str]) -> str:
    """Names with commas."""
    return ", ".join(names) or "none"


def _newest_target(view: CheckpointView) -> int | None:
    """The newest batch that a rollback can go to."""
    newest = view.latest_committed
    return None if newest is None else view.restorable.get(newest, newest)


def whole_batch_before(view: CheckpointView, batch_id: int) -> int | None:
    """The newest batch before ``batch_id`` that a rollback can go to.

    As far as that was not found out: the newest one whose entries are whole, and the one that a restart reads beside
    them.
    """
    batch = newest_before(view.whole, batch_id)
    return None if batch is None else view.restorable.get(batch, batch)


def targets_of(findings: Iterable[Finding]) -> frozenset[int]:
    """The batches that findings advise to roll back to."""
    commands = (command for finding in findings for command in finding.commands)
    return frozenset(int(match[1]) for command in commands if (match := _TARGET.search(command)))


def _back(view: CheckpointView, batch_id: int | None) -> tuple[str, tuple[str, ...]]:
    """Where to roll back to, in words and as a command; no command when there is no batch."""
    if batch_id is None and view.committed:
        return "roll back to a batch before it", (_rollback(view, "--to-batch N"),)
    batch = None if batch_id is None else whole_batch_before(view, batch_id)
    if batch is None:
        return f"{NEW_LOCATION}: there is no batch before it that can be rolled back to", ()
    return f"roll back to batch {batch}", (_rollback(view, f"--to-batch {batch}"),)


def _rollback(view: CheckpointView, target: str) -> str:
    return f"ckpt rollback {shlex.quote(view.location)} {target} {_SINK}"
