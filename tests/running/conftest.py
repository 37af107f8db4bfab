"""Time passes in the simulated engine, also while a fence is put."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.changes.fence import put_fence
from airflow_provider_ckpt.running.start_query import StartRequest, start_query
from airflow_provider_ckpt.storage.store import Store
from tests.running.simulated import GOOD, SimulatedEngine, patience, unit_of, with_batches


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Starts an application of so many queries on an engine; returns the unit and the engine."""

    def begin(queries: int = 1, **said):
        stores = [with_batches(Store.open(str(tmp_path / f"orders{number}"))) for number in range(queries)]
        engine = SimulatedEngine(stores, **said)
        monkeypatch.setattr(put_fence, "time", SimpleNamespace(sleep=engine.sleep, monotonic=engine.monotonic))
        unit = unit_of(*stores, on_failure="rollback")
        asked = StartRequest(query_is_stopped=True, gate=False)
        receipt = start_query(unit, engine, GOOD, asked, by="ann", patience=patience(engine))
        assert receipt.committed, receipt
        engine.log.clear()
        engine.calls = 0
        return unit, engine

    return begin
