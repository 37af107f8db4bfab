"""What a plan needs before it is carried out, beside what it requires itself.

Its effect on the sinks is exact, or somebody has accepted it by name; and it is the very plan that would be made now,
so that nothing is done that somebody else has written into it.
"""

from __future__ import annotations

from airflow_provider_ckpt.change.actions import Action
from airflow_provider_ckpt.change.places import Stores, require_own_place
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.errors import StalePlanError
from airflow_provider_ckpt.rollback.make import plan_again
from airflow_provider_ckpt.sinks.effects import Effect


def require_own_plan(plan: Plan, stores: Stores) -> None:
    """See that a plan is the one that would be made for this checkpoint now.

    Raises:
        PlanError: It is of another checkpoint.
        StalePlanError: It differs; the error names the first difference.
    """
    require_own_place(plan, stores)
    again = plan_again(plan, stores)
    found = _difference(plan, again)
    if found is not None:
        raise StalePlanError(
            f"the plan is not the one that would be made for this checkpoint now: {found}.",
            location=plan.location,
            batch_id=plan.batch_id,
            hint="Nothing was done. The sink has changed since, or the plan was edited: plan again.",
        )


def _difference(plan: Plan, again: Plan) -> str | None:
    """The first difference in what two plans do and require."""
    for what in ("query_id", "batch_id", "source", "sink", "undoes"):
        old, new = getattr(plan, what), getattr(again, what)
        if old != new:
            return f"{what} is {old!r}, and would be {new!r}"
    steps = zip(plan.actions, again.actions, strict=False)
    for number, (old, new) in enumerate(steps, 1):
        if old != new:
            return f"step {number} is to {_text(old)}, and would be to {_text(new)}"
    if len(plan.actions) != len(again.actions):
        return f"it has {len(plan.actions)} steps, and would have {len(again.actions)}"
    if set(plan.requirements) != set(again.requirements):
        return "it requires something else"
    old_effects = [(item.sink, item.effect) for item in plan.effects]
    new_effects = [(item.sink, item.effect) for item in again.effects]
    if old_effects != new_effects:
        return f"its effects on sinks are {_effects(old_effects)}, and would be {_effects(new_effects)}"
    return None


def _text(action: Action) -> str:
    where = "" if action.place == "checkpoint" else " in the sink"
    return f"{action.do} {action.name}{where}"


def _effects(found: list[tuple[str, Effect]]) -> str:
    return ", ".join(f"{effect} ({sink})" for sink, effect in found) or "none"
