"""Outcome of each query of a fleet when the approved plans were carried out, and the next steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.fleet.approval import refusal_text
from airflow_provider_ckpt.fleet.bookmarks import Refusal


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one plan.

    Args:
        checkpoint: Its location.
        plan_id: The plan.
        index: Index of the task that carries it out.
        problem: Why it was not carried out; empty when it was.
    """

    checkpoint: str
    plan_id: str
    index: int
    problem: str = ""


def outcomes(approved: Sequence[Mapping[str, Any]], told: Sequence[Any], errors: Sequence[Any]) -> tuple[Outcome, ...]:
    """Outcome of each plan, in their order.

    Args:
        approved: ``checkpoint`` and ``plan_id`` of each plan.
        told: The return value of each task, or None.
        errors: The error with which each task was refused (its XCom ``error``), or None.
    """
    return tuple(
        Outcome(item["checkpoint"], item["plan_id"], index, _problem(item, result, error))
        for index, (item, result, error) in enumerate(zip(approved, told, errors, strict=True))
    )


def _problem(item: Mapping[str, Any], result: Any, error: Any) -> str:
    if isinstance(result, Mapping) and result.get("plan_id") == item["plan_id"] and result.get("receipt"):
        return ""
    return reason_of(error) or "Its task has ended without an answer; its log may say why."


def reason_of(error: Any) -> str:
    """Reason for the refusal of a task, as a sentence, from its XCom ``error``; empty when there is none."""
    fields = error.get("error") if isinstance(error, Mapping) else None
    if not isinstance(fields, Mapping):
        return ""
    return " ".join(str(fields[key]) for key in ("message", "hint") if fields.get(key))


def trouble_text(found: Sequence[Outcome], task_id: str) -> str:
    """Failures with their next steps; one a line."""
    failed = [item for item in found if item.problem]
    refused = [
        Refusal(
            item.checkpoint,
            f"{item.problem} Clear {task_id} ({item.index}), which completes what was begun.",
        )
        for item in failed
    ]
    count = f"{len(found) - len(failed)} of {len(found)} queries are back, and {len(failed)} are not:"
    return f"{count}\n{refusal_text(refused)}"
