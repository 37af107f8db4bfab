"""What counts as a right deploy: where it ended, and that what the case is about has happened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.deploys.cases import BAD, GOOD, KILLED
from tests.deploys.run import Result, ended_at

CASES = {case.name: case for case in (*GOOD, *BAD, *KILLED)}


def result(name: str, **other) -> Result:
    """A deploy that ended as it must."""
    case = CASES[name]
    right = Result(
        case,
        ended=case.ends,
        was_asked=case.ends in ("deployed", "approve"),
        was_killed=bool(case.kill),
        untouched=case.ends != "deployed",
        lacking=0,
        extra=0,
        rows=10,
        seconds=1,
    )
    return replace(right, **other)


@pytest.mark.parametrize("name", CASES)
def test_every_case_can_be_right_and_wrong(name):
    right = result(name)
    assert right.is_right and right.line().endswith("right")
    wrong = ({"ended": "nowhere"}, {"lacking": 1}, {"extra": 1}, {"rows": 0}, {"was_killed": not right.was_killed})
    assert [given for given in wrong if result(name, **given).is_right] == []


def test_a_switch_without_a_person_and_a_bad_version_that_stops_the_live_query():
    assert not result("refactored", was_asked=False).is_right
    assert not result("a wrong factor", untouched=False).is_right


def test_there_are_ten_good_and_ten_bad_ones_at_least():
    ends = [case.ends for case in CASES.values()]
    assert ends.count("deployed") >= 10 and len(ends) - ends.count("deployed") >= 10


def test_where_a_run_ended():
    order = "allowed gate backup fork next_batch stage shadow caught_up compare approve answered stop_old stopped"
    states = dict.fromkeys(
        [*order.split(), "gate_again", "keep", "still_stopped", "restart", "wait", "continuity", "deployed"], "success"
    )
    assert ended_at(states) == "deployed"
    assert ended_at({**states, "deployed": "skipped"}) == "approve"
    assert ended_at({**states, "deployed": "upstream_failed", "still_stopped": "failed"}) == "still_stopped"
