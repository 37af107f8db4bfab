"""The triggers of positions: when they fire, what they outlive, and what is an event."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.triggers import shared_polls
from airflow_provider_ckpt.triggers.position_polls import LagPoll, Polled
from airflow_provider_ckpt.triggers.positions import (
    CheckpointDataLossTrigger,
    CheckpointLagTrigger,
    CheckpointPositionTrigger,
)
from airflow_provider_ckpt.triggers.shared_polls import SOURCES_AT_ONCE, THREADS
from tests.kafka_checkpoint import commit_batch

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(180)]


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Whatever a test does, in the end no thread is kept."""
    yield
    assert not shared_polls._POOLS


@pytest.fixture
def query(tmp_path) -> dict[str, Any]:
    """A query that has read nothing of a directory with one file."""
    commit_batch(tmp_path / "checkpoint", 0, '{"logOffset":-1}')
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"1")
    return {"checkpoint": str(tmp_path / "checkpoint"), "sources": {"0": f"file:{tmp_path}/in"}}


def restarted(waiting: CheckpointPositionTrigger) -> CheckpointPositionTrigger:
    """The trigger as another triggerer has it: through JSON."""
    path, arguments = waiting.serialize()
    assert path == f"{type(waiting).__module__}.{type(waiting).__qualname__}"
    again = type(waiting)(**json.loads(json.dumps(arguments)))
    assert again.serialize() == (path, arguments)
    return again


def events(waiting: CheckpointPositionTrigger) -> list[dict[str, Any]]:
    """All that it says."""

    async def every() -> list[dict[str, Any]]:
        return [event.payload async for event in restarted(waiting).run()]

    return asyncio.run(asyncio.wait_for(every(), 60))


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        (
            CheckpointLagTrigger,
            {"most": 5, "max_age": "PT5M", "source_options": {"0.maxOffsetsPerTrigger": 9}, "trigger": "once"},
        ),
        (
            CheckpointDataLossTrigger,
            {"will_lose_data_within": 3600.0, "source_options": {"0.failOnDataLoss": False}, "trigger": "once"},
        ),
    ],
)
def test_every_argument_survives_serialisation(kind, own):
    arguments = {
        "checkpoint": "orders",
        "sources": {"0": "kafka:host:9092"},
        "kafka_conn_id": "broker",
        "checkpoint_conn_id": "lake",
        "storage_options": {"endpoint_url": "http://s3:9000"},
        "kafka_options": {"security.protocol": "SSL"},
        "kafka_clusters": {"b1:9092": {"options": {"security.protocol": "SSL"}, "conn_id": "main"}},
        "query": "orders",
        "query_file": "ckpt.yaml",
        "poke_interval": 7.5,
        "deadline_ms": 9_999_999_999_999,
        **own,
    }
    assert restarted(kind(**arguments)).serialize()[1] == arguments


def test_it_fires_once_with_what_the_task_returns(query):
    [event] = events(CheckpointLagTrigger(**query, most=1))
    assert event["status"] == "reached"
    assert event["result"]["checkpoints"][0]["sources"][0]["total"] == 1
    assert json.loads(json.dumps(event)) == event, "the database keeps it"


def test_it_fires_when_the_query_has_come_near_enough(query, monkeypatch):
    polled, poll = [], LagPoll.poll

    def read_after_two_polls(self: LagPoll) -> Polled:
        polled.append(self)
        if len(polled) == 3:
            (Path(query["sources"]["0"].removeprefix("file:")) / "a").unlink()
        return poll(self)

    monkeypatch.setattr(LagPoll, "poll", read_after_two_polls)
    [event] = events(CheckpointLagTrigger(**query, most=0, poke_interval=0.01))
    assert event["status"] == "reached" and len(polled) == 3


def test_the_deadline_is_wall_clock(query):
    ends_ms = int(time.time() * 1000) + 300
    [event] = events(CheckpointLagTrigger(**query, most=0, poke_interval=100, deadline_ms=ends_ms))
    assert event["status"] == "timeout" and event["text"].startswith("source 0 is behind by 1 files")
    assert int(time.time() * 1000) >= ends_ms


def test_a_source_that_is_away_is_asked_again(query, monkeypatch):
    polled, poll = [], LagPoll.poll

    def away_twice(self: LagPoll) -> Polled:
        polled.append(self)
        if len(polled) < 3:
            raise StoreUnavailableError("away", location="kafka:host:9092")
        return poll(self)

    monkeypatch.setattr(LagPoll, "poll", away_twice)
    [event] = events(CheckpointLagTrigger(**query, most=1, poke_interval=0.01))
    assert event["status"] == "reached" and len(polled) == 3


def test_a_source_that_stays_away_ends_with_the_deadline(query, monkeypatch):
    def away(self: LagPoll) -> Polled:
        raise StoreUnavailableError("away", location="kafka:host:9092")

    monkeypatch.setattr(LagPoll, "poll", away)
    [event] = events(CheckpointLagTrigger(**query, most=1, poke_interval=0.01, deadline_ms=1))
    assert event["status"] == "timeout" and "kafka:host:9092: away" in event["text"]


@pytest.mark.parametrize(
    ("kind", "given", "code"),
    [
        (CheckpointLagTrigger, {"most": "many"}, "CHECKPOINT_ERROR"),
        (CheckpointLagTrigger, {"most": 1, "sources": "rate"}, "CHECKPOINT_ERROR"),
        (CheckpointLagTrigger, {"most": 1, "checkpoint": "/nowhere/at/all"}, "NOT_FOUND"),
        (CheckpointDataLossTrigger, {"will_lose_data_within": "soon"}, "CHECKPOINT_ERROR"),
    ],
)
def test_what_makes_no_sense_is_an_error_event(query, kind, given, code):
    [event] = events(kind(**{**query, **given}))
    assert (event["status"], event["retryable"], event["code"]) == ("error", False, code)


def test_a_bug_is_not_made_an_event(query, monkeypatch):
    def broken(self: LagPoll) -> Polled:
        raise KeyError("a bug")

    monkeypatch.setattr(LagPoll, "poll", broken)
    with pytest.raises(KeyError, match="a bug"):
        events(CheckpointLagTrigger(**query, most=1))


def test_sources_that_do_not_answer_leave_threads_for_the_storage():
    assert 0 < SOURCES_AT_ONCE < THREADS
