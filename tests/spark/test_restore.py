"""Backups restored and started by real Spark, also when the restore was stopped half way."""

from __future__ import annotations

import shutil

import pytest

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.errors import ObjectExistsError
from airflow_provider_ckpt.store import Store
from tests.spark_lab import STATE_CONFS, Lab, truth

pytestmark = pytest.mark.spark

BATCHES = 6


@pytest.fixture(params=STATE_CONFS)
def lab(request, spark, tmp_path) -> Lab:
    """A stopped query that has done six batches, with one more file waiting."""
    lab = Lab(spark, tmp_path, request.param)
    lab.write(range(BATCHES))
    lab.run(pause_s=0.15)
    lab.write([BATCHES])
    return lab


class _StoppedError(Exception):
    """The restore was stopped on purpose."""


def test_a_backup_is_the_minimal_set_and_a_restart_from_it_is_right(lab, tmp_path):
    checkpoint, root = Store.open(str(lab.checkpoint)), Store.open(str(tmp_path / "backups"))
    taken = lifecycle.take_backup(checkpoint, root)
    lifecycle.verify_backup(root, taken)
    assert taken.batch_id == BATCHES - 1
    assert len(taken.objects) < len(checkpoint.find())
    inside = tmp_path / "backups" / taken.backup_id / "checkpoint"
    directly = tmp_path / "started-directly"
    shutil.copytree(inside, directly)

    target = Store.open(str(tmp_path / "restored"))
    plan = lifecycle.make_restore(root, taken, target)
    assert lifecycle.restore(plan, root, target).status == "applied"
    assert lifecycle.restore(plan, root, target).status == "already_applied"
    for place in (tmp_path / "restored", directly):
        run = lab.run(place)
        assert list(run.batches) == [BATCHES], "it goes on with the next batch"
        if lab.config != "stateless":
            assert run.result == truth(dict.fromkeys(range(BATCHES + 1), "A"))
    with pytest.raises(ObjectExistsError, match="not empty"):
        lifecycle.make_restore(root, taken, target)


def test_no_prefix_of_a_restore_starts_from_scratch(lab, tmp_path):
    """Spark refuses an unfinished restore, or it is complete; it never begins again with batch 0."""
    root = Store.open(str(tmp_path / "backups"))
    taken = lifecycle.take_backup(Store.open(str(lab.checkpoint)), root)
    steps = len(lifecycle.make_restore(root, taken, Store.open(str(tmp_path / "nowhere"))).actions)
    started = []
    for stop in {1, 2, steps // 2, steps - 3, steps - 2, steps - 1}:
        place = tmp_path / f"prefix-{stop}"
        target = Store.open(str(place))

        def on_step(done: int, total: int, name: str, stop: int = stop) -> None:
            if done == stop:
                raise _StoppedError

        with pytest.raises(_StoppedError):
            lifecycle.restore(lifecycle.make_restore(root, taken, target), root, target, on_step=on_step)
        aside = tmp_path / f"started-{stop}"
        shutil.copytree(place, aside)
        try:
            run = lab.run(aside)
        except Exception as error:
            assert (
                "StreamingQueryException" in type(error).__name__
                or "doesn't exist" in str(error)
                or "METADATA" in str(error)
            ), error
        else:
            started.append((stop, list(run.batches)))
        lifecycle.restore(lifecycle.make_restore(root, taken, target), root, target)
    assert all(batches == [BATCHES] for _, batches in started), started


def test_a_fork_has_an_id_of_its_own_and_goes_on(lab, tmp_path):
    root, target = Store.open(str(tmp_path / "backups")), Store.open(str(tmp_path / "fork"))
    taken = lifecycle.take_backup(Store.open(str(lab.checkpoint)), root)
    fork_id = "0b1f3a9c-0000-4000-8000-000000000001"
    lifecycle.restore(lifecycle.make_restore(root, taken, target, fork_id), root, target)
    assert lifecycle.observe(target).query_id == fork_id != taken.query_id
    assert list(lab.run(tmp_path / "fork").batches) == [BATCHES]
