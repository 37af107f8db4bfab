"""Back in place to a backup whose batch Spark has purged since, proven by real Spark."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.goal import ToBackup
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.storage.store import Store
from tests.spark.bad_deploy import KEEP, assert_right, snapshot
from tests.spark_lab import STATE_CONFS, Lab, Run, settle, truth
from tests.stopping import stop_after

pytestmark = pytest.mark.spark

CONFS = {"spark.sql.streaming.minBatchesToRetain": "2", "spark.sql.streaming.fileSource.log.compactInterval": "3"}
#: Batches before the rollback, and what is left of the log then.
PURGED = {6: "the batch, and not the one before it", 7: "the batch after it", 9: "later batches alone"}
#: What Spark says where it does not start.
REFUSALS = (
    "doesn't exist",  # batch P-1, or an entry of the file source
    "not found in offset log",
    "CANNOT_LOAD_STATE_STORE",
)


@dataclass
class House:
    """A query that was backed up after KEEP and ran on; the data that it read since is then replaced."""

    lab: Lab
    root: Store
    backup_id: str

    def copied(self, name: str) -> Path:
        return Path(shutil.copytree(self.lab.checkpoint, self.lab.root / name / "checkpoint"))

    def stores(self, checkpoint: Path) -> Stores:
        return Stores(Store.open(str(checkpoint)), backups=self.root)

    def plan(self, checkpoint: Path) -> Plan:
        return make_rollback(self.stores(checkpoint), ToBackup(self.root.location, self.backup_id))

    def apply(self, plan: Plan, checkpoint: Path, **options: object) -> None:
        apply(plan, self.stores(checkpoint), query_is_stopped=True, quiet_s=0, accept_sink="unknown", **options)

    def restart(self, checkpoint: Path, where: object) -> Run | None:
        """Start the query: it computes what is right, or Spark says why it does not start."""
        try:
            run = self.lab.run(checkpoint)
        except Exception as error:
            assert any(refusal in str(error) for refusal in REFUSALS), where
            return None
        assert_right(self.lab, run, where)
        return run


def build(spark, root: Path, config: str, batches: int) -> House:
    lab = Lab(spark, root, config, CONFS)
    lab.write(range(KEEP + 1))
    lab.run(pause_s=0.15)
    backups = Store.open(str(root / "backups"))
    taken = take_backup(Store.open(str(lab.checkpoint)), backups)
    assert taken.batch_id == KEEP
    lab.write(range(KEEP + 1, batches))
    assert sorted(lab.run(pause_s=0.15).batches) == list(range(KEEP + 1, batches))
    left = observe(Store.open(str(lab.checkpoint))).planned
    assert left == tuple(range(batches - 3, batches))
    lab.write(range(KEEP + 1, batches + 1), "B")  # one more, so that something runs wherever the rollback stops
    settle(lab.checkpoint)
    return House(lab, backups, taken.backup_id)


def late(config: str, batches: int, *quick: tuple[str, int]) -> object:
    marks = () if (config, batches) in quick else (pytest.mark.exhaustive, pytest.mark.timeout(1800))
    return pytest.param(config, batches, marks=marks, id=f"{config}, left is {PURGED[batches]}")


@pytest.mark.parametrize(
    ("config", "batches"), [late(config, batches, ("stateless", 9)) for config in STATE_CONFS for batches in PURGED]
)
def test_every_prefix_starts_right_or_is_refused_and_the_same_command_completes_it(spark, tmp_path, config, batches):
    """Stop after each action and start real Spark; where it refuses, run the command again, and start again."""
    house = build(spark, tmp_path, config, batches)
    steps = len(house.plan(house.lab.checkpoint).actions)
    every = range(1, steps)
    refused = 0
    for stop in every if os.environ.get("CKPT_EXHAUSTIVE") else every[steps // 9 :: steps // 3]:
        checkpoint = house.copied(f"prefix-{stop}")
        with pytest.raises(KeyboardInterrupt):
            house.apply(house.plan(checkpoint), checkpoint, on_step=stop_after(stop))
        if house.restart(checkpoint, stop) is None:
            refused += 1
            house.apply(house.plan(checkpoint), checkpoint)
            run = house.restart(checkpoint, f"completed after {stop}")
            assert run is not None and run.first_batch == KEEP + 1
        shutil.rmtree(checkpoint.parent, ignore_errors=True)  # state maintenance may still write
    assert refused, "Spark starts everywhere: tell the documentation"


@pytest.mark.parametrize(
    ("config", "batches"), [late(config, batches, ("rocksdb-v2", 9)) for config in STATE_CONFS for batches in PURGED]
)
def test_the_query_goes_on_and_purges_as_ever_and_undo_gives_every_byte_back(spark, tmp_path, config, batches):
    house = build(spark, tmp_path, config, batches)
    checkpoint = house.copied("another place")  # of which the state maintenance of this session does not know
    before = snapshot(checkpoint)
    house.apply(house.plan(checkpoint), checkpoint)
    apply(
        make_undo(house.stores(checkpoint)),
        house.stores(checkpoint),
        query_is_stopped=True,
        quiet_s=0,
        accept_sink="unknown",
    )
    assert snapshot(checkpoint) == before
    house.apply(house.plan(checkpoint), checkpoint)
    assert inspect(Store.open(str(checkpoint)), deep=True) == ()

    run = house.restart(checkpoint, "the rollback")
    assert run is not None and sorted(run.batches) == list(range(KEEP + 1, batches + 1))
    house.lab.write([batches + 1], "B")
    again = house.lab.run(checkpoint)
    assert again.first_batch == batches + 1
    if config != "stateless":
        assert again.result == truth({number: "A" if number <= KEEP else "B" for number in range(batches + 2)})
    planned = observe(Store.open(str(checkpoint))).planned
    assert planned == tuple(range(batches - 1, batches + 2)), "what was left below the target is purged as well"
