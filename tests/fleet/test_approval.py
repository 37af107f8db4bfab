"""What one person is shown of a fleet: every query, its batch, its effect, and what is refused; at any size and name."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_ckpt.fleet.approval import (
    MOST_CHARS,
    MOST_OF_LINE,
    MOST_OF_NAME,
    JointPlan,
    Outcome,
    PlannedQuery,
    outcomes,
    reason_of,
    refusal_text,
    trouble_text,
)
from airflow_provider_ckpt.fleet.bookmarks import Refusal


def planned(name: str, effect: str = "exact", **changed: Any) -> PlannedQuery:
    sink = {"sink": f"file:/out/{name}", "effect": effect, "remedy": "Trim its log."}
    told = {"batch_id": 41, "actions": 8, "plan_id": "e895", "sink_effect": effect, "warnings": []}
    return PlannedQuery(f"s3://lake/{name}", 0, {**told, "sink_effects": [sink], **changed})


def test_each_query_is_named_the_worst_effect_first():
    joint = JointPlan(
        [planned("a"), planned("b", "duplicated"), planned("c", "unknown"), planned("d", actions=0)],
        [Refusal("s3://lake/e", "It has no bookmark.")],
        left_out=2,
    )
    text = joint.text()
    assert text.startswith(
        "Sink effect: **unknown** for 1, **duplicated** for 1, **exact** for 1. To approve is to accept"
    )
    assert (
        "3 of 5 queries go back; already there: 1; refused: 1; bookmarks of queries that were not asked for: 2." in text
    )
    lines = [line for line in text.splitlines() if line.startswith("* ")]
    assert lines == [
        "* `s3://lake/e`: It has no bookmark.",
        "* `s3://lake/c`: to batch 41 in 8 steps, plan e895, **unknown** (unknown: file:/out/c. Trim its log.)",
        "* `s3://lake/b`: to batch 41 in 8 steps, plan e895, **duplicated** (duplicated: file:/out/b. Trim its log.)",
        "* `s3://lake/a`: to batch 41 in 8 steps, plan e895, **exact**",
    ]
    assert text.endswith("**Approve only when all these queries are stopped.**")
    assert "`s3://lake/d`: is there already" in list(joint.lines())


def test_what_is_exact_for_all_says_so():
    assert JointPlan([planned("a"), planned("b")], []).text().startswith("Sink effect: **exact** for every query.")


def test_an_undo_is_not_said_to_be_undone():
    assert "An undo cannot be undone" in JointPlan([planned("a", kind="undo")], []).text()
    assert "is kept for `ckpt undo`" in JointPlan([planned("a", kind="rollback")], []).text()


def test_warnings_of_a_plan_are_shown():
    assert "The lock is held." in JointPlan([planned("a", warnings=["The lock is held."])], []).text()


@pytest.mark.parametrize("long", [False, True])
def test_the_text_of_a_thousand_queries_is_bounded_and_says_what_it_lacks(long):
    name = "n" * (900 if long else 20)
    queries = [planned(f"{number}/{name}", "exact" if number % 2 else "unknown") for number in range(1_000)]
    refused = [Refusal(f"s3://lake/r{number}/{name}", "It has no bookmark. " * 50) for number in range(500)]
    text = JointPlan(queries, refused).text()
    shown = [line for line in text.splitlines() if "plan e895" in line]
    assert len(text) < MOST_CHARS + 1_000 and len(shown) > 80
    assert f"* … and {1_000 - len(shown):,} more, which are in the log of the task." in text
    assert "**exact**" not in shown[0] and "Sink effect: **unknown** for 500, **exact** for 500." in text
    assert "**Approve only when all these queries are stopped.**" in text
    assert max(map(len, text.splitlines())) < MOST_OF_LINE + MOST_OF_NAME + 20


@pytest.mark.parametrize("name", ["a`b", "a\nb", "a\u202eb", "[a](http://x)", "<img src=x>", "##[error]a"])
def test_a_hostile_name_neither_ends_its_line_nor_makes_a_link(name):
    hostile = planned(name, "unknown", warnings=[name])
    text = JointPlan([hostile], [Refusal(name, name)]).text()
    lines = [line for line in text.splitlines() if line.startswith("* ")]
    assert len(lines) == 2 and "\u202e" not in text
    for line in lines:
        assert line.count("`") == 2
        outside = line.rpartition("`")[2]
        assert "](" not in outside and "<" not in outside


def test_no_secret_of_a_location_is_shown():
    assert "secret" not in refusal_text([Refusal("s3://user:secret@lake/a", "It has no bookmark.")])


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
