"""A file sink drops the batches that run again; trimming its log with the rollback makes the result exact."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.repair.make import make_repair
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import BatchNotRestorableError, PlanError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import Sink
from airflow_provider_ckpt.restart.gate import forecast_restart
from airflow_provider_ckpt.storage.store import Store
from tests.spark_lab import Lab, move_paths, rows_of

pytestmark = pytest.mark.spark

BATCHES, KEEP = 12, 6  # batch 9 is a compaction


class SinkLab(Lab):
    """The stateless query of the lab into a parquet sink."""

    @property
    def output(self) -> Path:
        return self.root / "output"

    def copied(self, root: Path) -> SinkLab:
        copy = super().copied(root)
        shutil.copytree(self.output, copy.output)
        move_paths(copy.output / "_spark_metadata", self.root, root)
        return copy

    def run_into_sink(self) -> None:
        writer = self.stream().writeStream.format("parquet").option("path", str(self.output))
        writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start().awaitTermination(
            600
        )

    def table(self) -> Counter:
        return Counter(tuple(row) for row in self._session().read.parquet(str(self.output)).collect())


class ForkLab(SinkLab):
    """The query beside itself: the same input, another checkpoint and another output directory."""

    @property
    def checkpoint(self) -> Path:
        return self.root / "fork"

    @property
    def output(self) -> Path:
        return self.root / "fork-output"


def expected(letters: dict[int, str]) -> Counter:
    return Counter(row for number, letter in letters.items() for row in rows_of(number, letter))


class UniqueLab(SinkLab):
    """The same with state: each row once."""

    def stream(self):
        return super().stream().dropDuplicates(["key", "value"])


def test_a_query_with_state_stops_as_the_plan_says(spark, tmp_path):
    """What the sink skips is not computed and leaves no state: not the next start finds that, but the one after it."""
    from pyspark.errors import StreamingQueryException

    lab = UniqueLab(spark, tmp_path, "hdfs")
    lab.write(range(4))
    lab.run_into_sink()
    stores = Stores(Store.open(str(lab.checkpoint)), Store.open(str(lab.output)))
    plan = make_rollback(stores, 2)
    assert [effect.effect for effect in plan.effects] == ["stops"]
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="stops")
    _, foretold = forecast_restart(stores.checkpoint, DeploySpec(sink=Sink("file", str(lab.output))), Store.open)
    assert "stops for good at batch 4" in foretold.findings[0].message
    lab.run_into_sink()
    assert observe(stores.checkpoint).latest_committed == 3
    lab.write([4])
    with pytest.raises(StreamingQueryException, match="CANNOT_LOAD_STATE_STORE"):
        lab.run_into_sink()


class WindowLab(SinkLab):
    """Windows in append mode: a window comes in the batch without data that follows the one which closes it."""

    def stream(self):
        timed = super().stream().selectExpr("timestamp_seconds(value * 60) AS at")
        return (
            timed.withWatermark("at", "0 seconds").groupBy("at").count().selectExpr("CAST(at AS STRING) key", "count")
        )


def test_before_a_batch_without_data_nothing_runs_until_there_is_new_data(spark, tmp_path):
    lab = WindowLab(spark, tmp_path, "hdfs")
    lab.write(range(3))
    lab.run_into_sink()
    whole, stores = lab.table(), Stores(Store.open(str(lab.checkpoint)), Store.open(str(lab.output)))
    assert observe(stores.checkpoint).latest_committed == 3, "one batch more than there are files"
    plan = make_rollback(stores, 2, trim_sink_log=True)
    assert [effect.effect for effect in plan.effects] == ["exact"]
    assert any("nothing runs until there is new data" in text for text in plan.warnings)
    apply(plan, stores, query_is_stopped=True, quiet_s=0)
    assert forecast_restart(stores.checkpoint, DeploySpec(), Store.open)[1].waits_for_data
    lab.run_into_sink()
    assert observe(stores.checkpoint).latest_committed == 2, "nothing ran"
    assert lab.table() < whole, "the sink lacks rows that it had"
    lab.write([3])
    lab.run_into_sink()
    assert observe(stores.checkpoint).latest_committed == 4 and whole < lab.table()


GOOD = {number: "A" if number <= KEEP else "B" for number in range(BATCHES)}


@pytest.fixture(scope="module")
def written(spark, tmp_path_factory) -> SinkLab:
    """Twelve batches in the sink; not to be changed."""
    lab = SinkLab(spark, tmp_path_factory.mktemp("written"), "stateless")
    lab.write(range(BATCHES))
    lab.run_into_sink()
    assert lab.table() == expected(dict.fromkeys(range(BATCHES), "A"))
    return lab


@pytest.fixture
def lab(written, tmp_path) -> SinkLab:
    """Twelve batches in the sink; the data of those after KEEP were wrong and are repaired now."""
    lab = written.copied(tmp_path)
    lab.write(range(KEEP + 1, BATCHES), "B")
    return lab


def roll_back(lab: SinkLab, *, trim: bool) -> list[str]:
    stores = Stores(Store.open(str(lab.checkpoint)), Store.open(str(lab.output)))
    plan = make_rollback(stores, KEEP, trim_sink_log=trim)
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="skipped")
    return [effect.effect for effect in plan.effects]


def test_without_the_trim_the_replay_is_dropped_as_the_verdict_says(lab):
    assert roll_back(lab, trim=False) == ["skipped"]
    lab.run_into_sink()
    assert lab.table() == expected(dict.fromkeys(range(BATCHES), "A")), "the wrong rows stay, the right ones are lost"


def test_with_the_trim_the_table_is_right_row_for_row(lab):
    assert roll_back(lab, trim=True) == ["exact"]
    assert lab.table() == expected(dict.fromkeys(range(KEEP + 1), "A")), "readers see the table as of the batch kept"
    lab.run_into_sink()
    assert lab.table() == expected(GOOD)


def test_a_rollback_that_did_not_trim_is_mended_by_one_that_does(lab):
    """The log of the sink is ahead of the checkpoint then, and it is the sink that was declared before."""
    assert roll_back(lab, trim=False) == ["skipped"]
    assert roll_back(lab, trim=True) == ["exact"]
    lab.run_into_sink()
    assert lab.table() == expected(GOOD)


def test_the_log_of_another_query_is_never_trimmed(lab, spark, tmp_path):
    other = SinkLab(spark, tmp_path / "other", "stateless")
    other.write(range(3))
    other.run_into_sink()
    stores = Stores(Store.open(str(lab.checkpoint)), Store.open(str(other.output)))
    with pytest.raises(PlanError, match=f"has batches up to 2, but the query has committed batch {BATCHES - 1}"):
        make_rollback(stores, KEEP, trim_sink_log=True)
    stores = Stores(Store.open(str(other.checkpoint)), Store.open(str(lab.output)))
    with pytest.raises(PlanError, match=f"has batch {BATCHES - 1}, but the query has planned none after 2"):
        make_rollback(stores, 1, trim_sink_log=True)


def test_undo_gives_the_sink_log_back(lab):
    before = lab.table()
    roll_back(lab, trim=True)
    stores = Stores(Store.open(str(lab.checkpoint)), Store.open(str(lab.output)))
    apply(make_undo(stores), stores, query_is_stopped=True, quiet_s=0, accept_sink="skipped")
    assert lab.table() == before


def test_every_prefix_of_a_rollback_with_trim_gives_a_right_table(lab, tmp_path):
    """Wherever it stops: what was committed is in the table once, what runs again has the new data."""
    stores = Stores(Store.open(str(lab.checkpoint)), Store.open(str(lab.output)))
    steps = len(make_rollback(stores, KEEP, trim_sink_log=True).actions)
    for stop in range(1, steps, 6):
        copy = lab.copied(tmp_path / f"prefix-{stop}")
        peel(copy, stop)
        kept = max(observe(Store.open(str(copy.checkpoint))).committed)
        copy.run_into_sink()
        letters = {number: "A" if number <= max(kept, KEEP) else "B" for number in range(BATCHES)}
        rerun = kept + 1
        assert copy.table() in (expected(letters), expected({**letters, rerun: "A"})), f"stopped after {stop}"


def peel(copy: SinkLab, stop: int) -> None:
    stores = Stores(Store.open(str(copy.checkpoint)), Store.open(str(copy.output)))
    plan = make_rollback(stores, KEEP, trim_sink_log=True)

    def on_step(done: int, total: int, name: str) -> None:
        if done >= min(stop, len(plan.actions) - 1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="skipped", on_step=on_step)


def test_a_compacted_log_without_its_originals_is_refused(lab):
    for path in (lab.output / "_spark_metadata").iterdir():
        place = layout.parse(f"_spark_metadata/{path.name}")
        if isinstance(place, layout.SinkLogEntry) and not place.compact and place.batch_id < 9:
            path.unlink()
    before = sorted(lab.checkpoint.rglob("*"))
    with pytest.raises(BatchNotRestorableError, match="only in the compacted file _spark_metadata/9.compact"):
        roll_back(lab, trim=True)
    assert sorted(lab.checkpoint.rglob("*")) == before


def test_a_log_with_holes_is_completed(lab):
    """Readers stop at the first missing entry, and get every row once when all are there again."""
    log = lab.output / "_spark_metadata"
    before = {name: (log / name).read_bytes() for name in ("9.compact", "10")}
    for name in before:
        (log / name).unlink()
        (log / f".{name}.crc").unlink(missing_ok=True)
    with pytest.raises(Exception, match=r"_spark_metadata/9\.compact doesn't exist \(latestId: 11"):
        lab.table()
    stores = Stores(Store.open(str(lab.checkpoint)), Store.open(str(lab.output)))
    plan = make_repair(stores, Sink("file", str(lab.output)))
    assert plan.sink_effect == "exact"
    apply(plan, stores, query_is_stopped=True, quiet_s=0)
    assert {name: (log / name).read_bytes() for name in before} == before
    assert lab.table() == expected(dict.fromkeys(range(BATCHES), "A"))


def test_a_fork_into_a_new_directory_can_be_read_and_compacts(lab, tmp_path):
    """The log of the new directory begins with the batches of the backup, which wrote nothing there."""
    root, fork = Store.open(str(tmp_path / "backups")), ForkLab(lab.spark, lab.root, lab.config)
    taken = take_backup(Store.open(str(lab.checkpoint)), root)
    place, out = Store.open(str(fork.checkpoint)), Store.open(str(fork.output))
    sinks = [(Sink("file", out.location), out)]
    plan = make_restore(root, taken, place, "0b1f3a9c-0000-4000-8000-000000000001", sinks=sinks)
    assert plan.sink_effect == "exact"
    restore(plan, root, place, sinks=sinks)
    for numbers in (range(BATCHES, BATCHES + 2), range(BATCHES, 20)):
        fork.write(numbers)
        fork.run_into_sink()
        assert fork.table() == expected(dict.fromkeys(numbers, "A"))
    assert (fork.output / "_spark_metadata/19.compact").exists()
