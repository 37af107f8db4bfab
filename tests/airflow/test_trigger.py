"""The trigger: it fires when it should, survives a storage that is away, and never blocks the loop."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import pytest

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.progress import BatchCommitted, WatermarkPassed
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.triggers import checkpoint as module
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger

pytestmark = pytest.mark.airflow


BATCH_7 = BatchCommitted(7)


def trigger(checkpoint: Path | str, target=BATCH_7, **arguments: object) -> CheckpointProgressTrigger:
    return CheckpointProgressTrigger(
        checkpoint=str(checkpoint), target=target.to_dict(), **{"poke_interval": 0.05, **arguments}
    )


def first_event(waiting: CheckpointProgressTrigger, seconds: float = 20) -> dict:
    async def first():
        return await asyncio.wait_for(anext(waiting.run()), seconds)

    return asyncio.run(first()).payload


def test_it_fires_when_the_batch_is_committed(golden, tmp_path):
    checkpoint = golden("agg-hdfs")
    commit = checkpoint / "commits" / "7"
    commit.rename(tmp_path / "7")

    async def commit_while_it_waits():
        event = asyncio.ensure_future(anext(trigger(checkpoint).run()))
        await asyncio.sleep(0.5)
        assert not event.done(), "a planned batch does not count"
        shutil.copy(tmp_path / "7", commit)
        return (await asyncio.wait_for(event, 10)).payload

    assert asyncio.run(commit_while_it_waits())["batch_id"] == 7


def test_it_serialises_all_it_needs(golden):
    waiting = trigger(golden("agg-hdfs"), WatermarkPassed(5), checkpoint_conn_id=None, deadline_ms=9_999_999_999_999)
    path, arguments = waiting.serialize()
    again = CheckpointProgressTrigger(**arguments)
    assert again.serialize() == (path, arguments)
    assert first_event(again)["status"] == "reached", "a restarted trigger goes on"


def test_the_deadline_is_wall_clock(golden):
    event = first_event(trigger(golden("agg-hdfs"), BatchCommitted(99), deadline_ms=int(time.time() * 1000) + 300))
    assert event == {"status": "timeout", "batch_id": 7, "watermark_ms": None}


def test_a_damaged_checkpoint_is_an_error_event(golden):
    checkpoint = golden("agg-hdfs")
    (checkpoint / "offsets" / "7").write_bytes(b"")
    event = first_event(trigger(checkpoint, WatermarkPassed(5)))
    assert event["status"] == "error" and event["code"] == "INCOMPLETE_LOG_FILE" and event["retryable"] is False


def test_a_storage_that_is_away_is_asked_again(golden, monkeypatch):
    answers = []

    def flaky(store: Store, **options: object):
        answers.append(1)
        if len(answers) < 4:
            raise StoreUnavailableError("away", location=store.location)
        return lifecycle.read_progress(store, **options)

    monkeypatch.setattr(module, "read_progress", flaky)
    assert first_event(trigger(golden("agg-hdfs")))["status"] == "reached"
    assert len(answers) == 4


def test_a_bug_is_not_made_an_event(golden, monkeypatch):
    def bug(store: Store, **options: object):
        raise RuntimeError("a bug")

    monkeypatch.setattr(module, "read_progress", bug)
    with pytest.raises(RuntimeError, match="a bug"):
        first_event(trigger(golden("agg-hdfs")))


def test_the_event_loop_is_never_blocked(golden, monkeypatch):
    def slow(store: Store, **options: object):
        time.sleep(1.0)
        return lifecycle.read_progress(store, **options)

    monkeypatch.setattr(module, "read_progress", slow)

    async def beside():
        event = asyncio.ensure_future(anext(trigger(golden("agg-hdfs")).run()))
        delays = []
        while not event.done():
            before = time.monotonic()
            await asyncio.sleep(0.01)
            delays.append(time.monotonic() - before - 0.01)
        return max(delays)

    assert asyncio.run(beside()) < 0.5
