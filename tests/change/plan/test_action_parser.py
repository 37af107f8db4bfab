"""Steps as JSON: each reads back as it was written, and an unknown one is refused."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.plan.action_parser import action_from_dict
from airflow_provider_ckpt.change.plan.actions import Clear, Close, Copy, Create, Delete, Open, Repartition, Replace
from airflow_provider_ckpt.errors import PlanError
from tests.change.plans import SHA

STEPS = [
    Delete("offsets/4", size=4, identity="etag"),
    Copy("offsets/4", size=4, sha256=SHA, source="s"),
    Copy("offsets/4", size=4, sha256=SHA, source="offsets/.4.tmp", identity="etag"),
    Clear("offsets/4"),
    Create("metadata", data="{}"),
    Replace("offsets/5", "checkpoint", 4, "etag", SHA, "v1"),
    Repartition("commits/6", partitions=5),
    Close("offsets/7"),
    Open("offsets/7"),
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.do)
def test_a_step_reads_back_as_it_was_written(step):
    assert action_from_dict(step.to_dict()) == step


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.do)
def test_a_step_of_a_later_version_is_refused(step):
    with pytest.raises(PlanError):
        action_from_dict({**step.to_dict(), "do": f"{step.do} twice"})


def test_a_step_says_nothing_that_belongs_to_another():
    with pytest.raises(PlanError, match="the close of 'offsets/7' has fields of another action"):
        action_from_dict({**Close("offsets/7").to_dict(), "data": "v1"})


def test_a_copy_of_an_object_beside_it_says_which():
    with pytest.raises(PlanError, match="does not say from which object it comes"):
        action_from_dict({**Copy("offsets/4", size=4, sha256=SHA, identity="etag").to_dict()})
