"""Bounded form, for an XCom, of a list that grows with a checkpoint or with its backups: some items and a count.

Airflow keeps an XCom in its database for each run of a task, so everything in it has a bound. The log of the task has
the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_ckpt.backup.retention import PrunePlan, PruneReceipt
    from airflow_provider_ckpt.checks.findings import Finding
    from airflow_provider_ckpt.documents.backups import BackupFields
    from airflow_provider_ckpt.documents.findings import ToldFindingsFields
    from airflow_provider_ckpt.documents.tasks import ToldBackupFields, ToldPruneFields, ToldPruneReceiptFields

#: A list in an XCom has at most so many items.
MOST_TOLD = 20
#: An error message names so many findings.
MOST_REASONS = 5


def findings_told(findings: Sequence[Finding]) -> ToldFindingsFields:
    """The worst findings, which come first, and the number of the others."""
    told = [finding.to_dict() for finding in findings[:MOST_TOLD]]
    return {"findings": told, "findings_left_out": len(findings) - len(told)}


def reasons_text(reasons: Sequence[str]) -> str:
    """The first reasons, and how many more there are."""
    others = len(reasons) - MOST_REASONS
    more = [f"and {others:,} more, which the log of the task has"] if others > 0 else []
    return "; ".join((*reasons[:MOST_REASONS], *more))


def backup_told(summary: BackupFields) -> ToldBackupFields:
    """A backup, with the first of the files that ckpt does not know, and how many more there are."""
    unknown, changed = summary["unknown"], summary["unknown_changed"]
    return {
        **summary,
        "unknown": unknown[:MOST_TOLD],
        "unknown_changed": changed[:MOST_TOLD],
        "unknown_left_out": len(unknown[MOST_TOLD:]),
        "unknown_changed_left_out": len(changed[MOST_TOLD:]),
    }


def prune_told(plan: PrunePlan) -> ToldPruneFields:
    """Plan of a prune: the newest decisions and the largest sweeps, and how many there are of each."""
    sweeps = sorted(plan.sweeps, key=lambda sweep: (-sweep.bytes, sweep.directory))
    return {
        **plan.to_dict(),  # type: ignore[typeddict-item]  # the first keys
        "decisions": [decision.to_dict() for decision in plan.decisions[-MOST_TOLD:]],
        "sweeps": [sweep.to_dict() for sweep in sweeps[:MOST_TOLD]],
        "verified": list(plan.verified[-MOST_TOLD:]),
        "backups": len(plan.decisions),
        "backups_dropped": len(plan.dropped),
        "directories_swept": len(sweeps),
        "objects_swept": sum(sweep.objects for sweep in sweeps),
        "bytes_swept": sum(sweep.bytes for sweep in sweeps),
        "backups_verified": len(plan.verified),
    }


def prune_receipt_told(receipt: PruneReceipt) -> ToldPruneReceiptFields:
    """Result of a prune, with the newest of the backups that were deleted."""
    dropped = receipt.dropped
    return {
        **receipt.to_dict(),  # type: ignore[typeddict-item]  # the first keys
        "dropped": list(dropped[-MOST_TOLD:]),
        "backups_dropped": len(dropped),
    }
