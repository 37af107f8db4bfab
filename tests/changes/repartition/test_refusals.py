"""What is refused before Spark is asked, and how: each case is a checkpoint of real Spark, some of them changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.repartition import refusals
from airflow_provider_ckpt.changes.repartition.make import make_repartition
from airflow_provider_ckpt.changes.repartition.refusals import MOST_PARTITIONS
from airflow_provider_ckpt.errors import CheckpointError, CheckpointNotFoundError, PlanError
from airflow_provider_ckpt.storage.store import Store
from tests.damages import flip


def newest(checkpoint: Path, log: str) -> Path:
    return max((checkpoint / log).glob("[0-9]*"), key=lambda path: int(path.name))


def conf(key: str, old: str, new: str) -> Callable[[Path], object]:
    """Change a conf of the newest offset entry, and of the one before it."""

    def change(checkpoint: Path) -> None:
        entry = newest(checkpoint, "offsets")
        for path in (entry, entry.with_name(str(int(entry.name) - 1))):
            text = path.read_text()
            assert f'"{key}":"{old}"' in text
            path.write_text(text.replace(f'"{key}":"{old}"', f'"{key}":"{new}"'))
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    return change


def uncommitted(checkpoint: Path) -> None:
    path = newest(checkpoint, "commits")
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink()


def half_done(checkpoint: Path) -> None:
    """The entry of a repartition to seven, as a killed one leaves it."""
    entry = newest(checkpoint, "offsets")
    text = entry.read_text().replace('"spark.sql.shuffle.partitions":"2"', '"spark.sql.shuffle.partitions":"7"')
    entry.with_name(str(int(entry.name) + 1)).write_text(text)


def left_over(checkpoint: Path) -> None:
    (checkpoint / "state" / "0" / "0" / "99.changelog").write_bytes(b"x")


def broken_state(checkpoint: Path) -> None:
    flip(max((checkpoint / "state" / "0" / "0").glob("[0-9]*.zip"), key=lambda path: int(path.stem)))


def nothing(checkpoint: Path) -> None:
    """As it is."""


STRICT = "spark.sql.streaming.statefulOperator.useStrictDistribution"
REFUSED: dict[str, tuple[str, Callable[[Path], object], int, str]] = {
    "no partition": ("agg-rocksdb", nothing, 0, "from 1 to 10,000, and not 0"),
    "fewer than none": ("agg-rocksdb", nothing, -1, "from 1 to 10,000, and not -1"),
    "more than an int of Java": ("agg-rocksdb", nothing, 2**31, "from 1 to 10,000, and not 2,147,483,648"),
    "too many": ("agg-rocksdb", nothing, MOST_PARTITIONS + 1, "from 1 to 10,000, and not 10,001"),
    "the same number": ("agg-rocksdb", nothing, 2, "has 2 partitions already"),
    "HDFS-backed state": ("agg-hdfs", nothing, 5, "kept by HDFSBackedStateStoreProvider"),
    "stateless": ("file-to-parquet-5", nothing, 5, "has no state"),
    "async progress": ("async-progress", nothing, 5, "has no state"),
    "real-time aggregation": ("agg-real-time", nothing, 5, "does not repartition the state of operator 0"),
    "a global aggregation": ("count-all-rocksdb", nothing, 5, "has no grouping keys"),
    "a global aggregation of format 2": ("count-all-rocksdb-v2", nothing, 5, "has no grouping keys"),
    "a commit log that names sinks": ("agg-commit-log-v3", nothing, 5, "names sinks"),
    "a join of state format 4": ("join-state-format-4", nothing, 5, "has state format 4"),
    "an aggregation of a query from Spark 2": (
        "agg-rocksdb",
        conf("spark.sql.streaming.aggregation.stateFormatVersion", "2", "1"),
        5,
        "has state format 1",
    ),
    "a query that distributes loosely": ("agg-rocksdb", conf(STRICT, "true", "false"), 5, "spread by other keys"),
    "a batch that was planned": ("agg-rocksdb", uncommitted, 5, "planned and not committed"),
    "half done with another number": ("agg-rocksdb", half_done, 5, "a repartition to 7 partitions"),
    "state of later batches": ("agg-rocksdb", left_over, 5, "files of batches that the logs do not have"),
    "broken state": ("agg-rocksdb", broken_state, 5, "not sound: CKPT1"),
    "a newest entry that is cut": (
        "agg-rocksdb",
        lambda checkpoint: newest(checkpoint, "offsets").write_bytes(b"v1\n"),
        5,
        "offsets/7",
    ),
    "no metadata": ("agg-rocksdb", lambda checkpoint: (checkpoint / "metadata").unlink(), 5, "CKPT104"),
    "a link": (
        "agg-rocksdb",
        lambda checkpoint: (checkpoint / "state" / "0" / "9").symlink_to("/"),
        5,
        "contains a link",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_and_nothing_was_done(golden, what):
    name, change, partitions, said = REFUSED[what]
    checkpoint = golden(name)
    change(checkpoint)
    before = {path: path.lstat().st_mtime_ns for path in checkpoint.parent.rglob("*")}
    with pytest.raises(CheckpointError, match=re.escape(said)) as raised:
        make_repartition(Stores(Store.open(str(checkpoint))), partitions)
    assert str(checkpoint) in str(raised.value), "the message can be read alone"
    assert {path: path.lstat().st_mtime_ns for path in checkpoint.parent.rglob("*")} == before


@pytest.mark.parametrize(
    "name",
    [
        "agg-rocksdb",
        "agg-rocksdb-changelog",
        "agg-rocksdb-v2",
        "join-rocksdb-v2",
        "join-state-format-3",
        "transform-with-state",
    ],
)
def test_what_spark_can_do_is_planned(golden, name):
    plan = make_repartition(Stores(Store.open(str(golden(name)))), 5)
    assert (plan.partitions, len(plan.actions)) == (5, 1)


@pytest.mark.parametrize("partitions", [1, 3, 10_000])
def test_any_number_is_one_step(golden, partitions):
    plan = make_repartition(Stores(Store.open(str(golden("agg-rocksdb-v2")))), partitions)
    assert (plan.partitions, len(plan.actions)) == (partitions, 1)


@pytest.mark.parametrize("partitions", [0, -1, 2**31])
def test_what_is_no_number_is_refused_before_the_checkpoint_is_read(tmp_path, partitions):
    with pytest.raises(PlanError, match="a number of partitions is from 1 to 10,000"):
        make_repartition(Stores(Store.open(str(tmp_path / "nowhere"))), partitions)


def test_a_commit_that_nobody_could_read_back_is_refused(golden, monkeypatch):
    """Of a join with four state stores a partition, where an entry of 41,000 bytes is the largest that is read."""
    stores = Stores(Store.open(str(golden("join-rocksdb-v2"))))
    monkeypatch.setattr(refusals, "LOG_ENTRY_BYTES", 41_000)
    with pytest.raises(PlanError, match=r"4 state stores in each partition.*Give it at most 250 partitions"):
        make_repartition(stores, 251)
    assert make_repartition(stores, 250).partitions == 250


def test_a_half_done_one_is_planned_with_its_own_number(golden):
    checkpoint = golden("agg-rocksdb")
    half_done(checkpoint)
    plan = make_repartition(Stores(Store.open(str(checkpoint))), 7)
    assert any("begun and not finished" in warning for warning in plan.warnings)


def test_a_location_that_is_none_is_not_made(tmp_path):
    with pytest.raises(CheckpointNotFoundError):
        make_repartition(Stores(Store.open(str(tmp_path / "nowhere"))), 5)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_in_the_place_of_a_directory_is_refused(golden):
    checkpoint = golden("agg-rocksdb")
    state = checkpoint / "state"
    state.rename(checkpoint.parent / "moved")
    state.write_bytes(b"")
    with pytest.raises(CheckpointError):
        make_repartition(Stores(Store.open(str(checkpoint))), 5)


def test_a_directory_in_the_place_of_a_file_is_refused(golden):
    checkpoint = golden("agg-rocksdb")
    entry = newest(checkpoint, "commits")
    entry.unlink()
    entry.mkdir()
    with pytest.raises(CheckpointError):
        make_repartition(Stores(Store.open(str(checkpoint))), 5)


def test_a_refusal_is_a_plan_error_and_so_exit_code_four():
    assert PlanError.exit_code == 4
