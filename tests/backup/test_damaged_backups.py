"""What a backup takes is right: it passes `ckpt verify`, is restored, and the restored checkpoint has no error."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.make_prune import make_prune
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.prune import prune
from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.backup.take import NOT_READ, plan_of_backup, take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.errors import BackupCorruptError, BatchNotRestorableError, CheckpointError
from airflow_provider_ckpt.storage.store import Store
from tests.backup_lab import files

EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))
GOLDENS = ("agg-hdfs", "agg-rocksdb-changelog-v2", "file-to-parquet-12", "transform-with-state")
#: How many damages of each golden by default.
SAMPLES = 8


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes(255 - byte for byte in data[at : at + 1]) + data[at + 1 :]


Damage = Callable[[bytes, bytes], bytes | None]
#: What becomes of a file; ``other`` is another one of its kind.
DAMAGES: dict[str, Damage] = {
    "missing": lambda data, other: None,
    "empty": lambda data, other: b"",
    "cut": lambda data, other: data[: len(data) // 2],
    "flipped": lambda data, other: flipped(data, len(data) // 2),
    "newline": lambda data, other: data + b"\n",
    "foreign": lambda data, other: other,
}


def damage(checkpoint: Path, name: str, how: str) -> None:
    path = checkpoint / name
    data = path.read_bytes()
    others = [file for file in sorted(checkpoint.rglob("*")) if file.is_file() and file.read_bytes() != data]
    other = next((file for file in others if file.suffix == path.suffix), others[0])
    new = DAMAGES[how](data, other.read_bytes())
    if new is None:
        path.unlink()
    else:
        path.write_bytes(new)


def errors_of(findings: tuple[object, ...]) -> list[object]:
    return [finding for finding in findings if finding.severity == "error"]


def assert_right(root: Store, taken: Manifest, place: Path) -> None:
    assert not errors_of(verify_backup(root, taken))
    target = Store.open(str(place))
    restore(make_restore(root, taken, target), root, target, accept_sink="unknown")
    assert not errors_of(inspect(target, deep=True))


@pytest.mark.parametrize("case", GOLDENS)
def test_a_backup_that_is_taken_of_a_damaged_checkpoint_is_right(goldens, tmp_path, case):
    golden = goldens[f"4.3.0/{case}"] / "checkpoint"
    cases = [(name, how) for name in sorted(files(golden)) for how in DAMAGES]
    taken = 0
    for name, how in cases if EXHAUSTIVE else random.Random(case).sample(cases, SAMPLES):
        checkpoint = Path(shutil.copytree(golden, tmp_path / "checkpoint"))
        damage(checkpoint, name, how)
        root = Store.open(str(tmp_path / "backups"))
        try:
            backup = take_backup(Store.open(str(checkpoint)), root)
        except CheckpointError as error:
            assert error.hint and not root.find(), f"{how} {name} leaves a half backup"
        else:
            taken += 1
            assert_right(root, backup, tmp_path / "restored")
        for place in ("checkpoint", "backups", "restored"):
            shutil.rmtree(tmp_path / place, ignore_errors=True)
    assert taken


#: Damage that a check knows and no copy shows.
REFUSED = (
    ("agg-hdfs", "state/0/0/.8.delta.crc", "newline"),
    ("agg-hdfs", "state/0/0/.8.delta.crc", "foreign"),
    ("agg-rocksdb-changelog", "state/0/0/8.changelog", "newline"),
    ("file-to-parquet-12", "sources/0/9.compact", "empty"),
    ("file-to-parquet-12", "sources/0/10", "empty"),
    ("file-to-parquet-12", "sources/0/10", "cut"),
    ("file-to-parquet-12", "sources/0/10", "foreign"),
)


@pytest.mark.parametrize(("case", "name", "how"), REFUSED)
def test_damage_that_a_check_knows_is_refused_and_nothing_is_left(golden, tmp_path, case, name, how):
    checkpoint, root = golden(case), Store.open(str(tmp_path / "backups"))
    damage(checkpoint, name, how)
    for refused in (take_backup, plan_of_backup):
        with pytest.raises(BatchNotRestorableError) as caught:
            refused(Store.open(str(checkpoint)), root)
        main = name.rpartition("/")[2].removeprefix(".").removesuffix(".crc")
        assert main in str(caught.value) and caught.value.batch_id is not None
        assert f"ckpt check {checkpoint} --deep" in caught.value.hint
    assert not root.find()


@pytest.mark.parametrize(("name", "how"), [("state/0/0/3_*.zip", "flipped"), ("state/0/0/SSTs/.*.sst.crc", "cut")])
def test_older_files_that_make_up_for_a_broken_snapshot_are_backed_up(golden, tmp_path, name, how):
    """State checkpoint format 2: Spark looks for the zip that a changelog names, and then goes on to older files."""
    checkpoint, root = golden("agg-rocksdb-changelog-v2"), Store.open(str(tmp_path / "backups"))
    (path, *_) = sorted(checkpoint.glob(name))
    damage(checkpoint, path.relative_to(checkpoint).as_posix(), how)
    for round_ in ("first", "second"):
        taken = take_backup(Store.open(str(checkpoint)), root)
        findings = verify_backup(root, taken)
        assert {"CKPT134"} <= {finding.code for finding in findings}
        assert not any(finding.commands for finding in findings), "a command that changes a checkpoint, not a backup"
        assert_right(root, taken, tmp_path / round_)
        held = {item.name for item in taken.objects}
        assert any(item.startswith("state/0/0/3_") and item.endswith(".zip") for item in held)
        assert any(item.startswith("state/0/0/1_") and item.endswith(".changelog") for item in held)


def test_what_a_base_of_an_earlier_release_holds_is_judged(golden, tmp_path, monkeypatch):
    checkpoint, root = golden("agg-hdfs"), Store.open(str(tmp_path / "backups"))
    unjudged(checkpoint, root, monkeypatch)
    with pytest.raises(BatchNotRestorableError, match=r"state/0/0/8\.delta"):
        take_backup(Store.open(str(checkpoint)), root)


# --- a backup that verify does not pass -----------------------------------------------------------------------------


def unjudged(checkpoint: Path, root: Store, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    """A backup of an earlier release, which took a state file not what its checksum file says."""
    damage(checkpoint, "state/0/0/.8.delta.crc", "foreign")
    with monkeypatch.context() as earlier:
        earlier.setattr("airflow_provider_ckpt.backup.take.without_broken_files", lambda view, chosen, *_, **__: chosen)
        taken = take_backup(Store.open(str(checkpoint)), root, full=True)
    facts = {key: value for key, value in taken.facts.items() if key != "judged"}
    taken = replace(taken, facts=facts)
    root.write(f"{taken.backup_id}/manifest.json", taken.encode())
    return taken


def rotten(root: Store, taken: Manifest) -> None:
    """One byte of the state, long after the backup."""
    stored_at = next(item.stored_at for item in taken.objects if item.name.endswith("/8.delta"))
    root.write(stored_at, flipped(root.read(stored_at), 9))


def test_a_prune_keeps_the_newest_backup_that_verifies(golden, tmp_path, monkeypatch):
    checkpoint, root = golden("agg-hdfs"), Store.open(str(tmp_path / "backups"))
    first, second = (take_backup(Store.open(str(checkpoint)), root, full=True) for _ in range(2))
    bad = unjudged(checkpoint, root, monkeypatch)
    plan = make_prune(root, RetentionPolicy(keep_last=1))
    assert [(item.backup_id, item.reasons) for item in plan.decisions] == [
        (first.backup_id, ()),
        (second.backup_id, ("the newest backup that passes verify",)),
        (bad.backup_id, ("last 1",)),
    ]
    assert plan.verified == (second.backup_id,)
    assert prune(plan, root).dropped == (first.backup_id,)
    rotten(root, second)
    plan = make_prune(root, RetentionPolicy(keep_last=1))
    assert plan.dropped == () and plan.decisions[0].reasons == ("no backup of this query passes verify",)


def test_a_prune_drops_nothing_once_the_backup_that_was_verified_is_gone(golden, tmp_path):
    checkpoint, root = golden("agg-hdfs"), Store.open(str(tmp_path / "backups"))
    *_, last = (take_backup(Store.open(str(checkpoint)), root, full=True) for _ in range(3))
    plan = make_prune(root, RetentionPolicy(keep_last=1))
    root.delete(f"{last.backup_id}/manifest.json")
    assert prune(plan, root).dropped == ()


def test_a_prune_that_drops_nothing_reads_no_backup(golden, tmp_path, monkeypatch):
    checkpoint, root = golden("agg-hdfs"), Store.open(str(tmp_path / "backups"))
    take_backup(Store.open(str(checkpoint)), root)
    monkeypatch.setattr("airflow_provider_ckpt.backup.make_prune.verify_backup", lambda *_: pytest.fail("it was read"))
    assert make_prune(root, RetentionPolicy(keep_last=1)).verified == ()


def test_a_backup_that_verify_condemns_is_not_restored(golden, tmp_path, monkeypatch):
    root = Store.open(str(tmp_path / "backups"))
    bad = unjudged(golden("agg-hdfs"), root, monkeypatch)
    with pytest.raises(BackupCorruptError, match=r"8\.delta") as caught:
        make_restore(root, bad, Store.open(str(tmp_path / "new")))
    said = "Do not restore it. Use another backup (ckpt backups ROOT lists them), or take a new one."
    assert caught.value.hint == said and not (tmp_path / "new").exists()


@pytest.mark.parametrize("how", ["missing", "cut"])
def test_what_a_listing_shows_of_a_damaged_backup_stops_a_restore_before_it_writes(golden, tmp_path, how):
    root = Store.open(str(tmp_path / "backups"))
    taken = take_backup(Store.open(str(golden("agg-hdfs"))), root)
    damage(tmp_path / "backups", next(item.stored_at for item in taken.objects if "8.delta" in item.name), how)
    with pytest.raises(BackupCorruptError):
        make_restore(root, taken, Store.open(str(tmp_path / "new")))
    assert not (tmp_path / "new").exists()


#: What somebody has taken out of the manifest of ``file-to-parquet-12`` or ``agg-hdfs``, and what is said of it.
TAKEN_OUT = {
    "everything": (lambda name, newest: True, "says batch"),
    "the newest offset entry": (lambda name, newest: name == f"offsets/{newest}", "says batch"),
    "the newest commit entry": (lambda name, newest: name == f"commits/{newest}", "says batch"),
    "the offset entry before": (lambda name, newest: name == f"offsets/{newest - 1}", "CKPT|does not have"),
    "metadata": (lambda name, newest: name == "metadata", "CKPT|does not have"),
    "the logs of the source": (lambda name, newest: name.startswith("sources/"), "CKPT|does not have"),
    "the state": (lambda name, newest: name.startswith("state/"), "CKPT|does not have"),
    "a state file": (lambda name, newest: name == f"state/0/0/{newest + 1}.delta", "does not have"),
}


@pytest.mark.parametrize("what", TAKEN_OUT)
def test_a_manifest_that_names_less_than_a_restart_needs_is_not_restored(golden, tmp_path, what):
    """Whoever edits a manifest leaves in it that the backup was judged."""
    root = Store.open(str(tmp_path / "backups"))
    taken = take_backup(Store.open(str(golden("agg-hdfs" if "state" in what else "file-to-parquet-12"))), root)
    gone, problem = TAKEN_OUT[what]
    objects = tuple(item for item in taken.objects if not gone(item.name, taken.batch_id))
    assert len(objects) < len(taken.objects) and taken.facts["judged"]
    edited = replace(taken, objects=objects)
    with pytest.raises(BackupCorruptError, match=problem):
        make_restore(root, edited, Store.open(str(tmp_path / "restored")))
    assert not (tmp_path / "restored").exists()


def test_a_quick_backup_says_that_its_state_is_to_be_judged(golden, tmp_path, monkeypatch):
    checkpoint, root = golden("agg-hdfs"), Store.open(str(tmp_path / "backups"))
    damage(checkpoint, "state/0/1/8.delta", "flipped")
    with monkeypatch.context() as patch:
        patch.setattr(Store, "chunks", pytest.fail)
        taken = take_backup(Store.open(str(checkpoint)), root, quick=True)
    assert (taken.facts["judged"], taken.not_judged) == (False, (NOT_READ,))
    with pytest.raises(BackupCorruptError, match=r"8\.delta"):
        verify_backup(root, taken)
    with pytest.raises(BackupCorruptError, match=r"8\.delta"):
        make_restore(root, taken, Store.open(str(tmp_path / "restored")))
    with pytest.raises(BatchNotRestorableError, match=r"8\.delta"):
        take_backup(Store.open(str(checkpoint)), root)


def test_a_backup_judges_what_a_quick_one_has_copied(golden, tmp_path):
    checkpoint, root = Store.open(str(golden("agg-hdfs"))), Store.open(str(tmp_path / "backups"))
    quick, judged = take_backup(checkpoint, root, quick=True), take_backup(checkpoint, root)
    assert not errors_of(verify_backup(root, quick))
    assert judged.facts["judged"] and not judged.not_judged
    copies = [{item.stored_at for item in taken.objects if item.name.startswith("state/")} for taken in (quick, judged)]
    assert copies[0] == copies[1] != set(), "nothing is copied again"


def test_the_state_of_a_judged_backup_is_not_read_before_a_restore(golden, tmp_path, monkeypatch):
    root = Store.open(str(tmp_path / "backups"))
    taken = take_backup(Store.open(str(golden("agg-hdfs"))), root)
    read = []
    for call in ("read", "read_up_to", "head", "chunks", "sha256"):
        real = getattr(Store, call)
        noted = lambda self, name, *rest, real=real: read.append(name) or real(self, name, *rest)  # noqa: E731
        monkeypatch.setattr(Store, call, noted)
    make_restore(root, taken, Store.open(str(tmp_path / "restored")))
    assert any("/offsets/" in name for name in read)
    assert [name for name in read if name.endswith((".delta", ".snapshot"))] == []


def test_a_restore_that_fails_on_the_way_says_what_it_leaves(golden, tmp_path):
    root, place = Store.open(str(tmp_path / "backups")), tmp_path / "new"
    taken = take_backup(Store.open(str(golden("agg-hdfs"))), root)
    rotten(root, taken)
    target = Store.open(str(place))
    with pytest.raises(BackupCorruptError) as caught:
        restore(make_restore(root, taken, target), root, target, accept_sink="unknown")
    left = len(target.find())
    assert 0 < left < len(taken.objects)
    assert f"{left} of {len(taken.objects)} files are in {place}: start no query from it" in caught.value.hint
    assert f"ckpt restore {root.location} {taken.backup_id} --to {place} --execute" in caught.value.hint


@pytest.mark.parametrize("name", ["state/0/0/8.delta", "state/0/0/5.snapshot"])
def test_what_is_said_of_a_broken_file_and_of_those_that_make_up_for_it_agrees(golden, name):
    """A delta has nothing that makes up for it; a snapshot has not once an older delta is gone."""
    checkpoint = golden("agg-hdfs")
    damage(checkpoint, name, "cut")
    if name.endswith(".snapshot"):
        (checkpoint / "state/0/0/1.delta").unlink()
    found = inspect(Store.open(str(checkpoint)), deep=True)
    said = [item for item in found if item.code in ("CKPT122", "CKPT130", "CKPT134")]
    assert [item.name for item in said if item.name == name] == [name]
    assert not [item for item in said if "uses older files instead" in item.message]
