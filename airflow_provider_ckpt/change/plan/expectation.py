"""Features of a plan that somebody has seen, so small that a DAG run takes them as a parameter.

The plan that the run makes anew has to be the same in all that it does and requires. When it was made, and the
sentences for people, do not count.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypedDict

from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.errors import StalePlanError
from airflow_provider_ckpt.untrusted.fields import Fields

#: What the parts of an expectation are called in a refusal, in the order in which they are compared.
_PARTS = {
    "kind": "the change",
    "location": "the checkpoint",
    "query_id": "the query id",
    "batch_id": "the batch that it leads to",
    "source": "the location that files are copied from",
    "sink": "the sink whose log is trimmed",
    "undoes": "the plan that it takes back",
    "requirements": "what it requires",
    "sink_effects": "the effect on sinks",
    "steps": "the number of steps",
    "steps_sha256": "the SHA-256 of the steps",
}
#: The same of the requirements, by kind.
_REQUIREMENTS = {
    "latest_committed": "the newest committed batch",
    "latest_planned": "the newest planned batch",
    "kept_objects": "the digest of the files that the plan does not change",
    "kept_sink_log": "the digest of the sink log entries that the plan does not change",
    "backup": "the backup",
}
_NUMBERS = ("batch_id", "steps")


class Expectation(TypedDict):
    """A plan as it was shown, JSON-ready.

    Requirements are what is expected, by kind; sink effects are effects by sink.
    """

    kind: str
    location: str
    query_id: str
    batch_id: int
    source: str
    sink: str
    undoes: str
    requirements: dict[str, str]
    sink_effects: dict[str, str]
    steps: int
    steps_sha256: str


def expectation_of(plan: Plan) -> Expectation:
    """Features that must be the same in a plan that is made again."""
    steps = json.dumps([action.to_dict() for action in plan.actions], sort_keys=True)
    return {
        "kind": plan.kind,
        "location": plan.location,
        "query_id": plan.query_id,
        "batch_id": plan.batch_id,
        "source": plan.source,
        "sink": plan.sink,
        "undoes": plan.undoes,
        "requirements": {requirement.kind: requirement.expected for requirement in plan.requirements},
        "sink_effects": {item.sink: item.effect for item in plan.effects},
        "steps": len(plan.actions),
        "steps_sha256": hashlib.sha256(steps.encode()).hexdigest(),
    }


def require_expected(plan: Plan, expected: Any) -> None:
    """Require that a plan is the one that :func:`expectation_of` was made of.

    Raises:
        StalePlanError: It does or requires something else; the error says what, as it was and as it is.
        PlanError: ``expected`` is no expectation.
    """
    fields = Fields("the expected plan", expected, tuple(_PARTS))
    now: dict[str, Any] = {**expectation_of(plan)}
    for part, called in _PARTS.items():
        then = fields.number(part) if part in _NUMBERS else _value(fields, part)
        if then != now[part]:
            raise StalePlanError(
                f"this {plan.called} is not the one that was previewed: {_said(part, called, then, now[part])}.",
                location=plan.location,
                batch_id=plan.batch_id,
                hint="Nothing was done. Open the preview again, and start the change from there.",
            )


def _value(fields: Fields, part: str) -> Any:
    return fields.text(part, None) if part not in ("requirements", "sink_effects") else fields.texts_by_text(part)


def _said(part: str, called: str, then: Any, now: Any) -> str:
    if part == "requirements":
        kinds = [*_REQUIREMENTS, *sorted({*then, *now} - _REQUIREMENTS.keys())]  # what people know comes first
        kind = next(kind for kind in kinds if then.get(kind) != now.get(kind))
        called, then, now = _REQUIREMENTS.get(kind, f"the requirement {kind}"), then.get(kind), now.get(kind)
    return f"{called} was {_shown(then)} in the preview, and is {_shown(now)} now"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{effect} ({sink})" for sink, effect in value.items()) or "none"
    return "none" if value in (None, "") else str(value)
