"""Judging a switch in a task: before the query is stopped, when it is, and right before the new version starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ckpt.blue_green import require
from airflow_provider_ckpt.operators.checkpoint import CheckpointSwitchOperator
from tests.blue_green.lab import Query
from tests.operators.task import carry_out

pytestmark = pytest.mark.airflow


@pytest.fixture
def live(tmp_path: Path) -> Query:
    """A query that has committed batches 0 to 4."""
    return Query(tmp_path / "live").run(*range(5))


def switch(live: Query, **arguments: Any) -> Any:
    return carry_out(CheckpointSwitchOperator, **{"checkpoint": str(live.checkpoint), "backup_root": "b", **arguments})


def test_what_the_sink_allows_is_said_before(live):
    said = switch(live, sinks=f"file:{live.out}")
    assert (said["batch_id"], said["sink_effects"][0]["effect"]) == (4, "exact")
    assert f"ckpt rollback {live.checkpoint} --to-batch 4 --sink file:{live.out}" in said["way_back"][1]
    with pytest.raises(AirflowFailException, match="of a switch on kafka is duplicated"):
        switch(live, sinks=["kafka"])
    assert switch(live, sinks="kafka", accept_sink="['duplicated']")["sink_effects"][0]["effect"] == "duplicated"
    with pytest.raises(AirflowFailException, match="not declared"):
        switch(live)


def test_the_ways_back_have_no_secrets(live):
    ways = switch(live, sinks="noop", backup_root="s3://key:hunter22@lake/backups")["way_back"]
    assert "hunter22" not in str(ways) and "lake/backups" in ways[-1]


def test_a_query_that_is_stopped_is_watched(live, monkeypatch):
    monkeypatch.setattr(require.time, "sleep", lambda _: None)
    assert switch(live, sinks="kafka", query_is_stopped=True)["sink_effects"][0]["effect"] == "exact"
    assert switch(live, sinks="kafka", query_is_stopped=lambda: True)["in_flight"] is None
    monkeypatch.setattr(require.time, "sleep", lambda _: live.run(5))
    with pytest.raises(AirflowException, match="a query is running"):
        switch(live, sinks="kafka", query_is_stopped=True)


def test_a_query_that_ran_since_the_switch_was_judged(live, monkeypatch):
    monkeypatch.setattr(require.time, "sleep", lambda _: None)
    judged = switch(live, sinks="kafka", query_is_stopped=True)
    for given in (judged, json.dumps(judged), None, ""):
        assert switch(live, sinks="kafka", query_is_stopped=True, unchanged_since=given) == judged
    live.run(5)
    with pytest.raises(AirflowException, match="a query has run since the switch was judged: batch 4 was the latest"):
        switch(live, sinks="kafka", query_is_stopped=True, unchanged_since=judged)


@pytest.mark.parametrize("given", [7, "stopped", [], {}, {"batch_id": "4", "in_flight": None}], ids=repr)
def test_what_no_task_has_returned_is_refused(live, given):
    with pytest.raises(AirflowFailException, match="unchanged_since must be what CheckpointSwitchOperator"):
        switch(live, sinks="noop", unchanged_since=given)
