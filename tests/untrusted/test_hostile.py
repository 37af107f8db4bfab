"""What comes from outside is not trusted: manifests, links, records, locations with passwords."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.backup.verify import verify_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.restore.make import make_restore
from airflow_provider_ckpt.changes.restore.restore import restore
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.own_files import is_backup_id
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import BackupCorruptError, CheckpointError, StoreError
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.untrusted.secrets import scrub
from tests.faults import Fault, FaultyStore

SECRET = "abc/DEF+secret"


class House:
    """A backup root, a place to restore to, and what lies outside of both."""

    def __init__(self, checkpoint: Path, home: Path) -> None:
        self.home, self.root, self.target = home, home / "backups", home / "restored"
        self.outside = home / "outside"
        self.outside.mkdir(parents=True)
        (self.outside / "secret").write_bytes(b"a secret of another")
        self.taken = take_backup(Store.open(str(checkpoint)), Store.open(str(self.root)))

    def manifest(self) -> dict[str, Any]:
        return json.loads(self.taken.encode())

    def write(self, fields: Any) -> None:
        data = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
        (self.root / self.taken.backup_id / "manifest.json").write_bytes(data)

    def restore(self) -> None:
        root, target = Store.open(str(self.root)), Store.open(str(self.target))
        found = find_backup(root, self.taken.backup_id)
        restore(make_restore(root, found, target), root, target, accept_sink="unknown")

    def verify(self) -> None:
        root = Store.open(str(self.root))
        verify_backup(root, find_backup(root, self.taken.backup_id))

    def assert_nothing_happened(self) -> None:
        assert [path.name for path in self.outside.iterdir()] == ["secret"]
        assert sorted(path.name for path in self.home.iterdir() if path != self.target) == ["backups", "outside"]
        written = [path for path in self.target.rglob("*") if path.is_file()] if self.target.exists() else []
        assert not any(b"a secret" in path.read_bytes() for path in written)


@pytest.fixture
def house(goldens, tmp_path) -> House:
    return House(goldens["4.3.0/file-to-parquet-5"] / "checkpoint", tmp_path / "house")


# --- manifests ------------------------------------------------------------------------------------------------------


def on_object(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda fields: fields["objects"][3].update(changes)


def on_manifest(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda fields: fields.update(changes)


def named_twice(fields: dict[str, Any]) -> None:
    fields["objects"].append(dict(fields["objects"][0]))


HOSTILE = {
    "absolute name": on_object(name="/etc/cron.d/x"),
    "name that climbs": on_object(name="offsets/../../../outside/x"),
    "name of dots": on_object(name="offsets/./5"),
    "name with backslashes": on_object(name="..\\..\\outside"),
    "name with NUL": on_object(name="offsets/5\0.txt"),
    "name with an escape for terminals": on_object(name="offsets/\x1b[2J"),
    "empty name": on_object(name=""),
    "name with an empty part": on_object(name="offsets//5"),
    "name that is a URL": on_object(name="s3://other/bucket"),
    "name that is no text": on_object(name=["offsets/5"]),
    "name that is given twice": named_twice,
    "name below another name": on_object(name="metadata/x"),
    "name above another name": on_object(name="offsets"),
    "stored at an absolute place": on_object(stored_at="/etc/passwd"),
    "stored outside": on_object(stored_at="../outside/secret"),
    "stored deep outside": on_object(stored_at="x/../../outside/secret"),
    "stored at a foreign location": on_object(stored_at="s3://other/secret"),
    "stored at a file URL": on_object(stored_at="file:///etc/passwd"),
    "negative size": on_object(size=-1),
    "huge size": on_object(size=1 << 70),
    "size that is true": on_object(size=True),
    "hash that is none": on_object(sha256="0"),
    "unknown field of an object": on_object(run="rm -rf /"),
    "huge batch": on_manifest(batch_id=1 << 70),
    "negative batch": on_manifest(batch_id=-1),
    "huge time": on_manifest(created_at_ms=1 << 70),
    "watermark that is text": on_manifest(watermark_ms="now"),
    "id that climbs": on_manifest(backup_id="../x"),
    "id of another": on_manifest(backup_id="20200101T000000.000Z-00000000"),
    "location that is no text": on_manifest(location=["x"]),
    "unknown field": on_manifest(hook="x"),
    "objects that are none": on_manifest(objects={"a": 1}),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_manifest_is_refused_before_anything_is_read_or_written(house, case):
    fields = house.manifest()
    HOSTILE[case](fields)
    house.write(fields)
    for act in (house.restore, house.verify):
        with pytest.raises(BackupCorruptError) as caught:
            act()
        assert len(str(caught.value)) < 800 and "\x1b" not in str(caught.value)
    assert not house.target.exists()
    house.assert_nothing_happened()


LARGE = {
    "nothing but brackets": b"[" * 100_000_000,
    "a hundred million digits": b'{"format_version":' + b"9" * 100_000_000 + b"}",
    "no JSON": b"\xff" * 100_000_000,
    "a long name": b'{"format_version":1,"objects":[{"name":"' + b"x" * 100_000_000 + b'"}]}',
}


@pytest.mark.parametrize("case", LARGE)
def test_a_manifest_of_100_mb_is_refused_in_a_few_words(house, case):
    house.write(LARGE[case])
    with pytest.raises(BackupCorruptError) as caught:
        house.restore()
    assert len(str(caught.value)) < 800


def test_a_manifest_without_end_is_not_read_to_its_end(house):
    path = house.root / house.taken.backup_id / "manifest.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a file with a hole: it takes no room
    with pytest.raises(BackupCorruptError, match="larger than"):
        house.verify()


def test_a_time_that_no_calendar_has_is_shown_as_it_is(house, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")  # no cell is folded
    fields = house.manifest()
    fields.update(created_at_ms=(1 << 63) - 1, watermark_ms=(1 << 63) - 1)
    house.write(fields)
    assert run(["backups", str(house.root)]) == 0
    assert f"{(1 << 63) - 1} ms" in capsys.readouterr().out.replace("\n", "")


def test_another_object_of_the_root_does_not_pass_for_the_one_that_was_backed_up(house):
    (house.root / "notes").write_bytes(b"a secret of another")
    fields = house.manifest()
    fields["objects"][3].update(stored_at="notes")
    house.write(fields)
    with pytest.raises(BackupCorruptError, match="is not what was backed up"):
        house.restore()
    house.assert_nothing_happened()


# --- links ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["file", "directory", "manifest"])
def test_a_link_out_of_a_backup_is_not_followed(house, kind):
    """The hash in the manifest is that of what the link leads to, so it is not the hash that stops this."""
    fields, backup = house.manifest(), house.root / house.taken.backup_id
    stored = fields["objects"][3]
    place = house.root / stored["stored_at"]
    data = (house.outside / "secret").read_bytes()
    stored.update(size=len(data), sha256=hashlib.sha256(data).hexdigest())
    if kind == "file":
        place.unlink()
        place.symlink_to(house.outside / "secret")
        house.write(fields)
    elif kind == "directory":
        stored["stored_at"] = f"{house.taken.backup_id}/checkpoint/link/secret"
        (backup / "checkpoint" / "link").symlink_to(house.outside)
        house.write(fields)
    else:
        (backup / "manifest.json").unlink()
        (backup / "manifest.json").symlink_to(house.outside / "secret")
    for act in (house.restore, house.verify):
        with pytest.raises(StoreError, match="points outside"):
            act()
    house.assert_nothing_happened()


def test_a_link_in_the_place_to_restore_to_is_not_followed(house):
    house.target.mkdir()
    empty = house.outside / "empty"
    empty.mkdir()
    (house.target / "offsets").symlink_to(empty)
    with pytest.raises(StoreError, match="offsets: the location is not empty"):
        house.restore()
    assert list(empty.iterdir()) == []


def test_a_root_that_is_a_link_itself_is_fine(house):
    (house.home / "alias").symlink_to(house.root)
    root, target = Store.open(str(house.home / "alias")), Store.open(str(house.target))
    found = find_backup(root, "latest")
    restore(make_restore(root, found, target), root, target, accept_sink="unknown")
    assert observe(target).latest_committed == house.taken.batch_id


# --- records of changes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan["actions"][0].update(name="../outside/secret"),
        lambda plan: plan["actions"][0].update(name="metadata"),
        lambda plan: plan.update(batch_id=0),
    ],
    ids=["a name outside", "another name", "another batch"],
)
def test_a_record_that_was_tampered_with_is_not_acted_on(golden, tmp_path, change):
    checkpoint = golden("file-to-parquet-12")
    stores = Stores(Store.open(str(checkpoint)))
    apply(make_rollback(stores, 8), stores, query_is_stopped=True, quiet_s=0, accept_sink="unknown")
    record = next((checkpoint.parent / "_ckpt_undo").rglob("plan.json"))
    plan = json.loads(record.read_text())
    change(plan)
    record.write_text(json.dumps(plan, sort_keys=True))
    before = {path: path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}
    for act in (lambda: make_undo(stores), lambda: make_rollback(stores, 5)):
        with pytest.raises(CheckpointError, match="is not the plan that was recorded"):
            act()
    assert {path: path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()} == before


# --- credentials ----------------------------------------------------------------------------------------------------

WITH_SECRETS = {
    f"s3://AKIA:{SECRET}@bucket/x": "s3://AKIA@bucket/x",
    f"cannot open 'https://me:{SECRET}@host/x?a=1' twice": "cannot open 'https://me@host/x?a=1' twice",
    f"https://host/x?sig={SECRET}&a=1": "https://host/x?sig=***&a=1",
    f"https://host/x?a=1&X-Amz-Signature={SECRET}": "https://host/x?a=1&X-Amz-Signature=***",
    f"abfs://c@account/x?sv=1&SAS_TOKEN={SECRET}": "abfs://c@account/x?sv=1&SAS_TOKEN=***",
}
WITHOUT = [
    "hdfs://namenode:8020/data/a@b",
    "abfss://container@account.dfs.core.windows.net/x",
    "/data/a:b@c",
    "s3://b/k?v=1",
]


@pytest.mark.parametrize("text", WITH_SECRETS)
def test_passwords_signatures_and_tokens_are_left_out(text):
    assert scrub(text) == WITH_SECRETS[text]


@pytest.mark.parametrize("text", WITHOUT)
def test_what_is_no_secret_stays(text):
    assert scrub(text) == text


def test_the_error_of_a_missing_driver_shows_no_password():
    with pytest.raises(StoreError) as caught:
        Store.open(f"nosuch://me:{SECRET}@host/x")
    assert SECRET not in "".join(traceback.format_exception(caught.value)) + json.dumps(caught.value.to_dict())


def test_what_a_driver_says_shows_no_secret_option(tmp_path):
    class Telling(FaultyStore):
        pass

    (tmp_path / "x").touch()
    store = Telling.over(str(tmp_path), Fault())
    store.fs.storage_options["secret"] = SECRET

    def tell(*_: Any, **__: Any) -> bytes:
        raise RuntimeError(f"https://host refused secret {SECRET}")

    store.fs.cat_file = tell
    with pytest.raises(StoreError) as caught:
        store.read("x")
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert "https://host refused secret ***" in str(caught.value)


def test_nothing_that_is_stored_or_shown_has_the_password_of_a_location(golden, tmp_path, capsys):
    """A location with a password, through backup, verify, restore and rollback."""
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]
    at = f"memory://me:{SECRET}@host"
    checkpoint = golden("file-to-parquet-12")
    for path in checkpoint.rglob("*"):
        if path.is_file():
            memory.pipe_file(f"{Store.open(f'{at}/checkpoint').root}/{path.relative_to(checkpoint)}", path.read_bytes())
    commands = [
        ["backup", f"{at}/checkpoint", "--to", f"{at}/backups"],
        ["backups", f"{at}/backups"],
        ["verify", f"{at}/backups", "latest"],
        ["restore", f"{at}/backups", "latest", "--to", f"{at}/new", "--execute", "--accept-sink", "unknown"],
        ["restore", f"{at}/backups", "latest", "--to", f"{at}/checkpoint", "--execute", "--accept-sink", "unknown"],
        [
            "rollback",
            f"{at}/checkpoint",
            "--to-batch",
            "8",
            "--execute",
            "--accept-sink",
            "unknown",
            "--i-know-it-is-stopped",
            "--quiet-period",
            "0",
        ],
    ]
    for command in commands:
        assert run([*command, "--json"]) == (4 if command[4:5] == [f"{at}/checkpoint"] else 0), command[0]
    shown = capsys.readouterr()
    assert SECRET not in shown.out + shown.err
    ours = {name: data.getvalue() for name, data in memory.store.items() if name.endswith(".json")}
    assert len(ours) >= 3 and not [name for name, data in ours.items() if SECRET.encode() in data]


# --- permissions ----------------------------------------------------------------------------------------------------


def test_nothing_is_wider_than_the_umask_and_no_directory_is_widened(goldens, tmp_path):
    root, target = tmp_path / "backups", tmp_path / "restored"
    for directory in (root, target):
        directory.mkdir(mode=0o700)
    before = os.umask(0o027)
    try:
        taken = take_backup(Store.open(str(goldens["4.3.0/file-to-parquet-5"] / "checkpoint")), Store.open(str(root)))
        plan = make_restore(Store.open(str(root)), taken, Store.open(str(target)))
        restore(plan, Store.open(str(root)), Store.open(str(target)), accept_sink="unknown")
    finally:
        os.umask(before)
    for directory in (root, target):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert [path for path in directory.rglob("*") if path.stat().st_mode & 0o027] == []


def test_a_backup_id_that_climbs_finds_nothing(house):
    shutil.copytree(house.root / house.taken.backup_id, house.outside / "stolen")
    with pytest.raises(CheckpointError, match="no backup"):
        find_backup(Store.open(str(house.root)), "../outside/stolen")
    assert not is_backup_id("../outside/stolen")
