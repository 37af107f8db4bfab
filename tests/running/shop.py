"""A query file with a query on a simulated engine, as tasks of Airflow know it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_ckpt.changes.fence import put_fence
from airflow_provider_ckpt.engines import open_engine
from airflow_provider_ckpt.operators.checkpoint import QueryStartOperator
from airflow_provider_ckpt.running import ask_engine
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.triggers.runs import QueryRunTrigger
from tests.operators.task import Task
from tests.running.simulated import SimulatedEngine, with_batches


@dataclass
class Shop:
    """A query file with a query on a simulated engine."""

    file: Any
    store: Store
    engine: SimulatedEngine

    def __call__(self, kind: Any, task_id: str = "t", run_id: str = "monday", **arguments: Any) -> Any:
        """What a task returns."""
        return self.task(kind, **arguments).execute({"ti": Task(run_id=run_id, task_id=task_id)})

    def task(self, kind: Any, **arguments: Any) -> Any:
        return kind(task_id="t", query="orders", query_file=str(self.file), **arguments)

    def declare(self, version: str) -> None:
        """Another version."""
        self.file.write_text(
            "format_version: 1\nqueries:\n  orders:\n"
            f"    checkpoint: {self.store.location}\n    sink: kafka\n    engine: command\n"
            f"    application: {{status: [s], end: [e], start: [{version}]}}\n    start: {{commit_within: 30}}\n"
        )

    def starts(self) -> list[str]:
        return [call for call in self.engine.log if call.startswith("start")]


@pytest.fixture(name="shop")
def of_shop(tmp_path, monkeypatch) -> Iterator[Shop]:
    store = with_batches(Store.open(str(tmp_path / "orders")))
    engine = SimulatedEngine([store])
    made = Shop(tmp_path / "ckpt.yaml", store, engine)
    made.declare("good")
    time = SimpleNamespace(sleep=engine.sleep, monotonic=engine.monotonic)
    monkeypatch.setattr(put_fence, "time", time)
    monkeypatch.setattr(ask_engine.Patience, "__init__", _patience(ask_engine.Patience.__init__, time))
    monkeypatch.setattr(open_engine, "open_engine", lambda declared, name, connect: engine)
    assert made(QueryStartOperator, query_is_stopped=True, gate=False)["receipt"]["committed"]
    engine.log.clear()
    engine.calls = 0
    return made


def _patience(init: Any, time: Any) -> Any:
    def patient(self: Any, *given: Any, **said: Any) -> None:
        init(self, *given, **{"now": time.monotonic, "sleep": time.sleep, **said})

    return patient


def fired(trigger: QueryRunTrigger) -> dict[str, Any]:
    """Its event, made again as a triggerer does."""

    async def run() -> dict[str, Any]:
        _, arguments = trigger.serialize()
        async for event in QueryRunTrigger(**{**json.loads(json.dumps(arguments)), "poke_interval": 0.0}).run():
            return event.payload
        raise AssertionError

    return asyncio.run(run())
