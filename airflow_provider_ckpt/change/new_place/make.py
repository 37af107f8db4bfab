"""Planning what is written to a new or empty location: what was begun or done before is found first."""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_ckpt.change.judge_start import SourceOf, judge_written
from airflow_provider_ckpt.change.new_place.find_written import find_written
from airflow_provider_ckpt.change.new_place.require_empty import require_empty
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.checkpoint.own_files import UNDO_DIRECTORY, log_in
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store


def find_or_make_new(
    plan: Callable[[], Plan], target: Store, is_same: Callable[[Plan], bool], source_of: SourceOf | None = None
) -> Plan:
    """The plan that has written the same checkpoint here or was killed while it did, or else a new one.

    Args:
        plan: Makes the new one.
        target: Where to.
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
