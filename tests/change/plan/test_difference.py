"""What two plans do differently is said in the words of a refusal; what only people read is no difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.plan.actions import Delete
from airflow_provider_ckpt.change.plan.difference import difference
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.plan.requirements import SameQuery
from airflow_provider_ckpt.sinks.effects import SinkEffect
from tests.change.plans import ROLLBACK

FIRST, *REST = ROLLBACK.actions
Edit = Callable[[Plan], Plan]

OTHERS: dict[str, tuple[Edit, str]] = {
    "the query": (lambda plan: replace(plan, query_id="p"), "query_id is 'q', now it would be 'p'"),
    "the batch": (lambda plan: replace(plan, batch_id=4), "batch_id is 3, now it would be 4"),
    "where copies come from": (lambda plan: replace(plan, source="s3://x"), "source is 's3://lake/backups'"),
    "the sink": (lambda plan: replace(plan, sink="s3://x"), "sink is 's3://lake/out', now it would be 's3://x'"),
    "what it undoes": (lambda plan: replace(plan, undoes="0" * 16), "undoes is ''"),
    "another step": (
        lambda plan: replace(plan, actions=(Delete("offsets/5", identity="etag"), *REST)),
        "step 1 of the plan is to delete commits/5, now it would be to delete offsets/5",
    ),
    "a step in the sink": (
        lambda plan: replace(plan, actions=(FIRST, FIRST, *REST[1:])),
        "step 2 of the plan is to delete _spark_metadata/5 in the sink, now it would be to delete commits/5",
    ),
    "the order of the steps": (
        lambda plan: replace(plan, actions=(*REST, FIRST)),
        "step 1 of the plan is to delete commits/5",
    ),
    "a step more": (
        lambda plan: replace(plan, actions=(FIRST, *REST, FIRST)),
        "the plan has 3 steps, now it would have 4",
    ),
    "a step less": (
        lambda plan: replace(plan, actions=(FIRST, *REST[:1])),
        "the plan has 3 steps, now it would have 2",
    ),
    "a requirement": (
        lambda plan: replace(plan, requirements=(SameQuery("p"), *plan.requirements[1:])),
        "the plan has other requirements",
    ),
    "the effect on the sink": (
        lambda plan: replace(plan, effects=(SinkEffect("file:s3://lake/out", "skipped", "why"),)),
        "in the plan the effects on sinks are exact (file:s3://lake/out), now they would be skipped (file:s3://lake/out)",
    ),
    "no effect": (lambda plan: replace(plan, effects=()), "now they would be none"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_the_first_difference_is_named(case):
    edit, said = OTHERS[case]
    found = difference(ROLLBACK, edit(ROLLBACK))
    assert found is not None and said in found


SAME: dict[str, Edit] = {
    "the very plan": lambda plan: plan,
    "made at another time": lambda plan: replace(plan, planned_at_ms=plan.planned_at_ms + 1),
    "other warnings": lambda plan: replace(plan, warnings=("another",)),
    "other notes": lambda plan: replace(plan, notes=()),
    "requirements in another order": lambda plan: replace(plan, requirements=plan.requirements[::-1]),
    "another reason for the same effect": lambda plan: replace(
        plan, effects=tuple(replace(item, reason="other") for item in plan.effects)
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_what_only_people_read_is_no_difference(case):
    assert difference(ROLLBACK, SAME[case](ROLLBACK)) is None
