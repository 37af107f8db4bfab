"""What new files and directories of this machine get, and what this user cannot give them."""

from __future__ import annotations

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from airflow_provider_ckpt.storage import local_access
from airflow_provider_ckpt.storage.access import Access, Attributes
from airflow_provider_ckpt.storage.local_access import (
    attributes_of,
    attributes_to_be,
    give,
    make_directories,
    make_like,
    obstacle,
)
from airflow_provider_ckpt.storage.store import Store

ACL = "system.posix_acl_access"
#: Version 2: the owner may read and write, user 4321 may read, the group may read, the mask is to read, others nothing.
FOR_4321 = bytes.fromhex(
    "02000000 01000600ffffffff 02000400e1100000 04000400ffffffff 10000400ffffffff 20000000ffffffff"
)


@pytest.fixture(autouse=True)
def _umask_077():
    before = os.umask(0o077)
    yield
    os.umask(before)


def mode(path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"


def test_a_new_file_is_as_the_newest_beside_it_and_a_hidden_one_says_nothing(tmp_path):
    for number, (name, bits) in enumerate({"1": 0o600, "2": 0o664, ".3.crc": 0o777}.items()):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(bits)
        os.utime(tmp_path / name, (number, number))
    Store.open(str(tmp_path)).create("3", b"v1")
    assert mode(tmp_path / "3") == "0664"


def test_a_file_in_the_place_of_another_one_has_what_that_has(tmp_path):
    (tmp_path / "2").write_bytes(b"old")
    (tmp_path / "2").chmod(0o444)
    os.setxattr(tmp_path / "2", "user.team", b"orders")
    Store.open(str(tmp_path)).write("2", b"new")
    assert (mode(tmp_path / "2"), (tmp_path / "2").read_bytes()) == ("0444", b"new")
    assert os.getxattr(tmp_path / "2", "user.team") == b"orders"


def test_a_new_file_has_the_access_control_list_of_those_beside_it(tmp_path):
    (tmp_path / "1").touch()
    os.setxattr(tmp_path / "1", ACL, FOR_4321)
    Store.open(str(tmp_path)).create("2", b"v1")
    assert os.getxattr(tmp_path / "2", ACL) == FOR_4321


def test_a_file_alone_is_as_its_directory_and_one_open_to_all_says_nothing(tmp_path):
    tmp_path.chmod(0o2775)
    assert attributes_to_be(str(tmp_path / "a")).access.mode == 0o664
    tmp_path.chmod(0o1777)
    assert attributes_to_be(str(tmp_path / "a")) is None
    assert attributes_to_be(str(tmp_path / "no/such/a")) is None


def test_a_new_directory_is_as_its_siblings_below_the_location_and_else_as_what_is_above(tmp_path):
    root = tmp_path / "checkpoint"
    (root / "sources").mkdir(parents=True)
    tmp_path.chmod(0o755)
    root.chmod(0o777)
    (root / "sources").chmod(0o2750)
    make_directories(str(root / "state/0"), str(root))
    assert (mode(root / "state"), mode(root / "state/0")) == ("2750", "2750"), "as sources/, and then as state/"
    make_directories(str(tmp_path / "new/offsets"), str(tmp_path / "new"))
    assert (mode(tmp_path / "new"), mode(tmp_path / "new/offsets")) == ("0755", "0755"), "no sibling of it counts"
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o1777)
    make_directories(str(tmp_path / "open/mine"))
    assert mode(tmp_path / "open/mine") == "0700"


def test_who_copies_beside_it_waits_until_a_directory_is_what_it_is_to_be(tmp_path, monkeypatch):
    tmp_path.chmod(0o755)
    (tmp_path / "from").mkdir()
    for number in range(8):
        (tmp_path / f"from/{number}").write_bytes(b"x")
    give = local_access.give

    def slowly(file, wanted):
        time.sleep(0.05)
        give(file, wanted)

    monkeypatch.setattr(local_access, "give", slowly)
    source, target = Store.open(str(tmp_path / "from")), Store.open(str(tmp_path / "to"))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: source.copy(str(number), target, f"state/0/{number}"), range(8)))
    assert {mode(path) for path in (tmp_path / "to/state/0").iterdir()} == {"0644"}


def test_a_directory_is_made_as_another_one_unless_there_is_none(tmp_path):
    tmp_path.chmod(0o1775)
    make_like(str(tmp_path / "records"), str(tmp_path))
    assert mode(tmp_path / "records") == "1775"
    make_like(str(tmp_path / "other"), str(tmp_path / "no-such"))
    assert not (tmp_path / "other").exists()


def test_a_copy_gets_the_time_and_notes_as_well(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).touch()
    os.setxattr(tmp_path / "a", "user.team", b"orders")
    os.utime(tmp_path / "a", ns=(5_000_000_001, 5_000_000_001))
    (tmp_path / "a").chmod(0o640)
    give(str(tmp_path / "b"), attributes_of(str(tmp_path / "a")))
    assert attributes_of(str(tmp_path / "b")) == attributes_of(str(tmp_path / "a"))


def test_a_disk_that_takes_root_for_nobody_is_an_error_and_no_silence(tmp_path, monkeypatch):
    (tmp_path / "a").touch()

    def refuse(*arguments: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(PermissionError):
        give(str(tmp_path / "a"), Attributes(Access(54_321, 54_321, 0o644)))


def test_what_this_user_can_write_is_no_obstacle(tmp_path):
    (tmp_path / "a").touch()
    assert obstacle(str(tmp_path / "a")) is None
    assert obstacle(str(tmp_path / "new/directory/a")) is None
