"""Plan and receipt of a prune."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from airflow_provider_ckpt.backup.retention import Decision, RetentionPolicy
from airflow_provider_ckpt.documents.as_document import Documented

#: How long an object that no backup names may be that of a backup under way.
GRACE_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Sweep(Documented):
    """Objects that are deleted from one directory."""

    directory: Annotated[str, "directory below the root"]
    objects: Annotated[int, "number of objects"]
    bytes: Annotated[int, "their size"]


@dataclass(frozen=True, slots=True)
class PrunePlan(Documented):
    """Plan of a prune."""

    location: Annotated[str, "the root"]
    planned_at_ms: Annotated[int, "epoch milliseconds"]
    policy: Annotated[RetentionPolicy, "what is kept"]
    grace_ms: Annotated[int, "age from which on an object that no backup references is deleted"]
    decisions: Annotated[tuple[Decision, ...], "a decision for each backup, oldest first"]
    sweeps: Annotated[tuple[Sweep, ...], "what is deleted, by directory"]
    referred_bytes: Annotated[int, "bytes of deleted backups that are kept, because other backups reference them"]
    verified: Annotated[tuple[str, ...], "backups that were verified before others are deleted"] = ()

    @property
    def dropped(self) -> tuple[str, ...]:
        """The backups that no rule keeps."""
        return tuple(item.backup_id for item in self.decisions if not item.keep)


@dataclass(frozen=True, slots=True)
class PruneReceipt(Documented):
    """Result of a prune."""

    location: Annotated[str, "the root"]
    status: Annotated[
        Literal["applied", "already_applied"], "`applied`, or `already_applied` when there was nothing to delete"
    ]
    dropped: Annotated[tuple[str, ...], "ids of the backups that were deleted"]
    objects: Annotated[int, "number of objects that were deleted, manifests not counted"]
    bytes: Annotated[int, "their size"]
    started_at_ms: Annotated[int, "epoch milliseconds"]
    finished_at_ms: Annotated[int, "epoch milliseconds"]
