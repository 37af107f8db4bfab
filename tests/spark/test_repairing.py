"""Damaged state with a backup of its batch is mended in place, proven by real Spark."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change import apply as apply_module
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.goal import ToBackup
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.storage.store import Store
from tests.damages import DAMAGES
from tests.spark.bad_deploy import KEEP, assert_right, prefixes
from tests.spark_lab import Lab, settle
from tests.stopping import stop_after

pytestmark = pytest.mark.spark

LATER = 3
DAMAGED = {
    "a flipped zip": ("rocksdb", "flipped", f"state/0/0/{KEEP + 1}.zip"),
    "a cut delta": ("hdfs", "cut", f"state/0/0/{KEEP + 1}.delta"),
    "a lost log entry of the source": ("rocksdb-changelog", "missing", f"sources/0/{KEEP}"),
}
#: What `make test` shows of them.
SAMPLE = "a flipped zip"


@pytest.mark.parametrize(
    ("config", "damage", "name"),
    [
        pytest.param(*case, id=name, marks=() if name == SAMPLE else pytest.mark.exhaustive)
        for name, case in DAMAGED.items()
    ],
)
def test_the_query_starts_again_and_its_result_is_right(spark, tmp_path, config, damage, name):
    """Back to the damaged batch from a few later; stopped anywhere, Spark refuses or is right."""
    lab = Lab(spark, tmp_path, config)
    lab.write(range(KEEP + 1))
    lab.run(pause_s=0.25)
    settle(lab.checkpoint)
    root = Store.open(str(tmp_path / "backups"))
    taken = take_backup(Store.open(str(lab.checkpoint)), root)
    assert taken.batch_id == KEEP
    lab.write(range(KEEP + 1, KEEP + 1 + LATER))
    lab.run(pause_s=0.25)
    lab.write(range(KEEP + 1, KEEP + 2 + LATER), "B")
    settle(lab.checkpoint)
    DAMAGES[damage](lab.checkpoint / name)

    def copied(where: object) -> tuple[Path, Stores]:
        copy = Path(shutil.copytree(lab.checkpoint, tmp_path / f"copy-{where}" / "checkpoint"))
        return copy, Stores(Store.open(str(copy)), backups=root)

    def apply(stores: Stores, **options: object) -> int:
        plan = make_rollback(stores, ToBackup(root.location, taken.backup_id))
        apply_module.apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown", **options)
        return len(plan.actions)

    copy, stores = copied("whole")
    steps = apply(stores)
    run = lab.run(copy)
    assert run.first_batch == KEEP + 1
    assert_right(lab, run, "mended")
    for stop in prefixes(steps)[1:]:
        copy, stores = copied(stop)
        with pytest.raises(KeyboardInterrupt):
            apply(stores, on_step=stop_after(stop))
        try:
            run = lab.run(copy)
        except Exception:
            apply(stores)
            run = lab.run(copy)
            assert run.first_batch == KEEP + 1, stop
        assert_right(lab, run, stop)
