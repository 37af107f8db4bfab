"""Result of a change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

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
