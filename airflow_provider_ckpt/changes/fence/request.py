"""What a person can ask of a fence."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ckpt.change.option import WAIT_S, TriggerOf, WaitForBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceRequest:
    """How a query that cannot be reached is stopped."""

    wait_for_batch: WaitForBatch = WAIT_S
    trigger: TriggerOf = None
