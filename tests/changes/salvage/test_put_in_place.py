"""A salvage that is stopped after any step: Spark refuses what is there, and it is completed or taken back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.salvage.make import make_salvage
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import CheckpointBusyError, StalePlanError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store
from tests.changes.salvage.damage import cut, drop, lose_rename
from tests.stopping import stop_after

WORD = {"query_is_stopped": True, "quiet_s": 0, "accept_sink": ("duplicated", "skipped", "unknown")}

#: Every step; else three of them, for each is saved to the disk before it counts.
EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def torn(path: Path) -> Stores:
    """Steps of every kind."""
    lose_rename(path / "state/0/0/6.delta")
    cut(path / "offsets/7")
    drop(path / "commits/6")
    drop(path / "commits/5")
    (path / "commits/9").mkdir()
    (path / "commits/9/part").write_text("x")
    return Stores(Store.open(str(path)))


def test_stopped_after_any_step_spark_refuses_and_it_is_completed_or_undone(golden):
    path = golden("agg-hdfs")
    stores = torn(path)
    before, plan = contents(path), make_salvage(stores)
    assert {action.do for action in plan.actions} == {"close", "delete", "clear", "copy", "create", "open"}
    steps = range(1, len(plan.actions))
    for stop in steps if EXHAUSTIVE else (steps[0], steps[len(steps) // 2], steps[-1]):
        with pytest.raises(KeyboardInterrupt):
            apply(make_salvage(stores), stores, on_step=stop_after(stop), **WORD)
        found = forecast(observe(stores.checkpoint, deep=True), DeploySpec())
        assert found.spark_error == "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION", stop
        if stop % 2:
            apply(make_salvage(stores), stores, **WORD)
            assert make_salvage(stores).actions == ()
        apply(make_undo(stores), stores, **WORD)
        assert contents(path) == before, stop
        (path / "commits/9").mkdir(exist_ok=True)


def test_a_query_that_wrote_meanwhile_is_noticed(golden):
    path = golden("agg-hdfs")
    stores = torn(path)
    plan = make_salvage(stores)

    def write(done: int, total: int, name: str) -> None:
        if done == 2:
            (path / "commits/12").write_text("v1")

    with pytest.raises(CheckpointBusyError) as caught:
        apply(plan, stores, on_step=write, **WORD)
    assert f"ckpt undo {path}" in caught.value.hint


def test_a_temporary_file_that_has_changed_is_not_taken(golden):
    path = golden("agg-hdfs")
    temporary = lose_rename(path / "state/0/0/8.delta")
    stores = Stores(Store.open(str(path)))
    plan = make_salvage(stores)
    cut(temporary)
    with pytest.raises(StalePlanError):
        apply(plan, stores, **WORD)
    assert not (path / "state/0/0/8.delta").exists()
