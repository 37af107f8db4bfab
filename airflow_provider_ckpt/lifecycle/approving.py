"""What a plan needs before it is carried out, beside what it requires itself.

Its effect on the sinks is exact, or somebody has accepted it by name; and it is the very plan that would be made now,
so that nothing is done that somebody else has written into it.
"""

from __future__ import annotations

from collections.abc import Collection

from airflow_provider_ckpt.actions import Action
from airflow_provider_ckpt.errors import PlanError, StalePlanError
from airflow_provider_ckpt.lifecycle.planning import plan_again
from airflow_provider_ckpt.lifecycle.stores import Stores
from airflow_provider_ckpt.plans import EFFECTS, Effect, Plan
from airflow_provider_ckpt.sink_marker import NOT_DECLARED
from airflow_provider_ckpt.store import Store


def effects_of(words: str | Collection[str] | None) -> tuple[Effect, ...]:
    """Effects that are accepted, as they were given: one word, several, or several in one text. Raises ValueError."""
    given = words.replace(",", " ").split() if isinstance(words, str) else list(words or ())
    for word in given:
        if word not in EFFECTS:
            raise ValueError(f"a sink effect that can be accepted is one of {', '.join(EFFECTS)}, not {word!r}")
    return tuple(effect for effect in EFFECTS if effect in given)


def require_accepted(plan: Plan, accept_sink: str | Collection[str] | None) -> tuple[Effect, ...]:
    """See that each effect of a plan on a sink is exact or accepted.

    Returns:
        The effects that had to be accepted, and were.

    Raises:
        PlanError: One was not; or an effect that there is not was accepted.
    """
    try:
        accepted = effects_of(accept_sink)
    except ValueError as error:
        raise PlanError(f"{error}.", location=plan.location) from None
    missing = [effect for effect in plan.to_accept if effect not in accepted]
    if not missing:
        return plan.to_accept
    worst = missing[-1]
    verdict = next((item for item in plan.verdicts if item.verdict == worst), None)
    sink = "the sink, which was not declared," if verdict is None or verdict.sink == NOT_DECLARED else verdict.sink
    reason = f": {verdict.reason}" if verdict else ""
    options = " ".join(f"--accept-sink {effect}" for effect in missing)
    hint = f"Nothing was done. {verdict.remedy if verdict else ''}".strip()
    raise PlanError(
        f"the effect of this {plan.kind} on {sink} is {worst}{reason}.",
        location=plan.location,
        batch_id=plan.batch_id,
        hint=f"{hint} To accept it: {options} (in a DAG: accept_sink={' '.join(missing)!r}).",
    )


def _is_same_place(location: str, checkpoint: Store) -> bool:
    """Whether a location is that of a checkpoint, by whatever link."""
    if location == checkpoint.location:
        return True
    return (
        checkpoint.is_local and location.startswith("/") and checkpoint.at(location).real_root == checkpoint.real_root
    )


def require_own_plan(plan: Plan, stores: Stores) -> None:
    """See that a plan is the one that would be made for this checkpoint now.

    Raises:
        PlanError: It is of another checkpoint.
        StalePlanError: It differs; the error names the first difference.
    """
    if not _is_same_place(plan.location, stores.checkpoint):
        raise PlanError(
            f"the plan is a {plan.kind} of {plan.location}, and not of this checkpoint.",
            location=stores.checkpoint.location,
            hint="Nothing was done. Give the location as it was given when the plan was made.",
        )
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
    old_effects = [(item.sink, item.verdict) for item in plan.verdicts]
    new_effects = [(item.sink, item.verdict) for item in again.verdicts]
    if old_effects != new_effects:
        return f"its effects on sinks are {_effects(old_effects)}, and would be {_effects(new_effects)}"
    return None


def _text(action: Action) -> str:
    where = "" if action.place == "checkpoint" else " in the sink"
    return f"{action.do} {action.name}{where}"


def _effects(found: list[tuple[str, Effect]]) -> str:
    return ", ".join(f"{effect} ({sink})" for sink, effect in found) or "none"
