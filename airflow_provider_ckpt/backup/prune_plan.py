"""Plan and receipt of a prune."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from airflow_provider_ckpt.backup.retention import Decision, RetentionPolicy
from airflow_provider_ckpt.documents.as_document import Documented

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.backups import PrunePlanFields, PruneReceiptFields

#: How long an object that no backup names may be that of a backup under way.
GRACE_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Sweep(Documented):
    """What is deleted from one directory."""

    directory: Annotated[str, "directory below the root"]
    objects: Annotated[int, "number of objects"]
    bytes: Annotated[int, "their size"]


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """Plan of a prune.

    Args:
        location: The root.
        planned_at_ms: Epoch milliseconds; ages count from here.
        policy: The retention policy.
        grace_ms: Age from which an object that no backup names may go, milliseconds.
        decisions: One for every backup, oldest first.
        sweeps: A row for each directory that loses something.
        verified: For every query that loses a backup, one that is left and passed ``ckpt verify``.
        referred_bytes: Bytes in the directories of dropped backups that stay, because other backups name them.
    """

    location: str
    planned_at_ms: int
    policy: RetentionPolicy
    grace_ms: int
    decisions: tuple[Decision, ...]
    sweeps: tuple[Sweep, ...]
    referred_bytes: int
    verified: tuple[str, ...] = ()

    @property
    def dropped(self) -> tuple[str, ...]:
        """The backups that no rule keeps."""
        return tuple(item.backup_id for item in self.decisions if not item.keep)

    def to_dict(self) -> PrunePlanFields:
        """JSON-ready."""
        return {
            "location": self.location,
            "planned_at_ms": self.planned_at_ms,
            "policy": self.policy.to_dict(),
            "grace_ms": self.grace_ms,
            "decisions": [decision.to_dict() for decision in self.decisions],
            "sweeps": [sweep.to_dict() for sweep in self.sweeps],
            "referred_bytes": self.referred_bytes,
            "verified": list(self.verified),
        }


@dataclass(frozen=True, slots=True)
class PruneReceipt:
    """Result of a prune. ``objects`` and ``bytes`` count what was swept, without manifests."""

    location: str
    status: Literal["applied", "already_applied"]
    dropped: tuple[str, ...]
    objects: int
    bytes: int
    started_at_ms: int
    finished_at_ms: int

    def to_dict(self) -> PruneReceiptFields:
        """JSON-ready."""
        return {
            "location": self.location,
            "status": self.status,
            "dropped": list(self.dropped),
            "objects": self.objects,
            "bytes": self.bytes,
            "started_at_ms": self.started_at_ms,
            "finished_at_ms": self.finished_at_ms,
        }
