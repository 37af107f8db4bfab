"""Objects of a listing that are kept as rows of text are those that a dict would have."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.storage.access import access
from airflow_provider_ckpt.storage.packed import PackedObjects
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject

MANY = 20_000

parts = st.text("ab0~.\n é\U0001f600", min_size=1, max_size=3)
names = st.lists(parts, min_size=1, max_size=4).map("/".join) | st.sampled_from(["/a", "a//b", "a/", "..", "a\0b"])
objects = st.builds(
    StoredObject,
    names,
    st.integers(0, 1 << 60),
    st.none() | st.integers(-1, 1 << 50),
    st.text("a/\0-\n1", max_size=5),
    st.booleans(),
    st.booleans(),
    st.none() | st.builds(access, st.integers(0, 2), st.just(0), st.sampled_from([0o644, 0o600])),
)


def by_name(found: list[StoredObject]) -> dict[str, StoredObject]:
    return {stored.name: stored for stored in found}


def with_access(found) -> list[object]:  # which does not count when two objects are compared
    return sorted((name, stored, str(stored.access)) for name, stored in found)


@given(st.lists(objects, max_size=30), st.lists(objects, max_size=5), st.integers(0, 30))
def test_it_is_a_dict_in_less_memory(found, others, cut):
    told = by_name(found)
    packed = PackedObjects(list(told.values())[:cut])
    packed.add(list(told.values())[cut:])
    for seen, wanted in ((packed, told), (packed | by_name(others), told | by_name(others))):
        assert with_access(seen.items()) == with_access(wanted.items())
        assert sorted(seen) == sorted(seen.keys()) == sorted(wanted)
        assert with_access((name, seen[name]) for name in wanted) == with_access(wanted.items())
        assert len(seen) == len(wanted)
        assert all(name in seen for name in wanted)
        assert not any(name in seen for name in ("a/b/c/d/e", "zz", "/", "") if name not in wanted)
        for directory in ("a", "a/b", "", "zz"):
            below = [name for name in sorted(wanted) if name.startswith(f"{directory}/")]
            assert directory == "" or list(seen.names_below(directory)) == below


def test_what_is_in_no_order_is_found_as_well():
    told = by_name([StoredObject(f"d/{number * 7919 % 1009}", number, None, "x") for number in range(1009)])
    packed = PackedObjects()
    for some in range(0, 1009, 100):
        packed.add(list(told.values())[some : some + 100])
    assert dict(packed) == told
    with pytest.raises(KeyError):
        packed["d/1009"]


def state_files(count: int) -> list[StoredObject]:
    """Old versions of 200 partitions, as a disk shows them."""
    return [
        StoredObject(
            f"state/0/{number % 200}/{1 + number // 200}.delta", 46, 1795000000000, f"46-1795000000.25-{number}"
        )
        for number in range(count)
    ]


def traced(what) -> tuple[int, int]:
    """Bytes that are held by what a function gives, and the most that it needed."""
    tracemalloc.start()
    try:
        kept = what()
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept is not None
    return held, most


def test_a_listing_takes_the_text_of_names_and_identities_and_little_else():
    found = state_files(MANY)
    held, _ = traced(lambda: PackedObjects(found))
    text = sum(len(stored.name.rpartition("/")[2] + stored.identity) for stored in found)
    assert held < text + 30 * MANY  # as dicts of objects it is 290 bytes for each, without the text


def test_a_disk_is_listed_a_directory_at_a_time(tmp_path):
    """What is in memory besides the listing is of one directory."""
    for number in range(100):
        (tmp_path / f"state/0/{number}").mkdir(parents=True)
        for version in range(20):
            (tmp_path / f"state/0/{number}/{version}.delta").touch()
    store = Store.open(str(tmp_path))
    store.find("state/0/0")
    held, most = traced(store.find)
    assert most - held < 100 * 2_000


def test_the_rules_hold_nothing_of_each_state_file(golden):
    """A checkpoint of 2,000,000 state files is judged in the memory of its listing."""
    view = observe(Store.open(str(golden("agg-hdfs"))), deep=True)
    assert isinstance(view.objects, PackedObjects)
    view.objects.add(stored for stored in state_files(MANY // 4) if stored.name not in view.objects)
    check(view)  # what is remembered of names, which has a limit
    _, most = traced(lambda: check(view))
    assert most < 40 * (MANY // 4) + 100_000
