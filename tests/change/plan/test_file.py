"""What a plan file holds, and what is no plan to carry out; ``tests/cli/changes/test_plan_files.py`` writes and carries out real ones."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.plan import file as plan_file
from airflow_provider_ckpt.change.plan.file import MOST_BYTES, decode, document, encode, plan_of_value
from airflow_provider_ckpt.errors import PlanError
from tests.change.plans import REPARTITION, RESET, RESTORE, ROLLBACK, UNDO

WRITTEN = document(ROLLBACK)


@pytest.mark.parametrize("plan", [ROLLBACK, UNDO, RESTORE, REPARTITION, RESET], ids=lambda plan: plan.kind)
def test_a_plan_comes_back_as_it_was_written(plan):
    assert decode(encode(plan), plan.kind) == plan
    assert plan_of_value(document(plan), plan.kind) == plan_of_value(plan.to_dict(), plan.kind) == plan


NOT_CARRIED_OUT = {
    "cut off": (encode(ROLLBACK)[:-1], "it was cut off: its JSON cannot be read"),
    "a list": (b"[]", "it does not have the keys format_version, plan_id and plan"),
    "another document": (json.dumps({"plan_id": "p", "plan": {}}).encode(), "it does not have the keys format_version"),
    "too large": (b" " * (MOST_BYTES + 1), "larger than 25,165,824 bytes"),
    "of a later ckpt": (
        json.dumps({**WRITTEN, "format_version": 99}).encode(),
        "a format version that this release of ckpt does not",
    ),
    "other content": (encode(replace(ROLLBACK, batch_id=2)).replace(b'"batch_id": 2', b'"batch_id": 1'), "edited"),
    "another effect": (
        json.dumps({**WRITTEN, "accept_sink": ["skipped"]}).encode(),
        "sink effect beside the plan is not",
    ),
    "another key": (json.dumps({**WRITTEN, "accept": "all"}).encode(), "ckpt writes no key 'accept' beside it"),
    "another kind": (encode(UNDO), "the plan of an undo, not of a rollback"),
}


@pytest.mark.parametrize(("data", "problem"), NOT_CARRIED_OUT.values(), ids=NOT_CARRIED_OUT)
def test_what_is_not_carried_out(data, problem):
    with pytest.raises(PlanError, match=problem):
        decode(data, "rollback")


def test_an_edited_plan_between_tasks_says_which_task_to_clear():
    with pytest.raises(PlanError, match="was edited") as refused:
        plan_of_value({**WRITTEN, "plan_id": "p"}, "rollback")
    assert refused.value.hint == "Nothing was done. Clear the task that makes the plan."
    with pytest.raises(PlanError, match="no key 'quiet'"):
        plan_of_value({**WRITTEN, "quiet": 1}, "rollback")


def test_a_plan_that_could_not_be_read_back_is_not_written(monkeypatch):
    monkeypatch.setattr(plan_file, "MOST_BYTES", 10)
    with pytest.raises(PlanError, match="has 3 steps and .* bytes, and a plan file has at most 10"):
        encode(ROLLBACK)
