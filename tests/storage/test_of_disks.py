"""What only a disk has: what killed writes have left there is removed, and what a fork writes is its own."""

from __future__ import annotations

import os

from airflow_provider_ckpt.storage import local
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.temporary_names import own_suffix
from tests.changes.salvage.damage import UUID


def test_settling_removes_the_temporary_files_of_this_package_and_leaves_those_of_hadoop(tmp_path):
    (tmp_path / "offsets").mkdir()
    names = ("5", f".6.{UUID}.tmp", f".6.{own_suffix(UUID)}")
    for name in names:
        (tmp_path / "offsets" / name).touch()
    store = Store.open(str(tmp_path))
    store.settle("offsets")
    store.settle("commits")
    assert sorted(path.name for path in (tmp_path / "offsets").iterdir()) == sorted(names[:2])


def test_nothing_behind_a_link_is_settled(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / f".6.{own_suffix(UUID)}").touch()
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint/offsets").symlink_to(tmp_path / "elsewhere")
    Store.open(str(tmp_path / "checkpoint")).settle("offsets")
    assert len([*(tmp_path / "elsewhere").iterdir()]) == 1


def test_a_process_that_is_forked_has_temporary_names_of_its_own():
    mine = local._of_thread.suffix
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, local._of_thread.suffix.encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100).decode() != mine == local._of_thread.suffix


def test_a_store_without_modes_has_none_and_takes_any(tmp_path):
    store, disk = Store.open("memory://of-disks/checkpoint"), Store.open(str(tmp_path / "disk"))
    store.create("offsets/6", b"v1")
    assert (store.attributes("offsets/6"), store.attributes_to_be("offsets/7"), store.obstacle("offsets/7")) == (
        None,
        None,
        None,
    )
    store.settle("offsets")
    store.keep("offsets/6", disk, "offsets/6")
    disk.keep("offsets/6", store, "offsets/7", like=disk.attributes("offsets/6"))
    assert store.read("offsets/7") == disk.read("offsets/6") == b"v1"
