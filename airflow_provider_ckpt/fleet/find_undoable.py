"""Finds the rollbacks of a fleet that can be taken back: those that were begun, and are not undone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet import THREADS
from airflow_provider_ckpt.fleet.bookmarks import Matched, Refusal, sentence_of
from airflow_provider_ckpt.storage.concurrency import in_parallel
from airflow_provider_ckpt.storage.store import Store

log = logging.getLogger(__name__)


def find_undoable(plans: Sequence[Mapping[str, str]], open_store: Callable[[str], Store]) -> Matched:
    """Read what became of each plan. A checkpoint whose records cannot be read is refused, and stops no other.

    Args:
        plans: ``checkpoint`` and ``plan_id`` of each plan that was approved.
        open_store: Opens a location.

    Raises:
        StoreUnavailableError: A storage does not answer; another try can help.
    """
    ids = {plan["checkpoint"]: plan["plan_id"] for plan in plans}
    states = in_parallel(lambda location: _state(location, ids[location], open_store), list(ids), THREADS)
    told = list(zip(ids.items(), states, strict=True))
    for (location, plan_id), state in told:
        log.info("%s, plan %s: %s", location, plan_id, state.reason if isinstance(state, Refusal) else state)
    return Matched(
        tuple(
            {"checkpoint": location, "undoes": plan_id}
            for (location, plan_id), state in told
            if state in ("applied", "interrupted")
        ),
        tuple(state for _, state in told if isinstance(state, Refusal)),
    )


def _state(location: str, plan_id: str, open_store: Callable[[str], Store]) -> str | Refusal:
    try:
        states = {change.plan.plan_id: change.state for change in history(open_store(location))}
    except CheckpointError as error:
        if error.retryable:
            raise
        return Refusal(location, sentence_of(error))
    return states.get(plan_id, "nothing was done")
