"""Planning what is written to a new or empty location: what was begun or done before is found first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from airflow_provider_ckpt.change.judge_start import SourceOf, judge_written
from airflow_provider_ckpt.change.new_place.find_written import find_written
from airflow_provider_ckpt.change.places import require_reachable
from airflow_provider_ckpt.change.plan.actions import Action
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.checkpoint.own_files import UNDO_DIRECTORY, log_in
from airflow_provider_ckpt.errors import ObjectExistsError, ObjectNotFoundError, PlanError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

#: How a store on a local disk calls an object until it is whole.
_UNFINISHED = re.compile(r"\.(.+)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp")


def find_or_make_new(
    plan: Callable[[], Plan], target: Store, is_same: Callable[[Plan], bool], source_of: SourceOf | None = None
) -> Plan:
    """The plan that has written the same checkpoint here or was killed while it did, or else a new one.

    Args:
        plan: Makes the new one.
        target: The location to write to.
        is_same: Whether an earlier plan writes the same.
        source_of: Where the copies of the new one come from.

    Raises:
        ObjectExistsError: There is something else at the location.
        PlanError: Spark would not start from what is written.
    """
    earlier = find_written(target, is_same)
    if earlier is not None and earlier.state == "applied":
        return earlier.plan
    found = plan() if earlier is None else earlier.plan
    require_empty(found, target, target.find())
    return found if earlier is not None else judge_written(found, target, source_of)


def require_free_place(location: str) -> None:
    """Raise PlanError for a place inside the records of changes, or inside the log of a sink or a table."""
    inside = UNDO_DIRECTORY if UNDO_DIRECTORY in location.split("/") else log_in(location)
    if inside is not None:
        raise PlanError(
            f"the location is inside {inside}, where a checkpoint must not be.",
            location=location,
            hint="Nothing was done. Restore to a location outside of it.",
        )


def require_empty(plan: Plan, target: Store, there: Mapping[str, StoredObject]) -> None:
    """Require that a location is empty, or holds nothing but what an earlier run of this very plan wrote.

    Args:
        plan: The plan.
        target: The location.
        there: Every object at it, by name.

    Raises:
        ObjectExistsError: Something else is there.
        PlanError: The location is a link that leads nowhere.
    """
    require_reachable(target)
    wanted = {action.name: action for action in plan.actions if action.place == "checkpoint"}
    for name, stored in there.items():
        if not is_of(wanted, stored, target):
            raise ObjectExistsError(
                "the location is not empty.",
                location=target.location,
                name=name,
                hint=f"Give a new or empty location; a {plan.kind} never overwrites anything.",
            )


def is_of(wanted: Mapping[str, Action], stored: StoredObject, store: Store) -> bool:
    """True if an object is one that is to be written, whole or half. One that vanishes is not: nothing here deletes."""
    if stored.is_link or being_written(stored.name) in wanted:
        return not stored.is_link
    action = wanted.get(stored.name)
    try:
        return action is not None and (stored.size, action.sha256) == store.sha256(stored.name)
    except ObjectNotFoundError:
        return False


def being_written(name: str) -> str | None:
    """The object that a store was writing when it was killed, if that is what a name is left of."""
    directory, _, base = name.rpartition("/")
    match = _UNFINISHED.fullmatch(base)
    return (f"{directory}/{match[1]}" if directory else match[1]) if match else None
