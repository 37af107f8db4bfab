"""A rollback is judged by what it would leave: never worse than before, and exact only where nothing speaks against it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import BatchNotRestorableError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store

TARGET = 5


def without_checksum(entry: Path) -> Path:
    entry.with_name(f".{entry.name}.crc").unlink()
    return entry


def edit(entry: Path, pattern: str, new: str) -> None:
    text, count = re.subn(pattern, new, entry.read_text())
    assert count, "the damage was done"
    without_checksum(entry).write_text(text)


def plan_of(home: Path, batch_id: int = TARGET) -> Plan:
    stores = Stores(Store.open(str(home / "checkpoint")), Store.open(str(home / "output")))
    return make_rollback(stores, batch_id, trim_sink_log=True, sink=parse_sink(f"file:{home / 'output'}"))


def directory_in_the_commit_log(checkpoint: Path) -> None:
    without_checksum(checkpoint / "commits" / "6").unlink()
    (checkpoint / "commits" / "6").mkdir()


DAMAGES = {
    "a conf without a value": (
        lambda checkpoint: edit(
            checkpoint / "offsets/5", r'"spark.sql.streaming.multipleWatermarkPolicy":"min"',
            '"spark.sql.streaming.multipleWatermarkPolicy":null',
        ),
        "CKPT116",
    ),
    "no confs": (lambda checkpoint: edit(checkpoint / "offsets/5", r'"conf":\{[^}]*\}', '"conf":{}'), "CKPT20"),
    "a directory where the next commit goes": (directory_in_the_commit_log, "CKPT115"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_target_from_which_spark_would_not_start_is_refused(golden_home, damage):
    home = golden_home("agg-rocksdb-changelog")
    done, code = DAMAGES[damage]
    done(home / "checkpoint")
    with pytest.raises(BatchNotRestorableError, match=f"error that it does not have now: {code}"):
        plan_of(home)


@pytest.mark.parametrize(
    ("name", "target", "copied", "says"),
    [
        ("file-to-parquet-12", 9, 8, "is a copy of an entry before it"),
        ("agg-rocksdb-changelog", 5, 6, "is not older than the entry after it"),
        ("agg-rocksdb-changelog", 5, 7, "is not older than the entry after it"),
    ],
)
def test_the_effect_of_going_back_to_a_copied_entry_is_unknown(golden_home, name, target, copied, says):
    home = golden_home(name)
    log = home / "checkpoint" / "offsets"
    data = (log / str(copied)).read_bytes()
    without_checksum(log / str(target)).write_bytes(data)
    (effect,) = plan_of(home, target).effects
    assert effect.effect == "unknown"
    assert says in effect.reason


def test_the_effect_of_going_back_to_an_entry_that_does_not_fit_its_checksum_is_unknown(golden_home):
    home = golden_home("agg-rocksdb-changelog")
    entry = home / "checkpoint" / "offsets" / str(TARGET)
    entry.write_bytes(entry.read_bytes().replace(b'"batchWatermarkMs":17', b'"batchWatermarkMs":16'))
    (effect,) = plan_of(home).effects
    assert (effect.effect, "it does not match its checksum file" in effect.reason) == ("unknown", True)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("agg-rocksdb-changelog", TARGET),
        ("repartition-2-to-4", 4),  # the batch after it repartitions, and has its time
        ("repartition-offset-log-v2", 4),
        ("join-state-format-3", 0),  # no entry before it says in which format the state is
        ("join-state-format-4", 0),
    ],
)
def test_a_healthy_target_is_exact(golden, name, target):
    plan = make_rollback(Stores(Store.open(str(golden(name)))), target, sink=parse_sink("noop"))
    assert [effect.effect for effect in plan.effects] == ["exact"]
