"""Agreement of a person: to the effects of a plan on its sinks by name, and to the plan itself by an approval."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.query.sink import NOT_DECLARED
from airflow_provider_ckpt.sinks.effects import COSTS, EFFECTS, Effect, SinkEffect
from airflow_provider_ckpt.times import parse_time_ms, time_text
from airflow_provider_ckpt.untrusted.fields import LONGEST_NAME, shown


def effects_of(words: str | Collection[str] | None) -> tuple[Effect, ...]:
    """Effects that are accepted, as they were given: one word, several, or several in one text. Raises ValueError."""
    given = words.replace(",", " ").split() if isinstance(words, str) else list(words or ())
    for word in given:
        if word not in EFFECTS:
            raise ValueError(f"{word!r} is not a sink effect that can be accepted; give one of {', '.join(EFFECTS)}")
    return tuple(effect for effect in EFFECTS if effect in given)


def require_accepted(plan: Plan, accept_sink: str | Collection[str] | None) -> tuple[Effect, ...]:
    """Require that each effect of a plan on a sink is exact or accepted.

    Returns:
        The effects that had to be accepted, and were.

    Raises:
        PlanError: One was not; or an effect that there is not was accepted.
    """
    missing = not_accepted(plan.location, plan.to_accept, accept_sink)
    if missing:
        options = " ".join(f"--accept-sink {effect}" for effect in missing)
        raise refusal(
            f"this {plan.called}",
            plan.effects,
            missing,
            f"{options} (in a DAG: accept_sink={' '.join(missing)!r})",
            location=plan.location,
            batch_id=plan.batch_id,
        )
    return plan.to_accept


def not_accepted(
    location: str, effects: Collection[Effect], accept_sink: str | Collection[str] | None
) -> tuple[Effect, ...]:
    """The effects that are neither exact nor accepted by name, from the best to the worst.

    Raises:
        PlanError: An effect that there is not was accepted.
    """
    try:
        accepted = effects_of(accept_sink)
    except ValueError as error:
        raise PlanError(f"{error}.", location=location) from None
    return tuple(effect for effect in EFFECTS if effect in effects and effect != "exact" and effect not in accepted)


def refusal(
    what: str,
    effects: Collection[SinkEffect],
    missing: Sequence[Effect],
    option: str,
    *,
    location: str,
    batch_id: int | None = None,
) -> PlanError:
    """The error for effects that were not accepted: the worst of them, why, and what makes it exact or accepts it."""
    worst = missing[-1]
    effect = next((item for item in effects if item.effect == worst), None)
    sink = "the sink, which was not declared," if effect is None or effect.sink == NOT_DECLARED else effect.sink
    reason = f": {effect.reason}" if effect else ""
    word = "that the query stops" if worst == "stops" else worst
    hint = f"Nothing was done. {effect.remedy if effect else ''}".strip()
    return PlanError(
        f"the effect of {what} on {sink} is {word}{reason}.",
        location=location,
        batch_id=batch_id,
        hint=f"{hint} To accept the effect ({COSTS[worst]}), add {option}.",
    )


def require_names(location: str, **people: object) -> None:
    """Require that who carries a plan out, and who approved it, can be written into its record and be read again.

    Raises:
        PlanError: One is no text, or is too long; a template that is rendered natively makes a number of digits.
    """
    for what, name in people.items():
        if not isinstance(name, str) or len(name) > LONGEST_NAME:
            raise PlanError(
                f"{what} must be a text of at most {LONGEST_NAME} characters, not {shown(name)}.",
                location=location,
                hint="Nothing was done.",
            )


def require_newer(approved_at: str | datetime | None, plan: Plan, *, is_wanted: bool = False) -> None:
    """Raise PlanError for an approval that is older than the plan: it was given for another one.

    None alone is not given. A text that a template has made of nothing, empty or ``None``, is no time.

    Args:
        approved_at: When somebody has approved.
        plan: The plan to carry out.
        is_wanted: True if somebody was to be asked: then a plan with steps is refused that nobody has approved.
    """
    if approved_at is None and is_wanted and plan.actions:
        raise PlanError(
            f"nobody has approved plan {plan.plan_id}: the task that asks for the approval has no answer.",
            location=plan.location,
            hint="Nothing was done. Clear the approval task, and answer it; to mark it as a success is no approval.",
        )
    if approved_at is None:
        return
    try:
        if not isinstance(approved_at, str | datetime):
            raise ValueError(f"approved_at must be a text or a datetime, not {approved_at!r:.60}")
        approved_ms = parse_time_ms(approved_at)
    except ValueError as error:
        raise PlanError(f"approved_at is not a time: {error}", location=plan.location) from None
    if approved_ms < plan.planned_at_ms:
        raise PlanError(
            f"the approval was given at {time_text(approved_ms)}, before plan {plan.plan_id} was made at "
            f"{time_text(plan.planned_at_ms)}, so it is for another plan.",
            location=plan.location,
            hint="Nothing was done. Clear the approval task, and approve this plan.",
        )
