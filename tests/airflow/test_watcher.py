"""The trigger as a watcher of a stream: it tells of each new batch, or of each window, once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from unittest import mock

import pytest

from airflow_provider_ckpt.errors import CheckpointError, StoreUnavailableError
from airflow_provider_ckpt.hooks.links import page_link
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import time_text
from airflow_provider_ckpt.triggers import checkpoint as module
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger
from airflow_provider_ckpt.triggers.shared_polls import PollPool
from airflow_provider_ckpt.waiting import WatermarkPassed
from tests.airflow.progress_trigger import commit, failing, first_event, restarted, three_batches, trigger
from tests.fake_query import QUERY_ID, FakeQuery, read_all, watermark_ms

pytestmark = pytest.mark.airflow

HOUR_MS = 3_600_000


@pytest.fixture
def query(tmp_path) -> FakeQuery:
    """Three committed batches."""
    return three_batches(tmp_path)


class AssetState:
    """What Airflow 3.3 gives a watcher to remember in."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    async def aget(self, key: str, default: object = None) -> object:
        return json.loads(self.kept[key]) if key in self.kept else default

    async def aset(self, key: str, value: object) -> None:
        self.kept[key] = json.dumps(value)


def told(watching: CheckpointProgressTrigger, *happens, memory: AssetState | None = None) -> list[dict]:
    """The events of a watcher: at its start, and after each thing that happens."""
    if memory is not None:
        watching.asset_state_store = memory

    looks, poll_once = [], PollPool.poll

    async def counted(self, opened, needs):
        try:
            return await poll_once(self, opened, needs)
        finally:
            looks.append(opened)

    async def watch():
        events: list[dict] = []

        async def listen():
            async for event in watching.run():
                events.append(event.payload)  # noqa: PERF401 - it never ends

        listening = asyncio.ensure_future(listen())
        for happen in (lambda: None, *happens):
            happen()
            enough = len(looks) + 4
            while len(looks) < enough and not listening.done():
                await asyncio.sleep(0.01)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        return events

    with mock.patch.object(PollPool, "poll", counted):
        return asyncio.run(watch())


@pytest.fixture(autouse=True)
def settled_at_once(monkeypatch):
    monkeypatch.setattr(module, "SETTLE_S", 0.0)


def test_a_watcher_tells_of_each_new_batch(query):
    events = told(trigger(query), lambda: query.plan(3), lambda: query._write("commits/3", b"v1\n{}"))
    assert [event["batch_id"] for event in events] == [2, 3], "what is planned is no news"
    watermark = time_text(watermark_ms(3))
    assert events[1] == {
        "status": "progress",
        "checkpoint": query.store.location,
        "batch_id": 3,
        "watermark_ms": watermark_ms(3),
        "query_id": QUERY_ID,
        "met": [],
        "text": f"New batches are committed of {query.store.location} at batch 3, with the watermark {watermark}.",
        "location": query.store.location,
        "link": page_link(query.store.location),
        "watermark": watermark,
    }


def test_a_watcher_that_remembers_tells_nothing_twice_and_what_it_has_missed(query):
    memory = AssetState()
    assert [event["batch_id"] for event in told(trigger(query), memory=memory)] == [2]
    assert told(restarted(trigger(query)), memory=memory) == []
    commit(query, 3)
    commit(query, 4)
    assert [event["batch_id"] for event in told(restarted(trigger(query)), memory=memory)] == [4]


def test_without_a_memory_each_start_begins_with_an_event(query):
    for _ in range(2):
        assert [event["batch_id"] for event in told(trigger(query))] == [2]


def test_an_event_is_never_lost_when_the_triggerer_dies_before_it_is_settled(query, monkeypatch):
    monkeypatch.setattr(module, "SETTLE_S", 3600.0)
    memory = AssetState()
    for _ in range(2):
        watching = trigger(query)
        watching.asset_state_store = memory
        assert first_event(watching)["batch_id"] == 2
    assert not memory.kept


def test_a_watcher_of_windows_tells_when_the_watermark_is_past_another_one(query):
    hours = [60 * number for number in (1, 2)]
    events = told(
        trigger(query, every="PT1H"),
        lambda: commit(query, hours[0] - 21),
        lambda: commit(query, hours[0] - 19),
        lambda: commit(query, hours[1] - 21),
        lambda: commit(query, hours[1] + 50),
    )
    boundaries = [event["watermark_ms"] // HOUR_MS for event in events]
    assert boundaries == sorted(set(boundaries)) and len(events) >= 3
    every_batch = [watermark_ms(batch) // HOUR_MS for batch in (2, 39, 41, 99, 170)]
    assert boundaries == sorted(set(every_batch)), "no boundary is told twice, none is missed"


def test_another_query_in_the_same_place_is_news(query):
    def replaced() -> None:
        for name in read_all(query.store):
            query.store.delete(name)
        query._write("metadata", json.dumps({"id": QUERY_ID.replace("7f", "8f")}).encode())
        commit(query, 2)

    events = told(trigger(query), replaced)
    assert [event["query_id"] for event in events] == [QUERY_ID, QUERY_ID.replace("7f", "8f")]


def test_a_watcher_asks_a_storage_that_is_away_again(query, monkeypatch):
    asked = []

    def away(store: Store) -> None:
        asked.append(store)
        if len(asked) < 3:
            raise StoreUnavailableError("away", location=store.location)

    failing(monkeypatch, away)
    assert [event["batch_id"] for event in told(trigger(query))] == [2]


def test_a_watcher_of_no_windows_is_an_error_when_the_dag_is_read(query):
    with pytest.raises(CheckpointError, match="'hourly' is not the length"):
        trigger(query, every="hourly")


def test_a_damaged_entry_starts_no_dag_and_the_watcher_goes_on(query):
    entry = Path(query.store.location) / "offsets" / "2"
    whole = entry.read_bytes()
    entry.write_bytes(b"nonsense")
    events = told(trigger(query), lambda: entry.write_bytes(whole))
    assert [(event["status"], event["batch_id"]) for event in events] == [("progress", 2)]


def test_looking_writes_nothing(query):
    root = Path(query.store.location)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    first_event(trigger(query, WatermarkPassed(1)))
    told(trigger(query))
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
