"""Finding the change by ckpt that took away what is missing in a checkpoint."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from airflow_provider_ckpt.change.record.journal import Record, survey
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.storage.store import Store

#: States of records whose steps were taken, some or all, and not taken back.
_IN_FORCE = ("applied", "interrupted")


def removed_text(names: Iterable[str], records: Sequence[Record], location: str) -> str:
    """Who removed the first of some files that a change has removed, in a sentence; empty when none has.

    Args:
        names: Files that are missing, by name.
        records: The changes of the checkpoint, oldest first.
        location: Its URI.
    """
    for name in names:
        for record in reversed(records):
            if record.state not in _IN_FORCE or name not in record.plan.deletes() | record.plan.writes():
                continue
            if name in record.plan.writes():  # it came with this change
                if record.plan.rules.takes_back and name in record.plan.deletes():
                    return f"{name} was put back by the {record.plan.called} {record.plan.plan_id}."
                break
            said = f"{name} was removed by the {record.plan.called} {record.plan.plan_id}"
            return f"{said}{way_back(record, records, location)}."
    return ""


def way_back(record: Record, records: Sequence[Record], location: str) -> str:
    """Words after the name of a change on how it is taken back; empty for one that cannot be, or was.

    Args:
        record: The change.
        records: All changes of the checkpoint, oldest first: an undo takes back the newest.
        location: Its URI.
    """
    in_force = [each for each in records if each.state in _IN_FORCE and each.plan.rules.can_be_undone]
    if record not in in_force:
        return ""
    later = in_force[in_force.index(record) + 1 :]
    if record.forgotten or any(each.forgotten for each in later):
        return ", and no undo has it any more (ckpt history --forget)"
    after = f", after {len(later)} later {'changes' if len(later) > 1 else 'change'}" if later else ""
    return f"; ckpt undo {shlex.quote(location)} has it{after}"


def find_removed(checkpoint: Store, names: Iterable[str], undo: Store | None = None) -> str:
    """Who removed one of these files, and what has it, in a sentence; empty when no record tells.

    Records that cannot be read tell nothing here: this is said beside an error, which stays.
    """
    return removed_text(names, _records(checkpoint, undo), checkpoint.location)


def _records(checkpoint: Store, undo: Store | None = None) -> tuple[Record, ...]:
    try:
        return survey(checkpoint, undo)[0]
    except CheckpointError:
        return ()


def find_removed_batch(checkpoint: Store, batch_id: int) -> str:
    """Who removed a batch from both logs, as :func:`find_removed` says it."""
    return find_removed(checkpoint, [layout.offset_entry(batch_id), layout.commit_entry(batch_id)])


def with_removed(findings: Sequence[Finding], checkpoint: Store, there: Collection[str]) -> tuple[Finding, ...]:
    """The findings, of which those on a file that a change by ckpt has removed say so.

    Args:
        findings: The findings.
        checkpoint: Where.
        there: The names of what is there.
    """
    if all(finding.name in there for finding in findings if finding.name):
        return tuple(findings)
    records = _records(checkpoint)
    return tuple(_told(finding, records, checkpoint.location, there) for finding in findings)


def _told(finding: Finding, records: Sequence[Record], location: str, there: Collection[str]) -> Finding:
    if not finding.name or finding.name in there:
        return finding
    said = removed_text([finding.name], records, location)
    return replace(finding, hint=f"{said} {finding.hint or ''}".strip()) if said else finding
