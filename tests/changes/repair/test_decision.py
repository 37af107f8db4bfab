"""Decisions as they are typed, and as a plan keeps them."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.repair.decision import Decisions, decisions_of, parse_decisions
from airflow_provider_ckpt.errors import PlanError


@pytest.mark.parametrize(
    ("adopt", "empty", "interval", "expected"),
    [
        ([], [], None, Decisions()),
        (["4"], [], None, Decisions({4: ()})),
        (["4=a", "4=day=1/b", "5"], ["7"], 3, Decisions({4: ("a", "day=1/b"), 5: ()}, frozenset({7}), 3)),
    ],
)
def test_they_are_read_and_kept(adopt, empty, interval, expected):
    found = parse_decisions(adopt, empty, interval)
    assert found == expected
    assert decisions_of(found.text) == found


@pytest.mark.parametrize(
    ("adopt", "empty", "why"),
    [
        (["x"], [], "is no batch"),
        (["-1"], [], "is no batch"),
        (["1" * 19], [], "is no batch"),
        ([], ["4=a"], "is no batch"),
        (["4="], [], "names no file"),
        (["4=a", "4=a"], [], "is given twice"),
        (["4"], ["4"], "both adopted and empty"),
    ],
)
def test_anything_else_is_refused(adopt, empty, why):
    with pytest.raises(ValueError, match=why):
        parse_decisions(adopt, empty)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "[]",
        '{"adopt": {}}',
        '{"adopt": {"a": []}, "empty": [], "interval": 1}',
        '{"adopt": {}, "empty": [], "interval": 0}',
    ],
)
def test_no_decisions_of_a_plan(text):
    with pytest.raises(PlanError, match="are no decisions"):
        decisions_of(text)
