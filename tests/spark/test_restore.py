"""Backups restored and started by real Spark, also when the restore was stopped half way."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.relocation import PathRule
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import ObjectExistsError
from airflow_provider_ckpt.storage.store import Store
from tests.spark.states import KINDS
from tests.spark_lab import Lab, settle, truth

pytestmark = pytest.mark.spark

BATCHES = 6
EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))


@pytest.fixture(scope="module", params=KINDS)
def stopped(request, spark, tmp_path_factory) -> Lab:
    """A stopped query that has done six batches, with one more file waiting; not to be changed."""
    lab = Lab(spark, tmp_path_factory.mktemp("stopped"), request.param)
    lab.write(range(BATCHES))
    lab.run(pause_s=0.15)
    lab.write([BATCHES])
    settle(lab.checkpoint)
    return lab


@pytest.fixture
def lab(stopped, tmp_path) -> Lab:
    """That query, to be changed."""
    return stopped.copied(tmp_path)


class _StoppedError(Exception):
    """The restore was stopped on purpose."""


def test_a_backup_is_the_minimal_set_and_a_restart_from_it_is_right(lab, tmp_path):
    checkpoint, root = Store.open(str(lab.checkpoint)), Store.open(str(tmp_path / "backups"))
    unknown = {"_schema_log_abc/0": b"v1\n{}", "_schemas/0": b"{}", "offsets/notes.txt": b"", "state/0/0/foo": b"x"}
    for name, data in unknown.items():
        checkpoint.create(name, data)
    taken = take_backup(checkpoint, root)
    assert set(taken.unknown) == unknown.keys(), "what Spark itself writes is known"
    verify_backup(root, taken)
    assert taken.batch_id == BATCHES - 1
    assert len(taken.objects) < len(checkpoint.find())
    inside = tmp_path / "backups" / taken.backup_id / "checkpoint"
    directly = tmp_path / "started-directly"
    shutil.copytree(inside, directly)

    target = Store.open(str(tmp_path / "restored"))
    plan = make_restore(root, taken, target)
    assert restore(plan, root, target, accept_sink="unknown").status == "applied"
    assert restore(plan, root, target, accept_sink="unknown").status == "already_applied"
    for place in (tmp_path / "restored", directly):
        run = lab.run(place)
        assert list(run.batches) == [BATCHES], "it goes on with the next batch"
        if lab.config != "stateless":
            assert run.result == truth(dict.fromkeys(range(BATCHES + 1), "A"))
    with pytest.raises(ObjectExistsError, match="not empty"):
        make_restore(root, taken, target)


def test_no_prefix_of_a_restore_starts_from_scratch(lab, tmp_path):
    """Spark refuses an unfinished restore, or it is complete; it never begins again with batch 0."""
    root = Store.open(str(tmp_path / "backups"))
    taken = take_backup(Store.open(str(lab.checkpoint)), root)
    steps = len(make_restore(root, taken, Store.open(str(tmp_path / "nowhere"))).actions)
    started = []
    for stop in {1, 2, steps // 2, steps - 3, steps - 2, steps - 1}:
        place = tmp_path / f"prefix-{stop}"
        target = Store.open(str(place))

        def on_step(done: int, total: int, name: str, stop: int = stop) -> None:
            if done == stop:
                raise _StoppedError

        with pytest.raises(_StoppedError):
            restore(make_restore(root, taken, target), root, target, on_step=on_step, accept_sink="unknown")
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
        restore(make_restore(root, taken, target), root, target, accept_sink="unknown")
    assert all(batches == [BATCHES] for _, batches in started), started


def test_a_fork_has_an_id_of_its_own_and_goes_on(lab, tmp_path):
    root, target = Store.open(str(tmp_path / "backups")), Store.open(str(tmp_path / "fork"))
    taken = take_backup(Store.open(str(lab.checkpoint)), root)
    fork_id = "0b1f3a9c-0000-4000-8000-000000000001"
    restore(make_restore(root, taken, target, fork_id), root, target, accept_sink="unknown")
    assert observe(target).query_id == fork_id != taken.query_id
    assert list(lab.run(tmp_path / "fork").batches) == [BATCHES]


# --- elsewhere, with the original gone ------------------------------------------------------------------------------


def count_per_key(lab: Lab, checkpoint: Path) -> dict[str, int]:
    """Run an arbitrary stateful operator over the input that is left: the running count of rows by key."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Count(StatefulProcessor):
        def init(self, handle):
            self.count = handle.getValueState("count", "rows LONG")

        def handleInputRows(self, key, rows, timers):
            before = self.count.get()[0] if self.count.exists() else 0
            frames = list(rows)
            self.count.update((before + sum(len(frame) for frame in frames),))
            yield frames[0].head(1)[["key"]].assign(rows=self.count.get()[0])

        def close(self):
            pass

    stream = lab.stream().groupBy("key").transformWithStateInPandas(Count(), "key string, rows long", "Update", "None")
    counts: dict[str, int] = {}
    query = (
        stream.writeStream.foreachBatch(lambda batch, _: counts.update({row.key: row.rows for row in batch.collect()}))
        .outputMode("update")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(600)
    return counts


def join_with_itself(lab: Lab, checkpoint: Path) -> dict[str, int]:
    """Run a stream-stream join over the input that is left: joined rows by key."""
    stream = lab.stream()
    joined = stream.alias("l").join(stream.alias("r"), "key").select("key")
    counts: Counter[str] = Counter()
    query = (
        joined.writeStream.foreachBatch(lambda batch, _: counts.update(row.key for row in batch.collect()))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(600)
    return dict(counts)


SCHEMA_PATHS = {
    "transform-with-state": (count_per_key, {}),
    "join-state-format-3": (join_with_itself, {"spark.sql.streaming.join.stateFormatVersion": "3"}),
}


@pytest.mark.parametrize("case", SCHEMA_PATHS if EXHAUSTIVE else ["transform-with-state"])
def test_state_with_absolute_schema_paths_moves_with_the_original_gone(spark, tmp_path, case):
    run, confs = SCHEMA_PATHS[case]
    lab = Lab(spark, tmp_path, "rocksdb-changelog", confs)
    root, moved, copied = (tmp_path / name for name in ("backups", "moved", "copied"))
    lab.write(range(3))
    run(lab, lab.checkpoint)
    lab.write([3])
    taken = take_backup(Store.open(str(lab.checkpoint)), Store.open(str(root)))
    settle(lab.checkpoint)
    shutil.copytree(lab.checkpoint, tmp_path / "expected")
    expected = run(lab, tmp_path / "expected")
    shutil.copytree(root / taken.backup_id / "checkpoint", copied)
    shutil.rmtree(lab.checkpoint)

    target = Store.open(str(moved))
    plan = make_restore(Store.open(str(root)), taken, target)
    assert any(f"such as file:{lab.checkpoint}/state/0/" in warning for warning in plan.warnings)
    restore(plan, Store.open(str(root)), target, accept_sink="unknown")
    assert run(lab, moved) == expected != {}
    assert not lab.checkpoint.exists()
    if case == "transform-with-state":
        with pytest.raises(Exception, match=r"does not exist|STATE_STORE|FileNotFound"):
            run(lab, copied)


def test_a_query_whose_input_moved_goes_on_when_the_paths_are_rewritten(spark, tmp_path):
    old, new, root = Lab(spark, tmp_path / "old", "hdfs"), Lab(spark, tmp_path / "new", "hdfs"), tmp_path / "backups"
    old.write(range(BATCHES))
    old.run()
    taken = take_backup(Store.open(str(old.checkpoint)), Store.open(str(root)))
    new.input.parent.mkdir()
    old.input.rename(new.input)
    new.write([BATCHES])
    rule = PathRule(str(old.input), str(new.input))
    for place, rules in ((new.checkpoint, [rule]), (tmp_path / "as-it-is", [])):
        target = Store.open(str(place))
        plan = make_restore(Store.open(str(root)), taken, target, path_rules=rules)
        assert any("sources/0: 6" in warning for warning in plan.warnings)
        restore(plan, Store.open(str(root)), target, accept_sink="unknown")
        assert not [found for found in inspect(target, deep=True) if found.severity == "error"]
    run = new.run()
    assert list(run.batches) == [BATCHES], "no file is read again"
    assert run.result == truth(dict.fromkeys(range(BATCHES + 1), "A"))
    with pytest.raises(Exception, match="Wrong basePath"):
        new.run(tmp_path / "as-it-is")
