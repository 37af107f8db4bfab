"""Backups opened by a Spark of its own: what it reads is told, and what it cannot read is a corrupt backup."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.changes.restore.rehearse import rehearse
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import BackupCorruptError, BackupError
from airflow_provider_ckpt.storage.store import Store

pytestmark = pytest.mark.spark

EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))
#: Rows of state by golden: (operator, part, rows).
OPENED = {
    "transform-with-state": [("transformWithStateInPandasExec", "count", 3)],
    "agg-rocksdb-changelog-v2": [("stateStoreSave", "", 3)],
    "agg-hdfs": [("stateStoreSave", "", 3)],
    "agg-rocksdb": [("stateStoreSave", "", 3)],
    "join-hdfs": [
        ("symmetricHashJoin", "left-keyToNumValues", 3),
        ("symmetricHashJoin", "left-keyWithIndexToValue", 9),
        ("symmetricHashJoin", "right-keyToNumValues", 3),
        ("symmetricHashJoin", "right-keyWithIndexToValue", 6),
    ],
    "join-rocksdb-v2": [
        ("symmetricHashJoin", "left-keyToNumValues", 3),
        ("symmetricHashJoin", "left-keyWithIndexToValue", 9),
        ("symmetricHashJoin", "right-keyToNumValues", 3),
        ("symmetricHashJoin", "right-keyWithIndexToValue", 6),
    ],
    "join-state-format-3": [("symmetricHashJoin", "left", 9), ("symmetricHashJoin", "right", 6)],
    "offset-log-v2": [],
    "commit-log-v3": [],
    "file-to-parquet-12": [],
}
#: A state file that the restart needs, and how far into it the byte is, by golden. The first half of that changelog is
#: the lineage, whose damage we find ourselves.
DAMAGED = {
    "agg-rocksdb": ("state/0/1/SSTs/", 0.5),
}
DAMAGED_SAMPLE = ("agg-rocksdb",)


def back_up(checkpoint: Path, root: Path) -> Manifest:
    return take_backup(Store.open(str(checkpoint)), Store.open(str(root)))


@pytest.mark.exhaustive  # `make test` rehearses one in tests/airflow/test_backup_dag.py
@pytest.mark.parametrize("case", OPENED)
def test_a_backup_opens_in_spark(golden, tmp_path, case):
    root, scratch = tmp_path / "backups", tmp_path / "scratch"
    taken = back_up(golden(case), root)
    scratch.mkdir()
    found = rehearse(Store.open(str(root)), taken, scratch=Store.open(str(scratch)))
    assert [(part.operator, part.part, part.rows) for part in found.state] == OPENED[case]
    assert (found.batch_id, found.spark_version) == (taken.batch_id, "4.3.0")
    assert list(scratch.iterdir()) == [], "nothing of it stays"


@pytest.mark.parametrize("case", DAMAGED if EXHAUSTIVE else DAMAGED_SAMPLE)
def test_a_backup_whose_state_spark_cannot_read_is_corrupt(golden, tmp_path, case, capsys):
    """One flipped byte, in a backup whose manifest has the hash of the flipped file: only Spark can tell."""
    checkpoint, root = golden(case), tmp_path / "backups"
    for sidecar in checkpoint.rglob("*.crc"):
        sidecar.unlink()
    taken = back_up(checkpoint, root)
    flipped = flip(root, taken, *DAMAGED[case])
    verify_backup(Store.open(str(root)), flipped)
    assert run(["verify", str(root), "latest", "--rehearse", "--json"]) == 3
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == BackupCorruptError.code
    assert "the state of operator 0 (stateStoreSave), partition 1, does not open in Spark" in error["message"]


def flip(root: Path, taken: Manifest, start: str, place: float) -> Manifest:
    stored = next(item for item in taken.objects if item.name.startswith(start))
    data = bytearray((root / stored.stored_at).read_bytes())
    data[int(len(data) * place)] ^= 0x55
    (root / stored.stored_at).write_bytes(data)
    changed = replace(stored, sha256=hashlib.sha256(data).hexdigest())
    taken = replace(taken, objects=tuple(changed if item is stored else item for item in taken.objects))
    (root / taken.backup_id / "manifest.json").write_bytes(taken.encode())
    return taken


def test_without_java_the_error_says_what_to_install(golden, tmp_path, monkeypatch):
    taken = back_up(golden("file-to-parquet-5"), tmp_path / "backups")
    monkeypatch.setenv("PATH", str(Path(shutil.which("env") or "").parent / "nowhere"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(BackupError, match=r"needs a Java runtime\. Install Java 17"):
        rehearse(Store.open(str(tmp_path / "backups")), taken)


def test_a_scratch_place_that_the_state_reader_cannot_open_is_refused(golden, tmp_path):
    taken = back_up(golden("agg-hdfs"), tmp_path / "backups")
    with pytest.raises(BackupError, match="state reader cannot open a location with special characters"):
        rehearse(Store.open(str(tmp_path / "backups")), taken, scratch=Store.open(str(tmp_path / "a b")))
