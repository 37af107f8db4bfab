"""The operators of a blue-green deploy, from a staged range to a switch, on checkpoints that a test writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointCompareOperator,
    CheckpointStageOperator,
    CheckpointSwitchOperator,
)
from airflow_provider_ckpt.shadow import judge_switch
from tests.operators.task import Task
from tests.shadow.lab import Query, fork_of

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


def carry_out(operator: Any, **arguments: Any) -> Any:
    return json.loads(json.dumps(operator(task_id="t", **arguments).execute({"ti": Task()})))


def compare(live: Query, fork: Query, **arguments: Any) -> Any:
    given = {
        "checkpoint": str(live.checkpoint),
        "fork": str(fork.checkpoint),
        "sink": f"file:{live.out}",
        "shadow_sink": f"file:{fork.out}",
        "batches": STAGED,
    }
    return carry_out(CheckpointCompareOperator, **{**given, **arguments})


@pytest.mark.parametrize("last", [4, "4", "", None])
def test_a_template_gives_the_last_batch(live, fork, last):
    staged = carry_out(
        CheckpointStageOperator, checkpoint=str(live.checkpoint), fork=str(fork.checkpoint), last_batch=last
    )
    assert staged == {**STAGED, "last_batch": 4, "offsets": {"0": '{"offset": 15}'}}


def test_equal_outputs_pass_and_others_fail_or_are_reported(live, fork):
    fork.run(3)
    found = compare(live, fork, keys="value")
    assert (found["is_equal"], found["live_rows"], found["examples"]) == (True, 3, [])
    assert compare(live, fork, batches=json.dumps(STAGED)) == found
    fork.write(3, [{"value": 9}, {"value": 10}])
    with pytest.raises(AirflowFailException, match="the new version differs: 1 of 3 live rows are missing"):
        compare(live, fork)
    reported = compare(live, fork, keys=["value"], on_difference="report")
    assert reported["examples"] == [{"live": "{value: 11}", "shadow": None}] and not reported["is_equal"]


def test_a_shadow_sink_that_is_inside_the_live_one_is_refused(live, fork):
    with pytest.raises(AirflowFailException, match="one is inside the other"):
        compare(live, fork, shadow_sink=f"file:{live.out}/shadow")


def switch(live: Query, **arguments: Any) -> Any:
    return carry_out(CheckpointSwitchOperator, **{"checkpoint": str(live.checkpoint), "backup_root": "b", **arguments})


def test_what_the_sink_allows_is_said_before(live):
    said = switch(live, sinks=f"file:{live.out}")
    assert (said["batch_id"], said["sink_effects"][0]["effect"]) == (4, "exact")
    assert f"ckpt rollback {live.checkpoint} --to-batch 4 --sink file:{live.out}" in said["way_back"][1]
    with pytest.raises(AirflowFailException, match="sink kafka is duplicated"):
        switch(live, sinks=["kafka"])
    assert switch(live, sinks="kafka", accept_sink="['duplicated']")["sink_effects"][0]["effect"] == "duplicated"
    with pytest.raises(AirflowFailException, match="not declared"):
        switch(live)


def test_a_query_that_is_stopped_is_watched(live, monkeypatch):
    monkeypatch.setattr(judge_switch.time, "sleep", lambda _: None)
    assert switch(live, sinks="kafka", query_is_stopped=True)["sink_effects"][0]["effect"] == "exact"
    assert switch(live, sinks="kafka", query_is_stopped=lambda: True)["in_flight"] is None
    monkeypatch.setattr(judge_switch.time, "sleep", lambda _: live.run(5))
    with pytest.raises(AirflowException, match="a query is running"):
        switch(live, sinks="kafka", query_is_stopped=True)
