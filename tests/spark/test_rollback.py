"""Rollbacks proven by real Spark: what a restart computes afterwards is what it should."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.lifecycle import Stores
from airflow_provider_ckpt.store import Store
from tests.spark_lab import STATE_CONFS, Lab, rows_of, truth

pytestmark = pytest.mark.spark

BATCHES, KEEP = 8, 3
STATEFUL = [config for config in STATE_CONFS if config != "stateless"]


def lab_with_a_bad_deploy(spark, root: Path, config: str) -> Lab:
    """Eight batches; the data of those after KEEP are then replaced, as when a bad producer is repaired."""
    lab = Lab(spark, root, config)
    lab.write(range(BATCHES))
    run = lab.run(pause_s=0.25)
    assert sorted(run.batches) == list(range(BATCHES))
    lab.write(range(KEEP + 1, BATCHES), "B")
    return lab


def rolled_back_by_hand(checkpoint: Path, keep: int) -> None:
    """What people do: remove the logs past the batch, with their checksums, and the source log; state is left alone."""
    for path in [*checkpoint.glob("offsets/*"), *checkpoint.glob("commits/*"), *checkpoint.glob("sources/0/*")]:
        if int(path.name.strip(".").removesuffix(".crc")) > keep:
            path.unlink()
    for path in [*checkpoint.glob("offsets/.*"), *checkpoint.glob("commits/.*"), *checkpoint.glob("sources/0/.*")]:
        if path.name.endswith(".crc") and int(path.name.strip(".").removesuffix(".crc")) > keep:
            path.unlink()


@pytest.mark.parametrize("config", ["hdfs", "rocksdb-changelog"])
def test_a_rollback_by_hand_is_silently_wrong_and_ours_is_right(spark, tmp_path, config):
    """The fault that this product exists for: later state files survive, and a restart builds on them.

    The replay itself is right, for its state is in memory. The next start of the query reads the leftovers.
    """
    lab = lab_with_a_bad_deploy(spark, tmp_path, config)
    ours, by_hand = tmp_path / "ours", tmp_path / "by_hand"
    for copy in (ours, by_hand):
        shutil.copytree(lab.checkpoint, copy)
    rolled_back_by_hand(by_hand, KEEP)
    stores = Stores(Store.open(str(ours)))
    lifecycle.apply(
        lifecycle.make_rollback(stores, KEEP), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown"
    )

    replay = Lab(spark, tmp_path, config, {"spark.sql.streaming.stateStore.minDeltasForSnapshot": "100"})
    for copy in (ours, by_hand):
        assert sorted(replay.run(copy).batches) == list(range(KEEP + 1, BATCHES))
    lab.write([BATCHES], "B")

    right = truth({number: "A" if number <= KEEP else "B" for number in range(BATCHES + 1)})
    assert lab.run(ours).result == right
    assert lab.run(by_hand).result != right, "Spark has no silent fault any more: tell the README"


class _StoppedError(Exception):
    """The rollback was stopped on purpose."""


def stop_after(steps: int):
    def on_step(done: int, total: int, name: str) -> None:
        if done == steps:
            raise _StoppedError

    return on_step


def prefixes(plan_length: int) -> list[int]:
    """A few stops by default; all of them with `make test-exhaustive`."""
    every = list(range(1, plan_length))
    return every if os.environ.get("CKPT_EXHAUSTIVE") else every[:: max(1, len(every) // 4)]


@pytest.mark.parametrize("config", STATE_CONFS)
def test_every_prefix_of_a_rollback_is_a_checkpoint_that_spark_starts_right(spark, tmp_path, config):
    """Stop after each action, start real Spark on what is left: it starts, and its result is right."""
    lab = lab_with_a_bad_deploy(spark, tmp_path, config)
    plan = lifecycle.make_rollback(Stores(Store.open(str(lab.checkpoint))), KEEP)
    lab.write([BATCHES], "B")  # so that something runs wherever the rollback stops
    stops = prefixes(len(plan.actions))
    assert len(stops) >= 4
    for stop in stops:
        copy = tmp_path / f"prefix-{stop}" / "checkpoint"
        shutil.copytree(lab.checkpoint, copy, copy_function=shutil.copy2)
        stores = Stores(Store.open(str(copy)))
        begun = lifecycle.make_rollback(stores, KEEP)
        with pytest.raises(_StoppedError):
            lifecycle.apply(
                begun, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown", on_step=stop_after(stop)
            )
        run = lab.run(copy)
        assert_right(lab, run, stop)
        shutil.rmtree(copy.parent, ignore_errors=True)  # state maintenance may still write


def assert_right(lab: Lab, run, where) -> None:
    """Batches before the first one of the run keep the old data, those from there on have the new one."""
    assert run.batches, f"nothing ran after {where}"
    files = range(len(list(lab.input.iterdir())))
    letters = {number: "B" if number >= max(run.first_batch, KEEP + 1) else "A" for number in files}
    if lab.config == "stateless":
        rows = [row for batch in run.batches.values() for row in batch]
        expected = [row for number in files[run.first_batch :] for row in rows_of(number, letters[number])]
        assert sorted(rows) == sorted(expected), where
    else:
        assert run.result == truth(letters), where


@pytest.mark.parametrize("config", STATE_CONFS)
def test_the_same_command_completes_an_interrupted_rollback_and_undo_takes_it_back(spark, tmp_path, config):
    lab = lab_with_a_bad_deploy(spark, tmp_path, config)
    before = snapshot(lab.checkpoint)
    stores = Stores(Store.open(str(lab.checkpoint)))
    plan = lifecycle.make_rollback(stores, KEEP)
    with pytest.raises(_StoppedError):
        lifecycle.apply(
            plan,
            stores,
            query_is_stopped=True,
            quiet_s=0,
            accept_sink="unknown",
            on_step=stop_after(len(plan.actions) // 2),
        )

    again = lifecycle.make_rollback(stores, KEEP)
    assert again.plan_id == plan.plan_id, "the interrupted plan is found and completed"
    receipt = lifecycle.apply(again, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert receipt.actions == len(plan.actions) - len(plan.actions) // 2
    assert (
        lifecycle.apply(again, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown").status
        == "already_applied"
    )

    undo = lifecycle.make_undo(stores)
    lifecycle.apply(undo, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert snapshot(lab.checkpoint) == before, "undo gives every byte back"
    with pytest.raises(PlanError, match="nothing to undo"):
        lifecycle.make_undo(stores)

    lifecycle.apply(
        lifecycle.make_rollback(stores, KEEP), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown"
    )
    run = lab.run()
    assert run.first_batch == KEEP + 1
    assert_right(lab, run, "rollback, undo, rollback")


def snapshot(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }
