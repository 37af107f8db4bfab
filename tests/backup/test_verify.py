"""A backup is read back and judged as the checkpoint that it would be restored to."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup import verify
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import BackupCorruptError
from airflow_provider_ckpt.storage.store import Store

CASES = ["file-to-parquet-12", "agg-hdfs", "agg-rocksdb-changelog-v2", "transform-with-state", "two-sources"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "backups"


def back_up(checkpoint: Path, root: Path) -> Manifest:
    return take_backup(Store.open(str(checkpoint)), Store.open(str(root)))


def verified(root: Path, taken: Manifest) -> Counter[tuple[str, str]]:
    return Counter((item.code, item.severity) for item in verify_backup(Store.open(str(root)), taken))


def change(root: Path, taken: Manifest, name: str, edit: Callable[[bytes], bytes]) -> Manifest:
    """Change an object of a backup, and its manifest with it: what was damaged when the backup was taken."""
    stored = next(item for item in taken.objects if item.name == name)
    data = edit((root / stored.stored_at).read_bytes())
    (root / stored.stored_at).write_bytes(data)
    changed = replace(stored, size=len(data), sha256=hashlib.sha256(data).hexdigest())
    taken = replace(taken, objects=tuple(changed if item is stored else item for item in taken.objects))
    (root / taken.backup_id / "manifest.json").write_bytes(taken.encode())
    return taken


@pytest.mark.parametrize("case", CASES)
def test_a_backup_has_the_findings_of_its_checkpoint(golden, root, case):
    checkpoint = golden(case)
    own = Counter((item.code, item.severity) for item in inspect(Store.open(str(checkpoint)), deep=True))
    assert verified(root, back_up(checkpoint, root)) == own


@pytest.mark.parametrize("case", ["agg-hdfs", "agg-rocksdb-v2"])
def test_each_object_is_read_and_told_once(golden, root, case):
    """State has checksum files: what they are compared with is not read again for the hash."""
    taken, told = back_up(golden(case), root), []
    assert any(item.name.startswith("state/") and item.name.endswith(".crc") for item in taken.objects)
    store = Reading.open(str(root))
    store.reads = Counter()
    verify_backup(store, taken, on_step=lambda *step: told.append(step))
    assert store.reads.keys() == {item.stored_at for item in taken.objects}
    twice = {name.rpartition("/")[2].rpartition(".")[2] for name, reads in store.reads.items() if reads > 1}
    assert twice <= {"zip", "changelog", "metadata"}, "those that say what else there must be"
    assert [done for done, _, _ in told] == list(range(1, len(taken.objects) + 1))
    assert {name for _, _, name in told} == {item.name for item in taken.objects}


class Reading(Store):
    """Counts what is read."""

    def read_up_to(self, name, most):
        self.reads[name] += 1
        return super().read_up_to(name, most)


def test_damage_that_was_backed_up_is_found(golden, root):
    checkpoint = golden("file-to-parquet-12")
    sidecar = checkpoint / "sources" / "0" / ".9.compact.crc"
    sidecar.write_bytes(sidecar.read_bytes()[:-1] + b"x")
    assert ("CKPT121", "warning") in verified(root, back_up(checkpoint, root))


def test_a_restart_that_would_fail_is_a_corrupt_backup(golden, root):
    taken = back_up(golden("agg-hdfs"), root)
    state = next(item.name for item in taken.objects if item.name.endswith((".delta", ".snapshot")))
    with pytest.raises(BackupCorruptError, match="does not have"):
        verified(root, change(root, taken, state, lambda data: data[:-1] + bytes([data[-1] ^ 1])))


def test_a_newest_entry_that_cannot_be_read_is_a_corrupt_backup(golden, root):
    taken = back_up(golden("file-to-parquet-5"), root)
    with pytest.raises(BackupCorruptError, match=f"offsets/{taken.batch_id}"):
        verified(root, change(root, taken, f"offsets/{taken.batch_id}", lambda data: b""))


def test_a_manifest_that_names_another_batch_than_its_files_is_corrupt(golden, root):
    taken = back_up(golden("file-to-parquet-5"), root)
    with pytest.raises(
        BackupCorruptError,
        match=r"the manifest says batch 3, but the newest batch in the files is 4 \(planned\) and 4 \(committed\)",
    ):
        verified(root, replace(taken, batch_id=3))


def test_a_backup_that_holds_a_batch_planned_past_its_own_is_corrupt(golden, root):
    taken = back_up(golden("file-to-parquet-5"), root)
    renamed = (replace(item, name=item.name.replace("commits/4", "commits/3")) for item in taken.objects)
    with pytest.raises(
        BackupCorruptError,
        match=r"the manifest says batch 3, but the newest batch in the files is 4 \(planned\) and 3 \(committed\)",
    ):
        verified(root, replace(taken, batch_id=3, objects=tuple(item for item in renamed if "crc" not in item.name)))


@pytest.mark.parametrize("read_at_once", [True, False], ids=["small", "large"])
@pytest.mark.parametrize("name", ["metadata", "offsets/7", "state/0/0/8.delta", "state/0/_metadata/metadata"])
def test_a_bit_that_flipped_in_the_backup_is_found(golden, root, monkeypatch, name, read_at_once):
    taken = back_up(golden("agg-hdfs"), root)
    path = root / next(item.stored_at for item in taken.objects if item.name == name)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    if not read_at_once:
        monkeypatch.setattr(verify, "_SMALL_BYTES", 0)
    with pytest.raises(BackupCorruptError, match="is not what was backed up"):
        verified(root, taken)


def test_the_command_shows_findings_and_exits_by_them(golden, root, capsys):
    taken = back_up(golden("file-to-parquet-5"), root)
    assert run(["verify", str(root), "latest", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verified"] and document["findings"] == [] and document["backup_id"] == taken.backup_id
    change(root, taken, "sources/0/2", lambda data: b"v1\nnot json")
    assert run(["verify", str(root), "latest"]) == 1
    shown = capsys.readouterr().out
    assert "CKPT102" in shown and "sources/0/2" in shown
    (root / taken.backup_id / "checkpoint" / "metadata").write_text("x")
    assert run(["verify", str(root), "latest"]) == 3
    assert "is not what was backed up" in capsys.readouterr().err
