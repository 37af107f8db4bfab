"""What became of each approved plan, and what to do about one that is not carried out."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.fleet.outcome import Outcome, outcomes, reason_of, trouble_text

APPROVED = {"checkpoint": "s3://lake/a", "plan_id": "e895"}
DONE = {"plan_id": "e895", "receipt": {"status": "applied"}}
STALE = {"format_version": 1, "error": {"code": "STALE_PLAN", "message": "It has changed.", "hint": "Plan anew."}}


@pytest.mark.parametrize(
    ("told", "error", "problem"),
    [
        (DONE, None, ""),
        (DONE, STALE, ""),
        ({**DONE, "receipt": None}, None, "ended without an answer"),
        ({**DONE, "plan_id": "another"}, None, "ended without an answer"),
        (None, STALE, "It has changed. Plan anew."),
        (None, None, "ended without an answer"),
        ("done", "gone", "ended without an answer"),
    ],
)
def test_only_the_receipt_of_the_approved_plan_is_success(told, error, problem):
    [found] = outcomes([APPROVED], [told], [error])
    assert (found.checkpoint, found.plan_id, found.index) == ("s3://lake/a", "e895", 0)
    assert (problem in found.problem) if problem else found.problem == ""


def test_each_that_failed_is_named_with_what_to_do():
    text = trouble_text([Outcome("s3://lake/a", "1", 0), Outcome("s3://lake/b", "2", 1, "It has changed.")], "rollback")
    assert text.splitlines() == [
        "1 of 2 queries are back, and 1 are not:",
        "* `s3://lake/b`: It has changed. Clear rollback (1), which completes what was begun.",
    ]


@pytest.mark.parametrize("error", [None, "x", {}, {"error": "x"}, {"error": {"message": ""}}], ids=repr)
def test_no_reason_is_none(error):
    assert reason_of(error) == ""
