"""A plan as a file: written for somebody to approve, and read back to be carried out as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.change.plan.kinds import Kind, with_article
from airflow_provider_ckpt.change.plan.plan import Plan, plan_from_dict
from airflow_provider_ckpt.documents import FORMAT_VERSION, is_current
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.untrusted.bounded_json import parse_json
from airflow_provider_ckpt.untrusted.fields import shown

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.files import PlanFileDocument

#: Bytes of the largest plan file: some 100,000 steps.
MOST_BYTES = 24 << 20
_KEYS = ("format_version", "plan_id", "sink_effect", "accept_sink", "plan")
_AGAIN = "Nothing was done. Write it with --plan-out."


def document(plan: Plan) -> PlanFileDocument:
    """JSON-ready: the plan, and beside it what a person searches for first."""
    return {
        "format_version": FORMAT_VERSION,
        "plan_id": plan.plan_id,
        "sink_effect": plan.sink_effect,
        "accept_sink": list(plan.to_accept),
        "plan": plan.to_dict(),
    }


def encode(plan: Plan) -> bytes:
    """The bytes of a plan file. Raises PlanError for a plan that is too large to be read back."""
    data = json.dumps(document(plan)).encode()
    if len(data) > MOST_BYTES:
        raise PlanError(
            f"the plan has {len(plan.actions):,} steps and {len(data):,} bytes, and a plan file has at most "
            f"{MOST_BYTES:,}.",
            location=plan.location,
            hint="Apply it without a plan file: leave out --plan-out, and add --execute.",
        )
    return data


def decode(data: bytes, kind: Kind) -> Plan:
    """The plan of a file.

    Args:
        data: The file, or more than ``MOST_BYTES`` of it.
        kind: The kind that the plan must have.

    Raises:
        PlanError: It is no plan file, was cut off or edited, or is for something else.
    """
    return plan_of_document(_fields(data), kind)


def plan_of_document(fields: Mapping[str, Any], kind: Kind) -> Plan:
    """The plan that :func:`document` wrote, in a file or in an XCom.

    Args:
        fields: The document, with ``format_version``, ``plan_id`` and ``plan``.
        kind: The kind that the plan must have.

    Raises:
        PlanError: It was edited, has another version, or is for something else.
    """
    if not is_current(fields["format_version"]):
        raise PlanError(
            "the plan file has a format version that this release of ckpt does not read; it reads version "
            f"{FORMAT_VERSION}.",
            hint=_AGAIN,
        )
    if unknown := [key for key in fields if key not in _KEYS]:
        raise PlanError(
            f"the plan was edited after it was written: ckpt writes no key {shown(unknown[0])} beside it.", hint=_AGAIN
        )
    plan = plan_from_dict(fields["plan"])
    if plan.plan_id != fields["plan_id"]:
        raise PlanError(
            f"the plan was edited after it was written: its content now has the plan id {plan.plan_id}.", hint=_AGAIN
        )
    beside = {"sink_effect": plan.sink_effect, "accept_sink": list(plan.to_accept)}
    if any(fields.get(key, value) != value for key, value in beside.items()):
        raise PlanError(
            "the plan was edited after it was written: the sink effect beside the plan is not the one in the plan.",
            hint=_AGAIN,
        )
    if plan.kind != kind:
        raise PlanError(f"this is the plan of {plan.with_article}, not of {with_article(kind)}.", hint=_AGAIN)
    return plan


def plan_of_value(value: Any, kind: Kind) -> Plan:
    """The plan in an XCom: what :func:`document` wrote, or the plan alone, which the first ones held.

    Raises:
        PlanError: It was edited, has another version, is for something else, or is no plan.
    """
    if not (isinstance(value, Mapping) and {"format_version", "plan_id", "plan"} <= value.keys()):
        return plan_from_dict(value)
    try:
        return plan_of_document(value, kind)
    except PlanError as error:
        raise PlanError(error.message, hint="Nothing was done. Clear the task that makes the plan.") from None


def _fields(data: bytes) -> dict[str, Any]:
    if len(data) > MOST_BYTES:
        raise PlanError(f"the file is larger than {MOST_BYTES:,} bytes, so ckpt did not write it.", hint=_AGAIN)
    try:
        fields = parse_json(data)
    except ValueError as error:
        raise PlanError(
            f"this is not a plan file, or it was cut off: its JSON cannot be read ({error}).", hint=_AGAIN
        ) from None
    if not isinstance(fields, dict) or not {"format_version", "plan_id", "plan"} <= fields.keys():
        raise PlanError(
            "this is not a plan file: it does not have the keys format_version, plan_id and plan.", hint=_AGAIN
        )
    return fields
