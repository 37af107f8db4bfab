"""What sources keep, moved: whatever it is, it arrives as it was, and nothing else changes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_ckpt.changes.sources.directories import leftovers, moves, to_sum
from airflow_provider_ckpt.changes.sources.source_change import SourceChange, parse_change
from airflow_provider_ckpt.storage.stored_object import StoredObject

FILES = {
    "sources/0/0": b"v1 a",
    "sources/0/.0.crc": b"crc a",
    "sources/0/9.compact": b"all",
    "sources/1/0": b"v1 kafka",
    "sources/1/offsets/0": b"iceberg",
    "sources/1/rocksdb/CURRENT": b"\xff\x00",
    "sources/1/.7.5f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10.tmp": b"killed",
    "sources/2/0": b"a start that failed",
    "sources/10/0": b"not source 1",
    "offsets/0": b"v1",
    "state/0/0/1.delta": b"x",
    "note": b"of somebody",
}


def changed(files: Mapping[str, bytes], change: SourceChange) -> dict[str, bytes]:
    """What the steps leave, taken one after another; what comes was laid ready before."""
    objects = {name: StoredObject(name, len(data), None, f"id {name}") for name, data in files.items()}
    sums = {name: (len(files[name]), hashlib.sha256(files[name]).hexdigest()) for name in to_sum(objects, change)}
    going, coming = moves(objects, change, sums)
    after = dict(files)
    for delete in going:
        assert delete.identity == f"id {delete.name}"
        del after[delete.name]
    for copy in coming:
        assert copy.name not in after
        after[copy.name] = files[copy.source]
        assert copy.sha256 == hashlib.sha256(files[copy.source]).hexdigest()
    return after


def source(files: Mapping[str, bytes], source_id: str) -> dict[str, bytes]:
    start = f"sources/{source_id}/"
    return {
        name.removeprefix(start): data for name, data in files.items() if name.startswith(start) and ".tmp" not in name
    }


CASES = {
    "reordered": (["0=1", "1=0"], []),
    "dropped": (["0=1"], ["0"]),
    "copied": (["0=0", "1=0", "2=0"], ["1"]),
    "named": (["a=0", "b=1"], []),
    "added": (["0=0", "1=1", "2=new"], []),
    "added in front": (["0=new", "1=0", "2=1"], []),
    "all at once": (["x=1", "y=1", "z=new"], ["0"]),
}


@pytest.mark.parametrize(("continued", "dropped"), CASES.values(), ids=CASES)
def test_each_source_has_what_the_one_had_that_it_continues(continued, dropped):
    change = parse_change(continued, dropped)
    after = changed(FILES, change)
    for new, old in change.continued:
        assert source(after, new) == ({} if old is None else source(FILES, old))
    gone = {*dropped} - {new for new, _ in change.continued}
    assert not any(source(after, each) for each in gone)
    concerned = {each for pair in change.continued for each in pair if each} | {*dropped}
    rest = {
        name: data for name, data in FILES.items() if name.split("/")[1:2] == [] or name.split("/")[1] not in concerned
    }
    assert {name: after.get(name) for name in rest} == rest


def test_what_fits_already_is_left_alone():
    files = {"sources/0/0": b"same", "sources/1/0": b"same"}
    objects = {name: StoredObject(name, 4, None, "id") for name in files}
    change = parse_change(["0=1", "1=0"], [])
    sums = dict.fromkeys(to_sum(objects, change), (4, "0" * 64))
    assert moves(objects, change, sums) == ([], [])


def test_a_checksum_file_goes_before_its_object():
    objects = {name: StoredObject(name, 1, None, "id") for name in ("sources/0/0", "sources/0/.0.crc")}
    going, _ = moves(objects, parse_change(["0=new"], ["0"]), {})
    assert [delete.name for delete in going] == ["sources/0/.0.crc", "sources/0/0"]


def test_leftovers_are_what_belongs_to_no_source():
    objects = {name: StoredObject(name, len(data), None, "id") for name, data in FILES.items()}
    assert leftovers(objects, frozenset({"0", "1"})) == {"2": 1, "10": 1}


@given(st.data())
def test_whatever_the_change_every_byte_is_where_it_was_said(data):
    olds = [str(position) for position in range(data.draw(st.integers(1, 4)))]
    news = data.draw(st.lists(st.sampled_from([*olds, "new"]), min_size=1, max_size=5))
    names = data.draw(st.booleans())
    texts = [f"{'s' if names else ''}{position}={old}" for position, old in enumerate(news)]
    change = parse_change(texts, [old for old in olds if old not in news])
    contents = st.dictionaries(st.sampled_from(["0", ".0.crc", "1", "deep/x"]), st.binary(max_size=3), max_size=3)
    files = {
        f"sources/{place}/{name}": content
        for place in (*olds, *(text.partition("=")[0] for text in texts))
        for name, content in data.draw(contents).items()
    }
    after = changed(files, change)
    for new, old in change.continued:
        assert source(after, new) == ({} if old is None else source(files, old))


def test_the_log_of_a_file_source_never_has_a_hole():
    """Spark 3.5 reads it before it reads the entry that closes the checkpoint."""
    names = ["8", "9.compact", "10", ".10.crc", "11", "18", "19.compact", "20"]
    objects = {f"sources/0/{name}": StoredObject(f"sources/0/{name}", 1, None, "id") for name in names}
    change = parse_change(["a=0"], [])
    going, coming = moves(objects, change, dict.fromkeys(to_sum(objects, change), (1, "0" * 64)))
    there = [action.name.rpartition("/")[2] for action in coming]
    assert there == ["9.compact", "19.compact", "8", ".10.crc", "10", "11", "18", "20"]
    gone = [action.name.rpartition("/")[2] for action in going]
    assert gone == ["20", "18", "11", ".10.crc", "10", "8", "19.compact", "9.compact"]
