"""Fences against two live queries of real Spark; `make fences` has 300, with drivers that die, and in S3."""

from __future__ import annotations

from tests.changes.fence.driver import Driver
from tests.changes.fence.live import ALIVE, Fences


def test_a_query_stops_behind_a_fence_and_goes_on_with_each_row_once(spark, tmp_path):
    fences, here = Fences(tmp_path, None, None, seed=1), Driver(None, spark)
    cases = [
        fences.case(kind="stateless", place="disk", fate=ALIVE, slow_ms=0, every_ms=500),
        fences.case(kind="windows", place="disk", fate=ALIVE, state="hdfs", slow_ms=1500, every_ms=0),
    ]
    for case in cases:
        assert here("start", case.name, case.spec) == ""
    fences.fence_living(cases, here)
    assert [case.outcome for case in cases] == ["fenced", "fenced"]
    fences.left = cases
    fences.judge_left(here)
    assert fences.wrong == []
