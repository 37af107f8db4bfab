"""The trigger: it fires when it should, and survives a storage that is away and its own restart."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given, settings

from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger
from airflow_provider_ckpt.triggers.shared_polls import PollPool
from airflow_provider_ckpt.waiting import BatchCommitted, LagAtMost, Needs, NextBatch, SourceEndReached, WatermarkPassed
from airflow_provider_ckpt.waiting.poll import poll_progress
from airflow_provider_ckpt.waiting.wait import Waiting
from tests.airflow.progress_trigger import failing, first_event, restarted, three_batches, trigger
from tests.fake_query import QUERY_ID, FakeQuery, read_all, watermark_ms
from tests.waiting.histories import histories, world
from tests.waiting.meanings import Begun, Ends, meanings, meant

pytestmark = pytest.mark.airflow


@pytest.fixture
def query(tmp_path) -> FakeQuery:
    """Three committed batches."""
    return three_batches(tmp_path)


@pytest.fixture
def polls(monkeypatch):
    """Waits until the storage has been polled so often: what the poll before found is known then."""
    polled, poll = [], PollPool.poll

    async def counted(self, *arguments):
        polled.append(self)
        return await poll(self, *arguments)

    async def until(count: int) -> None:
        async with asyncio.timeout(30):
            while len(polled) < count:
                await asyncio.sleep(0.01)

    monkeypatch.setattr(PollPool, "poll", counted)
    return until


# --- a wait ----------------------------------------------------------------------------------------------------------


def test_it_fires_when_the_batch_is_committed(query, polls):
    query.plan(3)

    async def commit_while_it_waits():
        event = asyncio.ensure_future(anext(trigger(query, BatchCommitted(3)).run()))
        await polls(2)
        assert not event.done(), "a planned batch does not count"
        query._write("commits/3", b"v1\n{}")
        return (await asyncio.wait_for(event, 30)).payload

    assert asyncio.run(commit_while_it_waits()) == {
        "status": "reached",
        "batch_id": 3,
        "watermark_ms": watermark_ms(3),
        "query_id": QUERY_ID,
        "met": ["batch"],
    }


def test_it_fires_once(query):
    async def events():
        return [event async for event in trigger(query, BatchCommitted(1)).run()]

    assert len(asyncio.run(events())) == 1


def test_every_argument_survives_serialisation(query):
    arguments = {
        "condition": BatchCommitted(7).to_dict(),
        "every": "PT1H",
        "timezone": "Europe/Berlin",
        "start": {"query_id": QUERY_ID, "batch_id": 2, "committed_at_ms": 5},
        "sources": {"0": "kafka:host:9092"},
        "source_options": {"0.maxOffsetsPerTrigger": 5},
        "trigger": "availableNow",
        "kafka_conn_id": "broker",
        "checkpoint_conn_id": "lake",
        "storage_options": None,
        "kafka_options": None,
        "kafka_clusters": None,
        "query": None,
        "query_file": None,
        "poke_interval": 7.5,
        "deadline_ms": 9_999_999_999_999,
    }
    waiting = CheckpointProgressTrigger(checkpoint="orders", **arguments)
    assert restarted(waiting).serialize()[1] == {"checkpoint": "orders", **arguments}


def test_the_deadline_is_wall_clock_and_outlives_a_restart(query):
    ends_ms = int(time.time() * 1000) + 600
    waiting = trigger(query, WatermarkPassed(2**62), deadline_ms=ends_ms)

    async def killed():
        events = asyncio.ensure_future(anext(waiting.run()))
        await asyncio.sleep(0.2)
        events.cancel()
        await asyncio.gather(events, return_exceptions=True)

    asyncio.run(killed())
    event = first_event(restarted(waiting))
    assert int(time.time() * 1000) >= ends_ms
    assert (event["status"], event["batch_id"], event["watermark_ms"]) == ("timeout", 2, watermark_ms(2))


@settings(max_examples=25)
@given(histories, meanings)
def test_one_that_is_restarted_for_every_look_fires_exactly_when_the_definition_says(history, meaning):
    with world() as query, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(CheckpointHook, "source_ends", lambda *_: Ends(query))
        location, begun = str(query.root), None
        for step in [step for step in history if step.on(query) or step.looked_at]:
            if begun is None:
                progress = poll_progress(Store.open(location), meaning.condition.needs | Needs(offsets=True))
                wait = Waiting(location, meaning.condition, ends=Ends(query))
                wait.step(progress, query.now_ms)
                begun = Begun.of(query)
            arguments = {"start": wait.start.to_dict(), "sources": {"0": "kafka:nowhere"}}
            event = first_event(
                restarted(trigger(location, wait.condition, **arguments, poke_interval=0, deadline_ms=1))
            )
            verdict = meant(meaning, query, begun)
            said = "lost" if event.get("code") == "WAIT_LOST" else event["status"]
            assert said == {"open": "timeout"}.get(verdict, verdict), step
            if verdict != "open":
                begun = None


WRITTEN = {
    "begun by a sensor": {
        "condition": {"condition": "next_batch", "after_ms": 0},
        "start": {"query_id": QUERY_ID, "batch_id": 2, "committed_at_ms": None},
    },
    "begun by the scheduler": {"condition": {"condition": "batch", "batch_id": "2"}, "start": None},
    "several": {
        "condition": {
            "condition": "any_of",
            "conditions": [{"condition": "batch", "batch_id": 9}, {"condition": "watermark", "watermark_ms": 5}],
        },
        "start": {"query_id": QUERY_ID, "batch_id": 1, "committed_at_ms": None},
    },
}


@pytest.mark.parametrize("kept", WRITTEN.values(), ids=WRITTEN)
def test_one_that_was_serialised_before_an_upgrade_goes_on(query, kept):
    """The arguments as earlier versions of the package have written them into the database of Airflow."""
    others = {"sources": None, "kafka_conn_id": None, "checkpoint_conn_id": None, "deadline_ms": None}
    arguments = {"checkpoint": query.store.location, "every": "batch", "timezone": "UTC", "poke_interval": 0.05}
    event = first_event(CheckpointProgressTrigger(**arguments, **others, **kept))
    assert (event["status"], event["batch_id"]) == ("reached", 2)


@pytest.mark.parametrize(("kept", "problem"), [
    ({"condition": {"condition": "moon"}, "start": None}, "not a condition"),
    ({"condition": {"condition": "batch", "batch_id": 1}, "start": {"batch": 1}}, "not the start of a wait"),
    ({"condition": {"condition": "lag", "lag_ms": 1}, "start": {"batch_id": 1}}, "no source was declared"),
])  # fmt: skip
def test_one_that_cannot_be_read_is_an_error_event(query, kept, problem):
    event = first_event(CheckpointProgressTrigger(checkpoint=query.store.location, **kept))
    assert event["status"] == "error" and problem in event["message"]


def test_one_that_goes_on_remembers_what_now_meant(query):
    """The sensor has begun it: the batch that was planned in between is the next one."""
    began = Waiting("orders", NextBatch(0))
    began.step(poll_progress(query.store), 0)
    assert first_event(trigger(query, began.condition, start=began.start.to_dict()))["batch_id"] == 2
    event = first_event(trigger(query, NextBatch(), deadline_ms=1))
    assert event["status"] == "timeout", "one that begins now waits for a batch after now"


@pytest.mark.parametrize("target", [SourceEndReached(), LagAtMost(lag_ms=0)])
def test_the_ends_of_the_sources_are_asked_for_off_the_event_loop(query, monkeypatch, target):
    import threading

    asked = set()

    class EndsHere:
        def end_at(self, at_ms, progress, *, slack=0):
            asked.add(threading.get_ident())
            return BatchCommitted(2)

    def opened(*_):
        asked.add(threading.get_ident())
        return EndsHere()

    monkeypatch.setattr(CheckpointHook, "source_ends", opened)
    assert first_event(trigger(query, target, sources={"0": "kafka:host:9092"}))["met"] == ["batch"]
    assert asked and threading.get_ident() not in asked


def test_ends_that_nobody_declared_are_an_error_event(query):
    event = first_event(trigger(query, SourceEndReached()))
    assert (event["status"], event["retryable"]) == ("error", False) and "no source was declared" in event["message"]


# --- trouble ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["replaced", "rolled back"])
def test_a_target_that_cannot_come_any_more_is_an_error_event(query, change, polls):
    async def change_while_it_waits():
        event = asyncio.ensure_future(anext(trigger(query, BatchCommitted(9)).run()))
        await polls(2)
        for name in read_all(query.store) if change == "replaced" else ["commits/2", "offsets/2"]:
            query.store.delete(name)
        return (await asyncio.wait_for(event, 30)).payload

    event = asyncio.run(change_while_it_waits())
    assert (event["status"], event["code"], event["retryable"]) == ("error", "WAIT_LOST", False)
    assert event["location"] == query.store.location


def test_a_damaged_checkpoint_is_an_error_event(query):
    query.store.write("offsets/2", b"")
    event = first_event(trigger(query, WatermarkPassed(5)))
    assert event["status"] == "error" and event["code"] == "INCOMPLETE_LOG_FILE" and event["retryable"] is False


def test_a_condition_that_is_none_is_an_error_event(query):
    arguments = {"checkpoint": query.store.location, "condition": {"condition": "bach"}}
    event = first_event(CheckpointProgressTrigger(**arguments))
    assert event["status"] == "error" and "not a condition" in event["message"]


def test_a_storage_that_is_away_is_asked_again(query, monkeypatch):
    asked = []

    def away(store: Store) -> None:
        asked.append(store)
        if len(asked) < 4:
            raise StoreUnavailableError("away", location=store.location)

    failing(monkeypatch, away)
    assert first_event(trigger(query, BatchCommitted(2)))["status"] == "reached"
    assert len(asked) == 4


def test_a_storage_that_stays_away_ends_with_the_deadline(query, monkeypatch):
    def away(store: Store) -> None:
        raise StoreUnavailableError("away", location=store.location)

    failing(monkeypatch, away)
    event = first_event(trigger(query, BatchCommitted(2), deadline_ms=int(time.time() * 1000) + 200))
    assert (event["status"], event["batch_id"]) == ("timeout", None)


def test_a_bug_is_not_made_an_event(query, monkeypatch):
    def bug(store: Store) -> None:
        raise RuntimeError("a bug")

    failing(monkeypatch, bug)
    with pytest.raises(RuntimeError, match="a bug"):
        first_event(trigger(query, BatchCommitted(2)))
