"""Comparing a new version with the live query in a task: it fails, or it reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.operators.checkpoint import CheckpointCompareOperator
from tests.blue_green.lab import Query, fork_of
from tests.operators.task import carry_out

pytestmark = pytest.mark.airflow

#: Batch 3 of the live query.
STAGED = {
    "format_version": 1,
    "first_batch": 3,
    "last_batch": 3,
    "stateful": False,
    "offsets": {"0": '{"offset": 12}'},
    "watermark_ms": 0,
}


@pytest.fixture
def live(tmp_path: Path) -> Query:
    """A query that has committed batches 0 to 4."""
    return Query(tmp_path / "live").run(*range(5))


@pytest.fixture
def fork(tmp_path: Path) -> Query:
    """Its fork after batch 2."""
    return fork_of(tmp_path / "fork", 2)


def compare(live: Query, fork: Query, **arguments: Any) -> Any:
    given = {
        "checkpoint": str(live.checkpoint),
        "fork": str(fork.checkpoint),
        "sink": f"file:{live.out}",
        "shadow_sink": f"file:{fork.out}",
        "batches": {**STAGED, "shadow_sink": f"file:{fork.out}"},
    }
    return carry_out(CheckpointCompareOperator, **{**given, **arguments})


def test_equal_outputs_pass_and_others_fail_or_are_reported(live, fork):
    fork.run(3)
    found = compare(live, fork, keys="value")
    assert (found["is_equal"], found["live_rows"], found["shape"], found["examples"]) == (True, 3, [], [])
    assert compare(live, fork, batches=json.dumps({**STAGED, "shadow_sink": f"file:{fork.out}"})) == found
    fork.write(3, [{"value": 9}, {"value": 10}])
    with pytest.raises(AirflowFailException, match="the new version differs: 1 of 3 live rows are missing"):
        compare(live, fork)
    reported = compare(live, fork, keys=["value"], on_difference="report")
    assert reported["examples"] == [{"live": "{value: 11}", "shadow": None}] and not reported["is_equal"]


def test_a_shadow_sink_that_is_inside_the_live_one_is_refused(live, fork):
    with pytest.raises(AirflowFailException, match="one is inside the other"):
        compare(live, fork, shadow_sink=f"file:{live.out}/shadow")
