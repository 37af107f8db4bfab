"""Result of a change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.documents.as_document import Documented


@dataclass(frozen=True, slots=True)
class Receipt(Documented):
    """What was done of a plan."""

    plan_id: Annotated[str, "the plan"]
    kind: Annotated[str, "type of change, such as `rollback`"]
    status: Annotated[str, "`applied`, or `already_applied` when nothing was left to do"]
    location: Annotated[str, "URI of the checkpoint"]
    batch_id: Annotated[int, "latest committed batch now"]
    actions: Annotated[int, "number of steps that this run has done"]
    record: Annotated[str, "URI of the record with the removed files, or empty"]
    started_at_ms: Annotated[int, "epoch milliseconds"]
    finished_at_ms: Annotated[int, "epoch milliseconds"]

    @classmethod
    def of(cls, plan: Plan, actions: int, record: str, began_ms: int, ended_ms: int, location: str = "") -> Receipt:
        """Receipt for a plan of which a run has done so many steps; at its own location unless another one is given."""
        return cls(
            plan_id=plan.plan_id,
            kind=plan.kind,
            status="applied" if actions else "already_applied",
            location=location or plan.location,
            batch_id=plan.batch_id,
            actions=actions,
            record=record,
            started_at_ms=began_ms,
            finished_at_ms=ended_ms,
        )
