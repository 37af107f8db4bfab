"""Triggers of a query with three committed batches, as a triggerer has them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger
from airflow_provider_ckpt.waiting import Condition
from tests.fake_query import FakeQuery


def three_batches(root: Path) -> FakeQuery:
    """A query that has committed them."""
    query = FakeQuery(Store.open(str(root / "orders")))
    for batch_id in range(3):
        commit(query, batch_id)
    return query


def commit(query: FakeQuery, batch_id: int) -> None:
    query.plan(batch_id)
    query._write(f"commits/{batch_id}", b"v1\n{}")


def trigger(query: FakeQuery | str, target: Condition | None = None, **arguments: object) -> CheckpointProgressTrigger:
    checkpoint = query if isinstance(query, str) else query.store.location
    spelled = target.to_dict() if target else None
    return CheckpointProgressTrigger(checkpoint=checkpoint, condition=spelled, **{"poke_interval": 0.05, **arguments})


def restarted(waiting: CheckpointProgressTrigger) -> CheckpointProgressTrigger:
    """The trigger as another triggerer has it: through JSON."""
    path, arguments = waiting.serialize()
    assert path == f"{CheckpointProgressTrigger.__module__}.{CheckpointProgressTrigger.__qualname__}"
    written = json.dumps(arguments)
    again = CheckpointProgressTrigger(**json.loads(written))
    assert json.dumps(again.serialize()[1]) == written
    return again


def first_event(waiting: CheckpointProgressTrigger, seconds: float = 30) -> dict:
    async def first():
        events = waiting.run()
        try:
            return await asyncio.wait_for(anext(events), seconds)
        finally:
            await events.aclose()

    return asyncio.run(first()).payload


def failing(monkeypatch, fail) -> None:
    """Every listing goes through ``fail`` first."""

    class Failing(Store):
        def ls(self, directory: str = ""):
            fail(self)
            return super().ls(directory)

    monkeypatch.setattr(CheckpointHook, "store", lambda self, location: Failing.open(location))
