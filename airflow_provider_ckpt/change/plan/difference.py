"""Differences between two plans: a plan is carried out only when it is the very plan that would be made now.

So no step is carried out that somebody else has written into it.
"""

from __future__ import annotations

from airflow_provider_ckpt.change.plan.actions import Action
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.sinks.effects import Effect


def difference(plan: Plan, again: Plan) -> str | None:
    """The first difference in what two plans do and require, in words; None when there is none."""
    for what in ("query_id", "batch_id", "source", "sink", "undoes"):
        old, new = getattr(plan, what), getattr(again, what)
        if old != new:
            return f"in the plan {what} is {old!r}, now it would be {new!r}"
    steps = zip(plan.actions, again.actions, strict=False)
    for number, (old, new) in enumerate(steps, 1):
        if old != new:
            return f"step {number} of the plan is to {_text(old)}, now it would be to {_text(new)}"
    if len(plan.actions) != len(again.actions):
        return f"the plan has {len(plan.actions)} steps, now it would have {len(again.actions)}"
    if set(plan.requirements) != set(again.requirements):
        return "the plan has other requirements than it would have now"
    old_effects = [(item.sink, item.effect) for item in plan.effects]
    new_effects = [(item.sink, item.effect) for item in again.effects]
    if old_effects != new_effects:
        return (
            f"in the plan the effects on sinks are {_effects(old_effects)}, now they would be {_effects(new_effects)}"
        )
    return None


def _text(action: Action) -> str:
    where = "" if action.place == "checkpoint" else " in the sink"
    return f"{action.do} {action.name}{where}"


def _effects(found: list[tuple[str, Effect]]) -> str:
    return ", ".join(f"{effect} ({sink})" for sink, effect in found) or "none"
