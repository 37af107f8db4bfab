"""What is refused behind a fence says that the fence stays; what is stopped later does not."""

from __future__ import annotations

import time

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.changes.fence import put_fence as module
from airflow_provider_ckpt.changes.fence.put_first import plan_behind
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery


@pytest.fixture
def stores(tmp_path, monkeypatch) -> Stores:
    monkeypatch.setattr(module, "SETTLE_ON_DISK_S", 0.0)
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(5):
        query.commit(batch_id)
    return Stores(query.store)


def behind(stores: Stores, target: int) -> tuple[Plan, bool]:
    """A rollback behind a fence, which is put."""
    return plan_behind(
        lambda fenced: make_rollback(stores, target, fenced=fenced), stores, acts=True, unfenced=lambda: None
    )


@pytest.mark.parametrize("fails", ["the plan", "the word on the sink", "the watch"])
def test_a_change_that_is_refused_behind_its_fence_says_that_the_fence_stays(stores, monkeypatch, fails):
    def write(seconds: float) -> None:
        if seconds == 1:  # not while the fence is put
            stores.checkpoint.create("state/0/0/.5.snapshot.crc", b"crc")

    monkeypatch.setattr(time, "sleep", write)
    target, sink = (99, "unknown") if fails == "the plan" else (2, "" if fails == "the word on the sink" else "unknown")
    with pytest.raises(CheckpointError) as refused:
        plan, _ = behind(stores, target)
        apply(plan, stores, quiet_s=1, accept_sink=sink)
    taken_back = f"The fence offsets/5 stays; this takes it back: ckpt undo {stores.checkpoint.location}"
    assert refused.value.hint.endswith(taken_back) and "Nothing was done. " not in refused.value.hint
    assert [item.plan.kind for item in history(stores.checkpoint) if item.state == "applied"] == ["fence"]
    if fails == "the watch":
        assert "state/0/0/.5.snapshot.crc is new). That is maintenance of its state store" in refused.value.message
        assert "Behind the fence the query stops by itself when it tries its next batch" in refused.value.hint


def test_a_change_that_is_stopped_between_its_steps_says_nothing_of_the_fence(stores):
    plan, _ = behind(stores, 2)

    def fail(done: int, total: int, name: str) -> None:
        raise PlanError("stopped", location="x", hint="As it was.")

    with pytest.raises(PlanError) as stopped:
        apply(plan, stores, quiet_s=0, accept_sink="unknown", on_step=fail)
    assert stopped.value.hint == "As it was."
