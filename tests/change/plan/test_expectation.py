"""A plan that is made again is the one that was previewed, or the refusal says what differs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.plan.actions import Delete
from airflow_provider_ckpt.change.plan.expectation import expectation_of, require_expected
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import KeptObjects, LatestCommitted
from airflow_provider_ckpt.errors import PlanError, StalePlanError
from airflow_provider_ckpt.sinks.effects import SinkEffect
from tests.change.plans import RESET, ROLLBACK

FIRST, *REST = ROLLBACK.actions
SINK = "file:s3://lake/out"

OTHERS: dict[str, tuple[Callable[[Plan], Plan], str]] = {
    "the checkpoint": (
        lambda plan: replace(plan, location="s3://lake/other"),
        "the checkpoint was s3://lake/orders in the preview, and is s3://lake/other now",
    ),
    "the batch": (
        lambda plan: replace(plan, batch_id=4),
        "the batch that it leads to was 3 in the preview, and is 4 now",
    ),
    "a batch that the query has committed since": (
        lambda plan: replace(plan, requirements=(plan.requirements[0], LatestCommitted("6"), *plan.requirements[2:])),
        "the newest committed batch was 5 in the preview, and is 6 now",
    ),
    "another file": (
        lambda plan: replace(plan, requirements=(*plan.requirements[:3], KeptObjects("e"), *plan.requirements[4:])),
        "the digest of the files that the plan does not change was d in the preview, and is e now",
    ),
    "both, of which people know the batch": (
        lambda plan: replace(
            plan, requirements=(plan.requirements[0], LatestCommitted("6"), KeptObjects("e"), *plan.requirements[4:])
        ),
        "the newest committed batch was 5 in the preview, and is 6 now",
    ),
    "no backup": (
        lambda plan: replace(plan, requirements=plan.requirements[:-1]),
        "the backup was b in the preview, and is none now",
    ),
    "another effect": (
        lambda plan: replace(plan, effects=(SinkEffect(SINK, "skipped", "why"),)),
        f"the effect on sinks was exact ({SINK}) in the preview, and is skipped ({SINK}) now",
    ),
    "a step less": (
        lambda plan: replace(plan, actions=(FIRST, *REST[:1])),
        "the number of steps was 3 in the preview, and is 2 now",
    ),
    "another step": (
        lambda plan: replace(plan, actions=(Delete("offsets/5", identity="etag"), *REST)),
        "the SHA-256 of the steps was",
    ),
    "another order": (lambda plan: replace(plan, actions=(*REST, FIRST)), "the SHA-256 of the steps was"),
    "another identity of a file": (
        lambda plan: replace(plan, actions=(replace(FIRST, identity="new"), *REST)),
        "the SHA-256 of the steps was",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_plan_that_does_or_requires_anything_else_is_refused(case):
    edit, said = OTHERS[case]
    with pytest.raises(StalePlanError) as error:
        require_expected(edit(ROLLBACK), json.loads(json.dumps(expectation_of(ROLLBACK))))
    assert said in error.value.message
    assert "Nothing was done. Open the preview again" in str(error.value)


SAME: dict[str, Callable[[Plan], Plan]] = {
    "the very plan": lambda plan: plan,
    "made later": lambda plan: replace(plan, planned_at_ms=plan.planned_at_ms + 1),
    "found another way": lambda plan: replace(plan, notes=("another",), warnings=(), asked="x"),
    "another reason": lambda plan: replace(
        plan, effects=tuple(replace(item, reason="other", remedy="other") for item in plan.effects)
    ),
}


@pytest.mark.parametrize("case", SAME)
@pytest.mark.parametrize("plan", [ROLLBACK, RESET], ids=lambda plan: plan.kind)
def test_the_same_plan_made_at_another_time_is_expected(case, plan):
    require_expected(SAME[case](plan), json.loads(json.dumps(expectation_of(plan))))


@pytest.mark.parametrize(
    "value",
    [
        *(5, "x", [], {}, {"kind": "rollback"}),
        {**expectation_of(ROLLBACK), "steps": "3"},
        {**expectation_of(ROLLBACK), "requirements": {"latest_committed": 5}},
        {**expectation_of(ROLLBACK), "sink_effects": []},
        {**expectation_of(ROLLBACK), "more": 1},
    ],
    ids=repr,
)
def test_what_is_no_expectation_is_refused(value):
    with pytest.raises(PlanError, match="the expected plan"):
        require_expected(ROLLBACK, value)
