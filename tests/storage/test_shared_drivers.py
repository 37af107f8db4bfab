"""Many locations share the driver of their storage."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.shared_drivers import SharedDrivers
from airflow_provider_ckpt.storage.store import Store


def test_locations_of_one_bucket_share_a_driver(s3_server):
    options = {"key": "test", "secret": "test", "endpoint_url": s3_server}
    drivers = SharedDrivers(options)
    one, two, other = (drivers.open(f"s3://{place}") for place in ("lake/a", "lake/b", "pond/a"))
    assert one.fs is two.fs
    assert one.fs is not other.fs
    assert [store.location for store in (one, two, other)] == ["s3://lake/a", "s3://lake/b", "s3://pond/a"]
    assert two.root == "lake/b"
    assert "test" not in repr(drivers)


def test_directories_are_what_they_are_when_opened_one_by_one(tmp_path):
    drivers = SharedDrivers()
    (tmp_path / "a").touch()
    drivers.open("/")
    assert set(drivers.open(f"file://{tmp_path}").ls()[0]) == set(drivers.open(str(tmp_path)).ls()[0]) == {"a"}


def test_what_cannot_be_opened_is_said_each_time():
    drivers = SharedDrivers()
    for _ in range(2):
        with pytest.raises(StoreError, match="no fsspec driver is known"):
            drivers.open("nosuch://lake/a")


def test_threads_that_open_at_once_get_their_own_locations(monkeypatch):
    """Both find that nothing is open, and then open."""
    both, opened = Barrier(2), Store.open

    def open_together(location, **options):
        both.wait(300)
        return opened(location, **options)

    monkeypatch.setattr(Store, "open", open_together)
    with ThreadPoolExecutor(2) as pool:
        stores = list(pool.map(SharedDrivers().open, ("/a", "/b")))
    assert [store.location for store in stores] == ["/a", "/b"]
