"""Tests that every store must pass, as a class for pytest.

Before production state goes to a storage that ``docs/stores.md`` does not list, run this against it::

    class TestOurStore(StoreSuite):
        @pytest.fixture
        def store(self):
            store = Store.open(f"ours://bucket/{uuid.uuid4()}/checkpoint", token=...)
            yield store
            store.fs.rm(store.root, recursive=True)

Each test gets a location of its own, whose parent is free for siblings too.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from airflow_provider_ckpt.errors import CheckpointNotFoundError, ObjectExistsError, StoreError
from airflow_provider_ckpt.storage.store import SMALL_BYTES, Store


class StoreSuite:
    """Behaviour that plans and backups rely on."""

    #: Whether of several concurrent creators exactly one wins.
    exclusive = True
    #: How many objects the storage lists at a time.
    page_objects = 1_000

    def test_what_was_created_is_listed_and_read(self, store: Store) -> None:
        """A listing shows names, sizes and directories."""
        store.create("offsets/6", b"v1\n{}")
        objects, directories = store.ls("offsets")
        assert list(objects) == ["offsets/6"] and directories == []
        assert objects["offsets/6"].size == 5
        assert store.read("offsets/6") == b"v1\n{}"
        assert store.ls()[1] == ["offsets"]

    def test_listings_come_right_whatever_the_order_of_writing(self, store: Store) -> None:
        """Hidden names and spaces too; one level, or all below."""
        names = ["state/0/1/3.delta", "offsets/10", "offsets/9", "metadata", "offsets/.9.crc", "state/0/0/a b.x"]
        for name in names:
            store.create(name, name.encode())
        assert sorted(store.find()) == sorted(names)
        assert sorted(store.ls("offsets")[0]) == ["offsets/.9.crc", "offsets/10", "offsets/9"]
        assert sorted(store.names("offsets")) == ["offsets/.9.crc", "offsets/10", "offsets/9"]
        assert (store.names("state"), store.names("nowhere")) == ([], [])
        assert sorted(store.find("state")) == ["state/0/0/a b.x", "state/0/1/3.delta"]

    def test_listings_are_never_stale(self, store: Store) -> None:
        """No cache: what was just written or deleted is seen."""
        assert store.ls("commits") == ({}, [])
        store.create("commits/0", b"v1")
        assert list(store.ls("commits")[0]) == ["commits/0"]
        store.delete("commits/0")
        assert store.ls("commits")[0] == {}

    def test_a_missing_directory_is_empty_and_a_missing_object_an_error(self, store: Store) -> None:
        """The error names location and object."""
        assert store.ls("nowhere") == ({}, [])
        assert store.find("nowhere") == {}
        with pytest.raises(CheckpointNotFoundError) as caught:
            store.read("offsets/7")
        assert caught.value.name == "offsets/7" and caught.value.location == store.location

    def test_create_never_replaces(self, store: Store) -> None:
        """The second creator is told."""
        store.create("offsets/6", b"old")
        with pytest.raises(ObjectExistsError):
            store.create("offsets/6", b"new")
        assert store.read("offsets/6") == b"old"

    def test_one_of_many_creators_wins(self, store: Store) -> None:
        """Locks and plans rest on this, where the store has it."""

        def create(number: int) -> bool:
            try:
                store.create("lock", b"%d" % number)
            except ObjectExistsError:
                return False
            return True

        for _ in range(20):
            with ThreadPoolExecutor(8) as pool:
                winners = sum(pool.map(create, range(8)))
            assert winners == 1 if self.exclusive else winners >= 1
            store.delete("lock")

    def test_an_empty_object_is_an_object(self, store: Store) -> None:
        """Spark calls it an incomplete log file; it must be seen."""
        store.create("offsets/6", b"")
        assert store.read("offsets/6") == b"" and store.ls("offsets")[0]["offsets/6"].size == 0
        with pytest.raises(ObjectExistsError):
            store.create("offsets/6", b"x")

    def test_write_replaces(self, store: Store) -> None:
        """And the identity of the object shows it."""
        store.write("receipt.json", b"1")
        before = store.ls()[0]["receipt.json"].identity
        store.write("receipt.json", b"22")
        assert store.read("receipt.json") == b"22"
        assert store.ls()[0]["receipt.json"].identity != before

    def test_delete_of_what_is_not_there_is_fine(self, store: Store) -> None:
        """A change that was killed runs again."""
        store.delete("offsets/6")
        store.create("offsets/6", b"x")
        store.delete("offsets/6")
        store.delete("offsets/6")
        assert store.find() == {}

    def test_a_certain_object_is_deleted_and_no_other_one(self, store: Store) -> None:
        """A fence takes back its own entry; that of a query in its place stays."""
        store.create("offsets/6", b"ours")
        ours = store.stat("offsets/6")
        store.write("offsets/6", b"theirs, and longer")
        theirs = store.stat("offsets/6")
        assert ours is not None and theirs is not None
        assert not store.delete_if("offsets/6", ours.identity)
        assert store.read("offsets/6") == b"theirs, and longer"
        assert store.delete_if("offsets/6", theirs.identity)
        assert store.find() == {}
        assert store.delete_if("offsets/6", theirs.identity), "it is gone"

    @pytest.mark.parametrize("size", [0, 5, SMALL_BYTES + 100_000])
    def test_copy_gives_size_and_hash_and_never_replaces(self, store: Store, size: int) -> None:
        """A backup records both."""
        data = bytes(range(256)) * (size // 256 + 1)
        store.create("state/0/0/1.zip", data[:size])
        target = store.sibling("backup")
        expected, seen = (size, hashlib.sha256(data[:size]).hexdigest()), bytearray()
        assert store.copy("state/0/0/1.zip", target, "x/checkpoint/state/0/0/1.zip", see=seen.extend) == expected
        assert seen in (data[:size], b""), "nothing is seen where the storage copies by itself"
        assert target.read("x/checkpoint/state/0/0/1.zip") == data[:size]
        with pytest.raises(ObjectExistsError):
            store.copy("state/0/0/1.zip", target, "x/checkpoint/state/0/0/1.zip")
        with pytest.raises(CheckpointNotFoundError):
            store.copy("state/0/0/2.zip", target, "x")

    def test_keep_leaves_a_second_name(self, store: Store) -> None:
        """An object that a change removes is kept first."""
        store.create("commits/6", b"v1\n{}")
        kept = store.sibling("undo")
        store.keep("commits/6", kept, "saved/commits/6")
        store.delete("commits/6")
        assert kept.read("saved/commits/6") == b"v1\n{}"

    @pytest.mark.parametrize("name", ["", "/etc/passwd", "../x", "a/../../x", "a//b", ".", "..\\b", "a\0b"])
    def test_names_never_lead_outside(self, store: Store, name: str) -> None:
        """A hostile manifest reaches nothing."""
        for operation in (store.read, store.delete, lambda name: store.create(name, b"x")):
            with pytest.raises(StoreError):
                operation(name)
        assert store.find() == {}

    def test_more_objects_than_a_page_of_a_listing(self, store: Store) -> None:
        """The whole of a listing that the storage gives in two parts."""
        count = self.page_objects + self.page_objects // 10
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda number: store.create(f"commits/{number}", b"v1"), range(count)))
        assert len(store.ls("commits")[0]) == len(store.find()) == count
