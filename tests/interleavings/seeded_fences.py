"""Fences with a bug each."""

from __future__ import annotations

from typing import Any

from airflow_provider_ckpt.change.fence.plan import fence_of, plan_fence
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.fence import make, put_fence
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.errors import CheckpointBusyError
from tests.interleavings import fences, invariants
from tests.interleavings.bug import Bug, replaced


def _empty_batch_at_once(view: CheckpointView, batch_id: int, at_ms: int) -> Plan:
    return plan_fence(view, batch_id, view.offset_seq(batch_id), view.commit(batch_id - 1), at_ms)


def _stay_closed(run: Any, plan: Plan, stored: object) -> None:
    raise CheckpointBusyError("the batch in flight was not committed", location=plan.location)


def _write_over(run: Any, plan: Plan) -> bool:
    own = fence_of(plan)
    run.stores.checkpoint.write(own.name, own.data.encode())
    return True


BUGS = (
    Bug(
        "a fence puts an empty batch behind a batch in flight",
        replaced(make, "plan_closing", _empty_batch_at_once),
        fences.fence_beside_dead_query,
        (invariants.STARTS_RIGHT, invariants.DONE_STARTS),
    ),
    Bug(
        "a fence that is refused leaves the checkpoint closed",
        replaced(put_fence, "_withdraw", _stay_closed),
        fences.fence_beside_dead_query,
        (invariants.GIVEN_BACK,),
    ),
    Bug(
        "a fence is written over what a query has planned",
        replaced(put_fence, "_create", _write_over),
        fences.fence_and_query,
        (invariants.STARTS_RIGHT, invariants.NOTHING_LOST),
    ),
)
