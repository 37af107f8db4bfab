"""Backups: ``backup``, ``backups``, ``verify`` and ``prune``."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from airflow_provider_ckpt.documents import Document, ErrorFields
from airflow_provider_ckpt.documents.findings import FindingFields


class BackupFields(TypedDict):
    """One backup."""

    backup_id: Annotated[str, "id, unique under its root; ids sort by time"]
    location: Annotated[str, "URI of the checkpoint that it was taken from"]
    query_id: Annotated[str, "id of the query"]
    batch_id: Annotated[int, "committed batch after which a restart goes on"]
    created_at: Annotated[str | None, "when it was taken, ISO 8601"]
    watermark_ms: Annotated[int | None, "watermark of that batch, epoch milliseconds"]
    objects: Annotated[int, "number of objects"]
    bytes_copied: Annotated[int, "bytes that were copied for it"]
    bytes_reused: Annotated[int, "bytes of objects that earlier backups hold"]
    tags: Annotated[list[str], "names that a prune can keep it for"]
    message: Annotated[str, "why it was taken; may be empty"]
    unknown: Annotated[list[str], "files in it that ckpt does not know"]
    unknown_changed: Annotated[list[str], "those of them that changed while they were copied"]
    not_judged: Annotated[list[str], "what of the state no file tells"]


class BackupDocument(BackupFields, Document):
    """A backup that was taken."""


class BackupPlanDocument(Document):
    """What a full backup would copy (`--dry-run`)."""

    location: Annotated[str, "URI of the checkpoint"]
    batch_id: Annotated[int, "committed batch after which a restart would go on"]
    objects: Annotated[list[str], "objects that would be copied"]
    unknown: Annotated[list[str], "those of them that ckpt does not know"]
    not_judged: Annotated[list[str], "what of the state no file tells"]
    left_out: Annotated[dict[str, int], "number of objects that are left out, by reason"]


class UnreadableBackupFields(ErrorFields):
    """A backup whose manifest cannot be read."""

    backup_id: Annotated[str, "its directory"]


class BackupsDocument(Document):
    """The backups under a root."""

    backups: Annotated[list[BackupFields], "oldest first"]
    unreadable: Annotated[list[UnreadableBackupFields], "directories whose manifest cannot be read"]


class OpenedStateFields(TypedDict):
    """Rows that a Spark read from one part of the state."""

    operator_id: Annotated[int, "id of the stateful operator"]
    operator: Annotated[str, "Spark's name of it"]
    part: Annotated[str, "state store, side of a join or state variable; empty when there is one store"]
    rows: Annotated[int, "number of rows"]


class RehearsalFields(TypedDict):
    """A restore that was tried with a real Spark."""

    backup_id: Annotated[str, "the backup"]
    batch_id: Annotated[int, "batch that Spark goes on from"]
    spark_version: Annotated[str, "Spark that opened it"]
    state: Annotated[list[OpenedStateFields], "parts of the state that were read"]
    unread: Annotated[list[int], "ids of operators without metadata, whose state was not read"]


class VerifyDocument(BackupFields, Document):
    """A backup that was read back."""

    verified: Annotated[bool, "true: each object is what was backed up"]
    findings: Annotated[list[FindingFields], "what the rules found, worst first"]
    rehearsal: Annotated[RehearsalFields | None, "null when no Spark was asked"]


class RetentionFields(TypedDict):
    """Which backups are kept."""

    keep_last: Annotated[int, "newest of each query"]
    keep_hourly: Annotated[int, "hours of which the newest is kept"]
    keep_daily: Annotated[int, "days (UTC)"]
    keep_weekly: Annotated[int, "ISO weeks"]
    keep_monthly: Annotated[int, "months"]
    keep_tags: Annotated[list[str], "tags whose backups are kept"]
    min_redundancy: Annotated[int, "backups of each query that are left in any case"]


class RetentionDecisionFields(TypedDict):
    """What becomes of one backup."""

    backup_id: Annotated[str, "the backup"]
    keep: Annotated[bool, "whether it stays"]
    reasons: Annotated[list[str], "rules that keep it"]


class SweepFields(TypedDict):
    """What is deleted from one directory."""

    directory: Annotated[str, "the directory below the root"]
    objects: Annotated[int, "number of objects"]
    bytes: Annotated[int, "their size"]


class PrunePlanFields(TypedDict):
    """What a prune will do."""

    location: Annotated[str, "the root"]
    planned_at_ms: Annotated[int, "epoch milliseconds"]
    policy: Annotated[RetentionFields, "what is kept"]
    grace_ms: Annotated[int, "how old an object must be that no backup names"]
    decisions: Annotated[list[RetentionDecisionFields], "of every backup, oldest first"]
    sweeps: Annotated[list[SweepFields], "what goes, by directory"]
    referred_bytes: Annotated[int, "bytes of dropped backups that stay, because others refer to them"]
    verified: Annotated[list[str], "backups that were read back before others are dropped"]


class PruneReceiptFields(TypedDict):
    """What a prune did."""

    location: Annotated[str, "the root"]
    status: Annotated[Literal["applied", "already_applied"], "whether there was anything to do"]
    dropped: Annotated[list[str], "backups that are none any more"]
    objects: Annotated[int, "objects that were deleted, without manifests"]
    bytes: Annotated[int, "their size"]
    started_at_ms: Annotated[int, "epoch milliseconds"]
    finished_at_ms: Annotated[int, "epoch milliseconds"]


class PruneDocument(Document):
    """A prune."""

    plan: Annotated[PrunePlanFields, "what it does"]
    receipt: Annotated[PruneReceiptFields | None, "what was done; null when nothing was"]
