"""Finding a change that was killed on its way, to be completed instead of a new one that leads to the same end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from airflow_provider_ckpt.change import journal
from airflow_provider_ckpt.change.actions import Close
from airflow_provider_ckpt.change.kinds import Kind
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.validate import find_facts, validate
from airflow_provider_ckpt.errors import StalePlanError


def find_interrupted(stores: Stores, kind: Kind, leads_there: Callable[[Plan], bool]) -> Plan | None:
    """A change to the same end that was killed on its way and can still be completed; no later one took a step.

    Raises StalePlanError when it has closed the checkpoint and cannot be completed any more as things are.
    """
    changes = journal.history(stores.checkpoint, stores.undo)
    acted = [change for change in changes if change.state not in ("planned", "refused")]
    if not acted or acted[-1].state != "interrupted" or acted[-1].plan.kind != kind:
        return None
    plan = acted[-1].plan
    if not leads_there(plan):
        return None
    facts = find_facts(plan, stores, resuming=True)
    try:
        validate(plan, replace(facts, writer_stopped=True))  # the word is asked for when it is applied
    except StalePlanError as error:
        if not any(isinstance(step, Close) and step.is_done(facts) for step in plan.actions):
            return None  # the query has run since; every prefix is a sound checkpoint, so a new plan is right
        error.hint = (
            "Nothing was done. The checkpoint is closed by this change, which is not complete. Move what has come "
            "since out of the checkpoint, then run the same command again."
        )
        raise
    return plan
