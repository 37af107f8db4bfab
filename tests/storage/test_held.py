"""Directories of which nothing outside of the roots is read, whatever links somebody has made in them."""

from __future__ import annotations

from operator import methodcaller

import pytest

from airflow_provider_ckpt.errors import StoreError
from airflow_provider_ckpt.storage.held import hold, require_held
from airflow_provider_ckpt.storage.roots import parse_roots
from airflow_provider_ckpt.storage.store import Store

OUTSIDE = "this is a link that points outside of the roots"


@pytest.fixture
def place(tmp_path):
    """A root with a checkpoint and another directory; a directory outside of it."""
    for name in ("root/q/offsets", "root/other", "outside"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "0").write_text(name)
    return tmp_path


def held(place) -> Store:
    limits = parse_roots(str(place / "root")).limits("records")
    return hold(Store.open(str(place / "root" / "q")), limits)


def test_a_link_to_a_file_outside_is_listed_without_its_size_and_not_read(place):
    (place / "root" / "q" / "offsets" / "1").symlink_to(place / "outside" / "0")
    shown = held(place).ls("offsets")[0]["offsets/1"]
    assert (shown.size, shown.modified_ms, shown.identity, shown.is_link) == (0, None, "", True)
    for way in ("read", "stat", "sha256", "head"):
        with pytest.raises(StoreError, match=OUTSIDE):
            methodcaller(way, "offsets/1")(held(place))


def test_a_link_to_a_directory_outside_is_not_entered(place):
    (place / "root" / "q" / "commits").symlink_to(place / "outside")
    assert "commits" in held(place).ls()[1]
    for way in ("ls", "names", "find", "child"):
        with pytest.raises(StoreError, match=OUTSIDE):
            methodcaller(way, "commits")(held(place))
    with pytest.raises(StoreError, match=OUTSIDE):
        held(place).read("commits/0")


def test_a_link_to_another_place_inside_is_followed(place):
    (place / "root" / "q" / "commits").symlink_to(place / "root" / "other")
    assert held(place).ls("commits")[0].keys() == {"commits/0"}
    assert held(place).read("commits/0") == b"root/other"


def test_another_location_outside_is_neither_listed_nor_said_to_exist(place):
    other = held(place).at(str(place / "outside"))
    for read in map(methodcaller, ("ls", "find", "exists")):
        with pytest.raises(StoreError, match=OUTSIDE):
            read(other)


def test_the_records_beside_a_root_are_read(place):
    (place / "records").mkdir()
    assert held(place).at(str(place / "records")).ls() == ({}, [])


def test_a_store_that_is_held_twice_reads_what_both_hold(place):
    narrow = hold(held(place), [str(place / "root" / "q" / "offsets"), str(place / "outside")])
    assert narrow.read("offsets/0") == b"root/q/offsets"
    for location in ("root/other", "outside"):
        with pytest.raises(StoreError, match=OUTSIDE):
            narrow.at(str(place / location)).read("0")


def test_what_others_read_by_themselves_has_no_link_that_leads_out(place):
    require_held(held(place), "offsets")
    (place / "root" / "q" / "offsets" / "1").symlink_to(place / "outside" / "0")
    with pytest.raises(StoreError, match=OUTSIDE):
        require_held(held(place), "offsets")
    require_held(Store.open(str(place / "root" / "q")), "offsets")


def test_an_object_store_has_no_links():
    store = Store.open("memory://held")
    assert hold(store, []) is store
