"""What people write of where a source is to go: one goal, or an error that says what is wrong."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.sources.goal import SkipSnapshot, SkipVersion, ToSnapshot, ToVersion, goal_key, parse_goal
from airflow_provider_ckpt.sources.kafka.strategies import (
    ByDuration,
    FromFile,
    ShiftBy,
    ToCurrent,
    ToDatetime,
    ToEarliest,
    ToLatest,
    ToOffsets,
)

GOALS = [
    ({"earliest": True}, ToEarliest()),
    ({"latest": True}, ToLatest()),
    ({"current": True}, ToCurrent()),
    ({"at_ms": 0}, ToDatetime(0)),
    ({"duration_ms": 0}, ByDuration(0)),
    ({"shift": -5}, ShiftBy(-5)),
    ({"shift": 0}, ShiftBy(0)),
    ({"offsets": "7"}, ToOffsets(7)),
    ({"offsets": 7}, ToOffsets(7)),
    ({"offsets": '{"t":{"0":5,"1":-2}}'}, ToOffsets({("t", 0): 5, ("t", 1): -2})),
    ({"offsets": {"t": {0: 5}}}, ToOffsets({("t", 0): 5})),
    ({"csv": "t,0,5\n"}, FromFile({("t", 0): 5})),
    ({"version": 0}, ToVersion(0)),
    ({"snapshot": 7}, ToSnapshot(7)),
    ({"skip_version": 0}, SkipVersion(0)),
    ({"skip_snapshot": 7}, SkipSnapshot(7)),
]


@pytest.mark.parametrize(("given", "goal"), GOALS)
def test_each_goal_is_read(given, goal):
    assert parse_goal(**given) == goal


def test_each_goal_has_a_key_of_its_own_which_stays():
    goals = [goal for given, goal in GOALS if given != {"offsets": "7"}]
    keys = [goal_key(goal) for goal in goals]
    assert len(set(keys)) == len(keys)
    assert keys[:6] == ["earliest=", "latest=", "current=", "at_ms=0", "duration_ms=0", "shift=-5"]
    assert keys[6:9] == ["shift=0", "offsets=7", "offsets=t,0,5\nt,1,-2\n"]
    assert keys[-5:] == ["csv=t,0,5\n", "version=0", "snapshot=7", "skip_version=0", "skip_snapshot=7"]


NONE = {
    "none": ({}, "give exactly one of earliest, latest, .*; given: none"),
    "two": ({"earliest": True, "shift": 0, "called": {"shift": "--shift-by"}}, "given: earliest and --shift-by"),
    "a version that is gone to and one that is skipped": (
        {"version": 1, "skip_version": 2},
        "given: version and skip_version",
    ),
    "an empty object": ({"offsets": "{}"}, "offsets must be a number, or a JSON object by topic"),
    "a topic without partitions": ({"offsets": '{"t":{}}'}, "at least one partition"),
    "a list": ({"offsets": "[1]"}, "offsets must be a number"),
    "a topic that is a number": ({"offsets": '{"t":5}'}, "offsets must be a number"),
    "true": ({"offsets": "true"}, "offsets must be a number"),
    "no JSON": ({"offsets": "{"}, "Expecting property name"),
    "one offset below 0": ({"offsets": "-1"}, "the offset is -1, and not a whole number from 0 on"),
    "an offset below -2": ({"offsets": '{"t":{"0":-3}}'}, r"the offset of t-0 is -3, .* from -2 on \(-2 is the earliest"),
    "an offset that is text": ({"offsets": '{"t":{"0":"5"}}'}, "the offset of t-0 is '5'"),
    "an offset past Java's long": ({"offsets": str(1 << 63)}, "whole number"),
    "a partition that is named twice": ({"offsets": '{"t":{"0":5,"00":7}}'}, "partition t-0 has two offsets"),
    "a partition that is none": ({"offsets": '{"t":{"x":5}}'}, "'x' is not the number of a partition of t"),
    "a file that is none": ({"csv": "t,0\n"}, "line 1 has 2 values"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "problem"), NONE.values(), ids=NONE)
def test_anything_else_is_an_error(given, problem):
    with pytest.raises(ValueError, match=problem):
        parse_goal(**given)
