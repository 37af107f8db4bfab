"""State files and schema files that are empty, cut or garbled: a check, a gate and a backup see every one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.find_restart_set import find_restart_set
from airflow_provider_ckpt.checks.confs import refused_confs
from airflow_provider_ckpt.checks.inspect import examine, inspect
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.errors import BackupCorruptError, BatchNotRestorableError
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.restart.judged import not_read
from airflow_provider_ckpt.storage.store import Store
from tests.oracle.mutations import mutate
from tests.state_streams import delta

GOLDENS = (
    "agg-hdfs",
    "agg-rocksdb-changelog",
    "agg-rocksdb-changelog-v2-snappy",
    "count-all-rocksdb-v2",
    "join-state-format-4",
    "join-hdfs",
    "transform-with-state",
)
DAMAGES = ("empty", "truncate", "flip")
EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))


def without_checksums(checkpoint: Path) -> None:
    """As on an object store, where nothing but the content tells."""
    for path in checkpoint.rglob("*.crc"):
        path.unlink()


def state_of_the_newest_batch(checkpoint: Path) -> list[str]:
    """What a restart reads of one partition: schemas, changes, zips."""
    view = examine(Store.open(str(checkpoint)), deep=True)
    names = find_restart_set(Store.open(str(checkpoint)), view, view.latest_committed).names
    first = ("/_stateSchema/", "/0/", "/_metadata/v2/")
    return [
        name
        for name in names
        if isinstance(layout.parse(name), layout.StateFile | layout.StateSchemaFile | layout.OperatorMetadataFile)
        and any(part in name for part in first)
        and not name.endswith("/_metadata/metadata")
    ]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("case", GOLDENS)
def test_every_file_that_a_restart_reads_is_read(case, damage, golden, tmp_path):
    checkpoint = golden(case)
    without_checksums(checkpoint)
    names = state_of_the_newest_batch(checkpoint)
    assert len(names) >= 4
    if not EXHAUSTIVE:  # each file in one of the ways
        names = names[DAMAGES.index(damage) :: len(DAMAGES)]
    backups = Store.open(str(tmp_path / "backups"))
    passed, backed_up = [], []
    for name in names:
        whole = (checkpoint / name).read_bytes()
        mutate(checkpoint, [f"{damage} {name}"])
        found = inspect(Store.open(str(checkpoint)), deep=True)
        if not [f for f in found if f.name == name and f.severity in ("error", "warning")]:
            passed.append(name)
        try:
            taken = take_backup(Store.open(str(checkpoint)), backups, full=True)
        except BatchNotRestorableError as error:
            assert name in str(error)
        else:
            said = {finding.name: finding.severity for finding in verify_backup(backups, taken)}
            assert "error" not in said.values()
            backed_up += [item.name for item in taken.objects if item.name == name and name not in said]
        (checkpoint / name).write_bytes(whole)
    unseen = {name for name in names if damage == "flip" and "snappy" in case and "changelog" in name}
    assert set(passed) <= unseen, "snappy has no checksum of its own, and neither has a changelog"
    assert set(backed_up) <= unseen


def test_a_backup_goes_without_a_snapshot_that_older_files_make_up_for(golden, tmp_path):
    checkpoint, backups = golden("agg-hdfs"), Store.open(str(tmp_path / "backups"))
    without_checksums(checkpoint)
    mutate(checkpoint, ["truncate state/0/0/5.snapshot"])
    taken = take_backup(Store.open(str(checkpoint)), backups)
    names = {item.name for item in taken.objects}
    assert "state/0/0/5.snapshot" not in names
    assert {f"state/0/0/{version}.delta" for version in range(1, 9)} <= names
    verify_backup(backups, taken)


def test_a_backup_of_an_earlier_release_that_holds_a_cut_file_is_seen_by_verify(golden, tmp_path, monkeypatch):
    checkpoint, backups = golden("agg-hdfs"), Store.open(str(tmp_path / "backups"))
    without_checksums(checkpoint)
    mutate(checkpoint, ["truncate state/0/0/8.delta"])
    monkeypatch.setattr("airflow_provider_ckpt.backup.take.without_broken_files", lambda view, chosen, *_, **__: chosen)
    taken = take_backup(Store.open(str(checkpoint)), backups)
    with pytest.raises(BackupCorruptError, match=r"state/0/0/8.delta: a damaged or cut off lz4 stream"):
        verify_backup(backups, taken)


def test_damaged_operator_metadata_that_spark_does_not_read_closes_nothing(golden, tmp_path):
    checkpoint = golden("agg-hdfs")
    mutate(checkpoint, ["text state/0/_metadata/metadata hello"])
    store = Store.open(str(checkpoint))
    (found,) = inspect(store, deep=True)
    assert (found.code, found.severity, found.name) == ("CKPT102", "warning", "state/0/_metadata/metadata")
    assert forecast(examine(store, deep=True), DeploySpec(operators=("stateStoreSave",))).decision == "warn"
    assert take_backup(store, Store.open(str(tmp_path / "backups"))).batch_id == 7
    assert make_rollback(Stores(store), 5).actions


@pytest.mark.parametrize("size", [100, 200_000])
@pytest.mark.parametrize("name", ["state/0/0/8.delta", "state/0/0/5.snapshot"])
def test_state_that_is_not_what_was_written_is_loaded_where_it_is_whole(name, size, golden, tmp_path):
    """Spark compares no checksum of Hadoop's with deltas, snapshots and changelogs."""
    checkpoint = golden("agg-hdfs")
    other, store = delta(bytes(size)), Store.open(str(checkpoint))
    (checkpoint / name).write_bytes(other)
    (found,) = [item for item in inspect(store, deep=True) if item.severity != "note"]
    assert (found.code, found.severity, found.name) == ("CKPT121", "warning", name)
    assert "which Spark does not verify" in found.message
    said = forecast(examine(store, deep=True), DeploySpec(operators=("stateStoreSave",)))
    assert (said.found, said.spark_error, said.resumes_at_batch) == ("warn", None, 8)
    if name.endswith(".delta"):
        with pytest.raises(BatchNotRestorableError, match="not what its checksum file says"):
            make_rollback(Stores(store), 7)
    middle = len(other) // 2
    (checkpoint / name).write_bytes(other[:middle] + b"x" + other[middle + 1 :])
    codes = {item.code for item in inspect(store, deep=True) if item.name == name}
    assert codes == {"CKPT130" if name.endswith(".delta") else "CKPT134"}, "its own checksums say it"


@pytest.mark.parametrize("codec", ["zstd", "snappy", "lzf"])
def test_of_streams_without_sums_nobody_knows_whether_spark_reads_them(codec, golden):
    checkpoint = golden("agg-hdfs")
    view = examine(Store.open(str(checkpoint)), deep=True)
    mutate(checkpoint, [f"conf offsets/{{N}} spark.sql.streaming.stateStore.compression.codec '\"{codec}\"'"])
    altered = replace(
        examine(Store.open(str(checkpoint)), deep=True), missing=(), altered=("state/0/0/8.delta: changed",)
    )
    assert "state" in not_read(altered) and "state" not in not_read(replace(view, altered=altered.altered))


@pytest.mark.parametrize("value", ["x", "2.0", "1e3", "0", "-1", "", "99999999999"])
def test_shuffle_partitions_that_are_no_number_are_one_finding(value, golden):
    checkpoint = golden("agg-hdfs")
    mutate(checkpoint, [f"conf offsets/{{N}} spark.sql.shuffle.partitions '\"{value}\"'"])
    view = examine(Store.open(str(checkpoint)), deep=True)
    (found,) = refused_confs(view)
    assert found.spark_error == ("INVALID_CONF_VALUE." + ("REQUIREMENT" if value in ("0", "-1") else "TYPE_MISMATCH"))
    assert forecast(view, DeploySpec()).spark_error == found.spark_error


@pytest.mark.parametrize(
    "damage", [lambda data: data[:20], lambda data: data[:-3] + b"xyz"], ids=["cut", "overwritten"]
)
def test_no_rollback_goes_to_a_batch_whose_state_is_broken(golden, damage):
    checkpoint = golden("agg-hdfs")
    delta = checkpoint / "state/0/0/7.delta"
    delta.write_bytes(damage(delta.read_bytes()))
    with pytest.raises(BatchNotRestorableError, match=r"state/0/0/7\.delta"):
        make_rollback(Stores(Store.open(str(checkpoint))), 6)
    assert make_rollback(Stores(Store.open(str(checkpoint))), 5).batch_id == 5


@pytest.mark.parametrize("partition", [0, 1])
@pytest.mark.parametrize("case", ["agg-rocksdb", "agg-hdfs"])
def test_a_partition_that_lost_its_newest_file_is_no_change_of_their_number(case, partition, golden):
    """Older state of it is there, so the offset log is right, and the state file is what is missing."""
    checkpoint = golden(case)
    newest = max(examine(Store.open(str(checkpoint)), deep=True).committed) + 1
    for path in checkpoint.glob(f"state/0/{partition}/{newest}.*"):
        path.unlink()
    found = forecast(examine(Store.open(str(checkpoint)), deep=True), DeploySpec()).findings
    codes = {item.code for item in found}
    assert "CKPT130" in codes and "CKPT205" not in codes
