"""Backups: ``backup``, ``backups``, ``verify`` and ``prune``."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from airflow_provider_ckpt.documents import Document, ErrorFields
from airflow_provider_ckpt.documents.as_document import DocumentOf
from airflow_provider_ckpt.documents.findings import FindingFields


class BackupFields(TypedDict):
    """One backup."""

    backup_id: Annotated[str, "id of the backup, unique under its root; ids sort by time"]
    location: Annotated[str, "URI of the checkpoint that was backed up"]
    query_id: Annotated[str, "id of the query"]
    batch_id: Annotated[int, "committed batch of the backup; a restart from it runs the next batch"]
    created_at: Annotated[str | None, "when the backup was taken, ISO 8601"]
    watermark_ms: Annotated[int | None, "watermark of that batch, epoch milliseconds"]
    objects: Annotated[int, "number of objects"]
    bytes_copied: Annotated[int, "bytes that this backup copied"]
    bytes_reused: Annotated[int, "bytes that it references in earlier backups"]
    tags: Annotated[list[str], "tags, for `ckpt prune --keep-tag`"]
    message: Annotated[str, "reason that was given for the backup; may be empty"]
    unknown: Annotated[list[str], "files in the backup that ckpt does not know"]
    unknown_changed: Annotated[list[str], "those of the unknown files that changed while they were copied"]
    not_judged: Annotated[
        list[str], "parts of the state that were not judged: no file describes them, or they were not read"
    ]


class BackupDocument(BackupFields, Document):
    """A backup that was taken."""


class BackupPlanDocument(Document):
    """Plan of a full backup (`--dry-run`)."""

    location: Annotated[str, "URI of the checkpoint"]
    batch_id: Annotated[int, "committed batch that the backup would have"]
    objects: Annotated[list[str], "objects that would be copied"]
    unknown: Annotated[list[str], "those of the objects that ckpt does not know"]
    not_judged: Annotated[
        list[str], "parts of the state that were not judged: no file describes them, or they were not read"
    ]
    left_out: Annotated[dict[str, int], "number of objects that are left out, by reason"]


class UnreadableBackupFields(ErrorFields):
    """A backup whose manifest cannot be read."""

    backup_id: Annotated[str, "its directory"]


class BackupsDocument(Document):
    """The backups under a root."""

    backups: Annotated[list[BackupFields], "oldest first"]
    unreadable: Annotated[list[UnreadableBackupFields], "directories whose manifest cannot be read"]


OpenedStateFields = Annotated[dict[str, Any], DocumentOf("changes.restore.rehearse", "OpenedState")]
RehearsalFields = Annotated[dict[str, Any], DocumentOf("changes.restore.rehearse", "Rehearsal")]


class VerifyDocument(BackupFields, Document):
    """A backup that was read back."""

    verified: Annotated[bool, "true: each object has the size and SHA-256 that were recorded"]
    warnings: Annotated[list[str], "warnings about the backup itself, such as a date in the future"]
    findings: Annotated[list[FindingFields], "what the rules found, worst first"]
    rehearsal: Annotated[RehearsalFields | None, "what Spark read; null without a rehearsal"]


RetentionFields = Annotated[dict[str, Any], DocumentOf("backup.retention", "RetentionPolicy")]
RetentionDecisionFields = Annotated[dict[str, Any], DocumentOf("backup.retention", "Decision")]
SweepFields = Annotated[dict[str, Any], DocumentOf("backup.retention", "Sweep")]
PrunePlanFields = Annotated[dict[str, Any], DocumentOf("backup.retention", "PrunePlan")]
PruneReceiptFields = Annotated[dict[str, Any], DocumentOf("backup.retention", "PruneReceipt")]


class PruneDocument(Document):
    """A prune."""

    plan: Annotated[PrunePlanFields, "what it does"]
    receipt: Annotated[PruneReceiptFields | None, "what was done; null when nothing was done"]
