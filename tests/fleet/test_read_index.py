"""Reading an index: once, however many ask, and the newest."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import MalformedEntryError
from airflow_provider_ckpt.fleet.index import FleetIndex, IndexRow
from airflow_provider_ckpt.fleet.read_index import IndexReader
from airflow_provider_ckpt.fleet.write_index import put_index
from airflow_provider_ckpt.storage.store import Store


class Counting(Store):
    """A store that counts what is read."""

    reads = 0

    def read(self, name: str) -> bytes:
        type(self).reads += 1
        return super().read(name)


@pytest.fixture
def store(tmp_path):
    Counting.reads = 0
    return Counting.open(str(tmp_path))


def put(store: Store, location: str, after_ms: int = 0) -> FleetIndex:
    index = FleetIndex(now_ms() + after_ms, 0, (), (IndexRow(location),))
    assert put_index(store, index)
    return index


def test_there_may_be_none(store):
    assert IndexReader().read(store) is None


def test_what_was_read_is_read_again_only_when_there_is_a_newer_one(store):
    reader, first = IndexReader(), put(store, "a")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: reader.read(store), range(20)))
    assert all(index is found[0] for index in found) and found[0] == first
    assert Counting.reads == 1
    second = put(store, "b", 10)
    assert reader.read(store) == second
    assert Counting.reads == 2


def test_another_directory_has_another_index(store, tmp_path):
    reader = IndexReader()
    put(store, "a")
    reader.read(store)
    (tmp_path / "other").mkdir()
    assert reader.read(store.child("other")) is None


def test_one_that_was_removed_since_the_listing_is_read_from_the_newer_one(store):
    put(store, "a")

    class Removing(Counting):
        def read(self, name: str) -> bytes:
            for number in (1, 2) if self.reads == 0 else ():
                put(store, f"newer {number}", 10 * number)
            return super().read(name)

    removing = Removing(store.fs, store.root, store.location)
    assert IndexReader().read(removing).rows == (IndexRow("newer 2"),)


def test_one_that_is_damaged_is_named(store, tmp_path):
    put(store, "a")
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(MalformedEntryError, match=rf"{file}: .*`ckpt fleet ROOT... --index URL` writes it anew"):
        IndexReader().read(store)


def test_a_newer_one_that_is_damaged_is_named_as_well(store):
    put(store, "a")

    class Removing(Counting):
        def read(self, name: str) -> bytes:
            if self.reads == 0:
                for number in (1, 2):
                    put(store, f"newer {number}", 10 * number)
                return super().read(name)
            return super().read(name)[:-20]

    with pytest.raises(MalformedEntryError, match=r"`ckpt fleet ROOT... --index URL` writes it anew"):
        IndexReader().read(Removing(store.fs, store.root, store.location))
