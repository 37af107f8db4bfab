"""Stores: local disk, memory, and S3 over HTTP."""

from __future__ import annotations

import hashlib
import os
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_ckpt.errors import CheckpointNotFoundError, ObjectExistsError, StoreError, StoreUnavailableError
from airflow_provider_ckpt.storage import local
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.testing import StoreSuite
from tests.permissions import without_rights


class TestLocalStore(StoreSuite):
    page_objects = 10  # a disk lists all at once

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return Store.open(str(tmp_path / "checkpoint"))


class TestMemoryStore(StoreSuite):
    exclusive = False
    page_objects = 10  # so does a memory

    @pytest.fixture
    def store(self) -> Store:
        return Store.open(f"memory://{uuid.uuid4()}/checkpoint")


@pytest.mark.s3
class TestS3Store(StoreSuite):
    page_objects = 10

    @pytest.fixture
    def store(self, s3_store, s3_pages) -> Iterator[Store]:
        s3_pages(self.page_objects)
        return s3_store("checkpoint")

    def test_requests_are_as_few_as_they_can_be(self, store: Store, s3_requests):
        store.create("commits/0", b"v1")
        for operation, expected in (
            (lambda: store.ls("commits"), {"ListObjectsV2": 1}),
            (lambda: store.read("commits/0"), {"GetObject": 1}),
            (lambda: store.create("commits/1", b"v1"), {"PutObject": 1}),
            (lambda: store.find(), {"ListObjectsV2": 1}),
            (lambda: store.delete("commits/1"), {"DeleteObject": 1}),
            (lambda: store.first(1_000), {"ListObjectsV2": 1}),
        ):
            before = store.calls.count
            with s3_requests(store) as counted:
                operation()
            assert dict(counted) == expected
            assert store.calls.count - before == 1

    def test_an_empty_directory_that_hadoop_has_marked_is_empty(self, store: Store):
        """Between the start of a query on ``s3a`` and its first commit, that is all that there is below ``commits``."""
        store.create("metadata", b"{}")
        bucket, key, _ = store.fs.split_path(store.root)
        for marker in ("", "commits/"):
            store.fs.call_s3("put_object", Bucket=bucket, Key=f"{key}/{marker}", Body=b"")
        assert store.ls("commits") == ({}, [])
        assert store.names("commits") == []
        assert [*store.ls()[0], *store.ls()[1]] == ["metadata", "commits"]
        assert [*store.find()] == ["metadata"]

    def test_a_copy_inside_one_s3_moves_no_bytes(self, store: Store, s3_requests):
        """A name that nobody else can have needs no look whether it is free; nor a size that a listing has shown."""
        store.create("state/0/0/1.delta", b"x" * 1_000)
        known = [{}, {"is_free": True}, {"is_free": True, "size": 1_000}]
        for at, arguments in enumerate(known):
            with s3_requests(store) as counted:
                arguments["see"] = pytest.fail
                copied = store.copy("state/0/0/1.delta", store.sibling("backup"), f"{at}.delta", **arguments)
            assert copied == (1_000, hashlib.sha256(b"x" * 1_000).hexdigest())
            assert (counted["HeadObject"], counted["CopyObject"]) == (2 - at, 1)

    def test_the_first_objects_are_those_first_in_name(self, store: Store):
        names = ["a/9", "a/x/1", "a0", "b"]
        for name in reversed(names):
            store.create(name, b"x")
        for most in range(1, 6):
            objects, whole = store.first(most)
            assert (list(objects), whole) == (names[:most], most > 4)

    def test_an_object_that_comes_right_before_the_removal_of_another_one_stays(self, store: Store, monkeypatch):
        store.create("offsets/8", b"ours")
        seen = store.stat("offsets/8")
        assert seen is not None
        with monkeypatch.context() as patched:
            patched.setattr(Store, "stat", lambda *_: store.write("offsets/8", b"theirs") or seen)
            assert not store.delete_if("offsets/8", seen.identity)
        assert store.read("offsets/8") == b"theirs"

    def test_a_file_system_that_caches_listings_does_not_go_on_with_it(self, store: Store, s3_server):
        """Those that Airflow's providers open do."""
        import s3fs

        caching = s3fs.S3FileSystem(key="test", secret="test", endpoint_url=s3_server, skip_instance_cache=True)
        store.create("commits/0", b"v1")
        caching.ls(f"{store.root}/commits")
        other = Store(caching, store.root, store.location)
        for batch in (1, 2):
            store.create(f"commits/{batch}", b"v1")
            assert f"commits/{batch}" in other.ls("commits")[0]

    def test_a_missing_bucket_is_not_found(self, s3_store):
        with pytest.raises(CheckpointNotFoundError):
            s3_store("checkpoint", bucket="no-such-bucket").read("metadata")


def test_an_s3_that_is_down_is_unavailable_and_says_where(s3_down):
    store = Store.open("s3://bucket/cp", **s3_down)
    with pytest.raises(StoreUnavailableError) as caught:
        store.ls("commits")
    assert caught.value.location == "s3://bucket/cp" and caught.value.retryable


def test_a_scheme_without_a_driver_names_the_extra(monkeypatch):
    with pytest.raises(StoreError, match="nosuch"):
        Store.open("nosuch://bucket/cp")
    monkeypatch.setitem(__import__("sys").modules, "gcsfs", None)
    with pytest.raises(StoreError) as caught:
        Store.open("gs://bucket/cp")
    assert "spark-ckpt[gcs]" in str(caught.value)


def test_calls_are_counted_with_those_of_derived_stores(tmp_path):
    store = Store.open(str(tmp_path))
    store.child("a").create("metadata", b"x")
    store.child("a").sibling("b").ls()
    store.ls()
    assert store.calls.count == 3
    assert store.first(10) is None, "local disks have no such call"
    assert store.calls.count == 3


def test_passwords_in_a_location_are_not_kept():
    store = Store.open("memory://user:secret@host/cp")
    assert "secret" not in store.location and "secret" not in repr(store)


@pytest.fixture
def as_nobody() -> Iterator[None]:
    with without_rights():
        yield


def test_a_directory_that_may_not_be_read_is_an_error_and_never_empty(tmp_path, as_nobody):
    import tempfile

    with tempfile.TemporaryDirectory() as root:
        store = Store.open(root)
        store.create("commits/0", b"v1")
        directory = Path(root) / "commits"
        directory.chmod(0)
        try:
            for operation in (lambda: store.ls("commits"), store.find, lambda: store.read("commits/0")):
                with pytest.raises(StoreError, match="permission denied") as caught:
                    operation()
                assert not caught.value.retryable
        finally:
            directory.chmod(stat.S_IRWXU)


def test_a_link_that_leads_nobody_anywhere_ends_no_listing(tmp_path):
    """To itself, or to each other: the others of the directory are shown as ever."""
    (tmp_path / "orders").mkdir()
    for name, to in (("self", "self"), ("one", "other"), ("other", "one")):
        (tmp_path / name).symlink_to(to)
    objects, directories = Store.open(str(tmp_path)).ls()
    assert directories == ["orders"]
    assert {name: (item.is_link, item.modified_ms) for name, item in objects.items()} == dict.fromkeys(
        ("self", "one", "other"), (True, None)
    )


def test_a_local_listing_follows_links_and_shows_those_to_nowhere(tmp_path):
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "checkpoint"
    for directory in (elsewhere, root):
        directory.mkdir()
    (elsewhere / "5").write_bytes(b"v1\n{}")
    (root / "commits").symlink_to(elsewhere)
    (root / "metadata").symlink_to(elsewhere / "5")
    (root / "lost").symlink_to(elsewhere / "6")
    store = Store.open(str(root))
    objects, directories = store.ls()
    assert {name: stored.size for name, stored in objects.items()} == {"metadata": 5, "lost": 0}
    assert directories == ["commits"] and list(store.find("commits")) == store.names("commits") == ["commits/5"]
    (root / "offsets").mkdir()
    (root / "offsets" / "4").mkdir()
    for name in ("5", "6"):
        (root / "offsets" / name).symlink_to(elsewhere / name)
    assert sorted(store.names("offsets")) == sorted(store.ls("offsets")[0]) == ["offsets/5", "offsets/6"]
    before = objects["metadata"].identity
    (elsewhere / "5").write_bytes(b"v1\n[]!")
    assert store.ls()[0]["metadata"].identity != before


def test_a_file_is_no_location(tmp_path):
    (tmp_path / "checkpoint").write_text("x")
    with pytest.raises(StoreError, match="a file, not a directory"):
        Store.open(str(tmp_path / "checkpoint")).ls()
    with pytest.raises(StoreError, match="a file, not a directory"):
        Store.open(str(tmp_path)).names("checkpoint")


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(tmp_path, monkeypatch):
    (tmp_path / "5").write_bytes(b"x" * 300_000)
    monkeypatch.setattr(local, "require_regular", lambda path: 3)
    store = Store.open(str(tmp_path))
    assert store.read("5") == b"x" * 300_000
    assert [len(store.read_up_to("5", most)) for most in (0, 3, 4, 5, 299_999, 300_001)] == [
        0,
        3,
        4,
        5,
        299_999,
        300_000,
    ]


def test_a_failed_create_leaves_nothing_behind(tmp_path, monkeypatch):
    store = Store.open(str(tmp_path))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(StoreError, match="No space left"):
        store.create("offsets/6", b"x")
    assert list((tmp_path / "offsets").iterdir()) == []


@pytest.mark.parametrize("is_free", [False, True])
def test_a_failed_copy_leaves_nothing_behind(tmp_path, monkeypatch, is_free):
    source, target = Store.open(str(tmp_path / "from")), Store.open(str(tmp_path / "to"))
    source.create("state/0/0/1.delta", b"x" * 100)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreError, match="No space left"):
        source.copy("state/0/0/1.delta", target, "state/0/0/1.delta", is_free=is_free)
    assert not target.find()


def test_what_is_copied_from_a_disk_is_seen(tmp_path):
    store, data, seen = Store.open(str(tmp_path)), bytes(range(256)) * 5_000, bytearray()
    store.create("one", data)
    store.copy("one", store, "two", see=seen.extend)
    assert seen == data == store.read("two")


@pytest.mark.parametrize("is_free", [False, True])
def test_a_copy_replaces_nothing(tmp_path, is_free):
    store = Store.open(str(tmp_path))
    store.create("one", b"1")
    store.create("two", b"2")
    with pytest.raises(ObjectExistsError):
        store.copy("one", store, "two", is_free=is_free)
    assert store.read("two") == b"2"


@pytest.mark.parametrize("size_seen", [0, 3, 10, 11])
def test_a_file_that_grows_while_it_is_read_is_read_up_to_its_end(tmp_path, monkeypatch, size_seen):
    (tmp_path / "file").write_bytes(b"0123456789")
    of_file = os.fstat

    def seen(descriptor):
        fields = list(of_file(descriptor))
        fields[stat.ST_SIZE] = size_seen
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", seen)
    store = Store.open(str(tmp_path))
    assert store.read("file") == b"0123456789"
    assert [store.read_up_to("file", most) for most in (1, 4, 10, 99)] == [b"0", b"0123", b"0123456789", b"0123456789"]


def test_what_takes_the_place_of_a_file_is_on_the_disk_before_that(tmp_path, monkeypatch):
    store = Store.open(str(tmp_path))
    store.write("file", b"old")
    seen = []

    def sync(descriptor):
        seen.append((os.fstat(descriptor).st_size, (tmp_path / "file").read_bytes()))

    monkeypatch.setattr(os, "fsync", sync)
    store.write("file", b"other")
    assert seen == [(5, b"old")] and store.read("file") == b"other"


def test_where_the_working_directory_was_removed_an_absolute_location_is_opened_all_the_same(tmp_path, monkeypatch):
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert Store.open(f"{tmp_path}/there").location == f"{tmp_path}/there"
    with pytest.raises(StoreError, match="the working directory does not exist any more"):
        Store.open("there")
    monkeypatch.chdir(tmp_path)
