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


def nowhere_else(_: str) -> None:
    """The records of every checkpoint are beside it."""


def find_undoable(
    plans: Sequence[Mapping[str, str]],
    open_store: Callable[[str], Store],
    open_records: Callable[[str], Store | None] = nowhere_else,
) -> Matched:
    """Read what became of each plan. A checkpoint whose records cannot be read is refused, and stops no other.

    Args:
        plans: ``checkpoint`` and ``plan_id`` of each plan that was approved.
        open_store: Opens a location.
        open_records: The place of the records of changes of a checkpoint by its location, where that is not beside it.

    Raises:
        StoreUnavailableError: A storage does not answer; another try can help.
    """
    ids = {plan["checkpoint"]: plan["plan_id"] for plan in plans}
    states = in_parallel(lambda location: _state(location, ids[location], open_store, open_records), list(ids), THREADS)
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


def _state(
    location: str, plan_id: str, open_store: Callable[[str], Store], open_records: Callable[[str], Store | None]
) -> str | Refusal:
    try:
        changes = history(open_store(location), open_records(location))
    except CheckpointError as error:
        if error.retryable:
            raise
        return Refusal(location, sentence_of(error))
    return {change.plan.plan_id: change.state for change in changes}.get(plan_id, "nothing was done")
