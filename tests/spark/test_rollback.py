"""Rollbacks proven by real Spark: what a restart computes afterwards is what it should."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.storage.store import Store
from tests.spark.bad_deploy import BATCHES, KEEP, assert_right, lab_with_a_bad_deploy, prefixes, snapshot
from tests.spark.states import KINDS
from tests.spark_lab import STATE_CONFS, Lab, settle, truth
from tests.stopping import stop_after

pytestmark = pytest.mark.spark

REST = sorted(STATE_CONFS.keys() - {"rocksdb-v2"})


def rolled_back_by_hand(checkpoint: Path, keep: int) -> None:
    """What people do: remove the logs past the batch, with their checksums, and the source log; state is left alone."""
    for path in [*checkpoint.glob("offsets/*"), *checkpoint.glob("commits/*"), *checkpoint.glob("sources/0/*")]:
        if int(path.name.strip(".").removesuffix(".crc")) > keep:
            path.unlink()
    for path in [*checkpoint.glob("offsets/.*"), *checkpoint.glob("commits/.*"), *checkpoint.glob("sources/0/.*")]:
        if path.name.endswith(".crc") and int(path.name.strip(".").removesuffix(".crc")) > keep:
            path.unlink()


@pytest.mark.parametrize("config", ["hdfs", pytest.param("rocksdb-changelog", marks=pytest.mark.exhaustive)])
def test_a_rollback_by_hand_is_silently_wrong_and_ours_is_right(bad_deploy, tmp_path, config):
    """The fault that this product exists for: later state files survive, and a restart builds on them.

    The replay itself is right, for its state is in memory. The next start of the query reads the leftovers.
    """
    lab = bad_deploy(config, tmp_path)
    ours, by_hand = tmp_path / "ours", tmp_path / "by_hand"
    for copy in (ours, by_hand):
        shutil.copytree(lab.checkpoint, copy)
    rolled_back_by_hand(by_hand, KEEP)
    snapshots = [path for path in by_hand.glob("state/0/*/*") if path.suffix in (".snapshot", ".zip")]
    survived = any(int(path.stem) > KEEP + 1 for path in snapshots)
    stores = Stores(Store.open(str(ours)))
    apply(make_rollback(stores, KEEP), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")

    replay = Lab(lab.spark, tmp_path, config, {"spark.sql.streaming.stateStore.minDeltasForSnapshot": "100"})
    for copy in (ours, by_hand):
        assert sorted(replay.run(copy).batches) == list(range(KEEP + 1, BATCHES))
    lab.write([BATCHES], "B")

    right = truth({number: "A" if number <= KEEP else "B" for number in range(BATCHES + 1)})
    assert lab.run(ours).result == right
    # Which snapshots there are is up to Spark's maintenance; a later one that survived is what makes the result wrong.
    assert survived or lab.run(by_hand).result == right


@pytest.mark.parametrize("config", KINDS)
def test_every_prefix_of_a_rollback_is_a_checkpoint_that_spark_starts_right(bad_deploy, tmp_path, config):
    """Stop after each action, start real Spark on what is left: it starts, and its result is right."""
    lab = bad_deploy(config, tmp_path)
    plan = make_rollback(Stores(Store.open(str(lab.checkpoint))), KEEP)
    lab.write([BATCHES], "B")  # so that something runs wherever the rollback stops
    stops = prefixes(len(plan.actions))
    assert len(stops) >= 4
    for stop in stops:
        copy = tmp_path / f"prefix-{stop}" / "checkpoint"
        shutil.copytree(lab.checkpoint, copy, copy_function=shutil.copy2)
        stores = Stores(Store.open(str(copy)))
        begun = make_rollback(stores, KEEP)
        with pytest.raises(KeyboardInterrupt):
            apply(begun, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown", on_step=stop_after(stop))
        run = lab.run(copy)
        assert_right(lab, run, stop)
        shutil.rmtree(copy.parent, ignore_errors=True)  # state maintenance may still write


@pytest.mark.parametrize("config", ["rocksdb-v2", *(pytest.param(kind, marks=pytest.mark.exhaustive) for kind in REST)])
def test_the_same_command_completes_an_interrupted_rollback_and_undo_takes_it_back(bad_deploy, tmp_path, config):
    lab = bad_deploy(config, tmp_path)
    before = snapshot(lab.checkpoint)
    stores = Stores(Store.open(str(lab.checkpoint)))
    plan = make_rollback(stores, KEEP)
    with pytest.raises(KeyboardInterrupt):
        apply(
            plan,
            stores,
            query_is_stopped=True,
            quiet_s=0,
            accept_sink="unknown",
            on_step=stop_after(len(plan.actions) // 2),
        )

    again = make_rollback(stores, KEEP)
    assert again.plan_id == plan.plan_id, "the interrupted plan is found and completed"
    receipt = apply(again, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert receipt.actions == len(plan.actions) - len(plan.actions) // 2
    assert apply(again, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown").status == "already_applied"

    undo = make_undo(stores)
    apply(undo, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert snapshot(lab.checkpoint) == before, "undo gives every byte back"
    with pytest.raises(PlanError, match="no change that can be undone"):
        make_undo(stores)

    apply(make_rollback(stores, KEEP), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    run = lab.run()
    assert run.first_batch == KEEP + 1
    assert_right(lab, run, "rollback, undo, rollback")


@pytest.mark.parametrize(
    "config",
    ["rocksdb-v2", *(pytest.param(kind, marks=pytest.mark.exhaustive) for kind in ("rocksdb", "rocksdb-changelog"))],
)
def test_an_undo_after_a_batch_that_was_stopped_while_it_uploaded_its_state_is_right(spark, tmp_path, config):
    """RocksDB uploads its tables first, then the zip that names them: what was uploaded by then stays, and is not read."""
    lab = lab_with_a_bad_deploy(spark, tmp_path, config)  # no copy, which lacks the sidecars that a run writes anew
    before = snapshot(lab.checkpoint)
    stores = Stores(Store.open(str(lab.checkpoint)))
    apply(make_rollback(stores, KEEP), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    assert sorted(lab.run().batches) == list(range(KEEP + 1, BATCHES))
    settle(lab.checkpoint)
    newest = BATCHES - 1
    commit = re.compile(rf"\.?{newest}(\.crc)?")
    # 8.zip and 8.changelog, in format 2 8_<uuid>.zip and 8_<uuid>.changelog, each with its sidecar
    state = re.compile(rf"\.?{newest + 1}(_[0-9a-f-]+)?\.(zip|changelog)(\.crc)?")
    stopped = [path for path in lab.checkpoint.glob("commits/*") if commit.fullmatch(path.name)]
    stopped += [path for path in lab.checkpoint.glob("state/0/[01]/*") if state.fullmatch(path.name)]
    assert {path.parent.name for path in stopped} == {"commits", "0", "1"}
    for path in stopped:
        path.unlink()  # as a stop leaves it
    for partition in lab.checkpoint.glob("state/0/[01]"):
        table = partition / "SSTs" / "000099-1c8dbb0e-95a9-4b1b-a2c5-0f6f6c9f64ad.sst"
        table.parent.mkdir(exist_ok=True)
        table.write_bytes(b"cut")

    undo = make_undo(stores)
    assert any(".sst" in warning and "are not removed" in warning for warning in undo.warnings)
    apply(undo, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    now = snapshot(lab.checkpoint)
    assert {name: now.get(name) for name in before} == before
    assert all("/SSTs/" in name or "/logs/" in name for name in now.keys() - before.keys())

    lab.write([BATCHES], "B")
    run = lab.run()
    assert list(run.batches) == [BATCHES]
    assert run.result == truth({number: "B" if number == BATCHES else "A" for number in range(BATCHES + 1)})
