"""What a change has done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.changes import ReceiptFields


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was done.

    Args:
        plan_id: Of the plan that was applied.
        kind: Of that plan.
        status: ``applied``, or ``already_applied`` when there was nothing left to do.
        location: The checkpoint.
        batch_id: The latest committed batch now.
        actions: Steps that were carried out in this run.
        record: Location of the record, with what was saved; empty when there is none.
        started_at_ms: Epoch milliseconds.
        finished_at_ms: Epoch milliseconds.
    """

    plan_id: str
    kind: str
    status: str
    location: str
    batch_id: int
    actions: int
    record: str
    started_at_ms: int
    finished_at_ms: int

    def to_dict(self) -> ReceiptFields:
        """JSON-ready."""
        return {
            "plan_id": self.plan_id,
            "kind": self.kind,
            "status": self.status,
            "location": self.location,
            "batch_id": self.batch_id,
            "actions": self.actions,
            "record": self.record,
            "started_at_ms": self.started_at_ms,
            "finished_at_ms": self.finished_at_ms,
        }
