"""What makes files rows of a table, and what is nobody's: decided by names and times alone."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.documents.files import EpochDocument
from airflow_provider_ckpt.errors import MalformedEntryError, StoreError, UnsupportedVersionError
from airflow_provider_ckpt.history_table.manifest import (
    GRACE_MS,
    DataFile,
    Place,
    decode,
    garbage,
    is_data_file,
    merged_schema,
    parse_place,
    rewinding,
    small_runs,
    visible,
)
from airflow_provider_ckpt.storage.stored_object import StoredObject
from tests.history_table.labs import HOUR_MS, NOW_MS, manifest, struct
from tests.json_documents import problems

E5 = Place("q", 5)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("epochs/q/0", Place("q", 0)),
        ("epochs/7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10/12", Place("7f0c55e2-9a1b-4b5e-9c3d-2f6f4d0f1a10", 12)),
        ("epochs/q/12.compact", Place("q", 12, compact=True)),
        ("epochs/q/012", None),
        ("epochs/q/-1", None),
        ("epochs/q/1.tmp", None),
        ("epochs/q/.1.3f.tmp", None),
        ("epochs/q/1/2", None),
        ("epochs/../1", None),
        ("epochs/1", None),
        ("data/1", None),
    ],
)
def test_the_name_of_a_manifest(name, place):
    assert parse_place(name) == place
    assert place is None or place.name == name


@pytest.mark.parametrize(
    ("there", "counted"),
    [
        ("", ""),
        ("0 1 2", "0 1 2"),
        ("10 9 2", "2 9 10"),
        ("0 1 2 1c", "1c 2"),
        ("0 1 2 2c", "2c"),
        ("0 1 2 3 1c 2c", "2c 3"),
        ("3 5 4c", "4c 5"),  # a gap is no reason to wait
        ("1c 0", "1c"),  # one that was committed again after it was merged
    ],
)
def test_what_a_reader_reads(there, counted):
    def places(text: str) -> list[Place]:
        return [Place("q", int(word.rstrip("c")), word.endswith("c")) for word in text.split()]

    assert list(visible(places(there))) == places(counted)


def test_queries_do_not_replace_each_other():
    places = [Place("a", 0), Place("a", 1), Place("b", 0), Place("b", 3, compact=True)]
    assert visible(places) == (Place("a", 0), Place("a", 1), Place("b", 3, compact=True))


# --- the document ---------------------------------------------------------------------------------------------------


def test_a_manifest_is_read_as_it_was_written():
    written = manifest(E5, "a", "b", plan="7f")
    assert decode(written.encode(), E5) == written
    assert list(problems(json.loads(written.encode()), EpochDocument)) == []


def test_manifests_of_earlier_versions_have_no_plan():
    document = json.loads(manifest(E5, "a").encode())
    del document["plan"]
    assert decode(json.dumps(document).encode(), E5) == manifest(E5, "a", plan=None)


def test_keys_that_a_later_release_adds_are_passed_over():
    document = json.loads(manifest(E5, "a").encode())
    document["files"][0]["min"] = 1
    assert decode(json.dumps({**document, "more": 1}).encode(), E5) == manifest(E5, "a")


def edited(**keys: object) -> bytes:
    return json.dumps({**json.loads(manifest(E5, "a").encode()), **keys}).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        manifest(E5, "a").encode()[:-1],
        manifest(Place("q", 6)).encode(),
        manifest(Place("q", 5, compact=True)).encode(),
        edited(files=None),
        edited(files=["a"]),
        edited(files=[{"name": "data/../../x.parquet", "rows": 1, "bytes": 1}]),
        edited(files=[{"name": "data/a.parquet", "rows": -1, "bytes": 1}]),
        edited(files=[{"name": "data/a.parquet", "rows": 1, "bytes": 1}] * 2),
        edited(schema=None),
        edited(plan=7),
        edited(created_at_ms="now"),
        edited(epoch="5"),
    ],
    ids=range(16),
)
def test_anything_else_is_refused_by_name(data):
    with pytest.raises(MalformedEntryError, match=r"epochs/q/5: is not a manifest"):
        decode(data, E5)


def test_a_later_format_is_refused_as_such():
    with pytest.raises(UnsupportedVersionError, match="has format version 2; this release reads version 1"):
        decode(edited(format_version=2), E5)


# --- garbage --------------------------------------------------------------------------------------------------------


def stored(name: str, age_ms: int | None) -> StoredObject:
    modified = None if age_ms is None else NOW_MS - age_ms
    return StoredObject(name, 10, modified, "")


DAY = GRACE_MS + 1


@pytest.mark.parametrize(
    ("name", "age_ms", "goes"),
    [
        ("data/lost.parquet", DAY, True),
        ("data/lost.parquet", GRACE_MS - 1, False),  # it may be of an epoch that is being written
        ("data/lost.parquet", None, False),
        ("data/a.parquet", 400 * DAY, False),  # named
        ("data/.a.parquet.3f.tmp", DAY, True),  # a writer was killed
        ("epochs/q/.5.3f.tmp", DAY, True),
        ("epochs/q/.5.3f.tmp", HOUR_MS, False),
        ("epochs/q/5", DAY, False),
        ("data/notes.txt", DAY, False),  # not ours
        ("README", DAY, False),
    ],
)
def test_a_file_goes_when_nobody_can_need_it(name, age_ms, goes):
    found = garbage([manifest(E5, "a")], [stored(name, age_ms)], NOW_MS)
    assert found.files == ((name,) if goes else ())
    assert found.manifests == ()


@pytest.mark.parametrize(("merged_ago_ms", "goes"), [(DAY, True), (GRACE_MS - 1, False)])
def test_what_a_merged_manifest_replaced_goes_a_day_later(merged_ago_ms, goes):
    """Its files are old, and a reader may have begun right before."""
    all_manifests = [
        manifest(Place("q", 0), "a", created_ms=NOW_MS - 10 * DAY),
        manifest(Place("q", 1), "b", created_ms=NOW_MS - 9 * DAY),
        manifest(Place("q", 1, compact=True), "ab", created_ms=NOW_MS - merged_ago_ms),
    ]
    found = garbage(all_manifests, [stored(f"data/{name}.parquet", 9 * DAY) for name in ("a", "b", "ab")], NOW_MS)
    assert found.files == (("data/a.parquet", "data/b.parquet") if goes else ())
    assert found.manifests == (("epochs/q/0", "epochs/q/1") if goes else ())


def test_merging_often_does_not_put_it_off():
    """What counts is the first manifest that replaced it."""
    all_manifests = [
        manifest(Place("q", 0), "a", created_ms=NOW_MS - 9 * DAY),
        *(manifest(Place("q", n, compact=True), f"c{n}", created_ms=NOW_MS - 2 * DAY + n * HOUR_MS) for n in range(48)),
    ]
    found = garbage(all_manifests, [stored("data/a.parquet", 9 * DAY)], NOW_MS)
    assert found.files == ("data/a.parquet",)
    assert "epochs/q/47.compact" not in found.manifests


def test_a_file_that_a_merged_manifest_still_names_stays():
    all_manifests = [
        manifest(Place("q", 0), "large", created_ms=NOW_MS - 9 * DAY),
        manifest(Place("q", 1, compact=True), "large", created_ms=NOW_MS - 8 * DAY),
    ]
    found = garbage(all_manifests, [stored("data/large.parquet", 9 * DAY)], NOW_MS)
    assert found.files == () and found.manifests == ("epochs/q/0",)


# --- merging --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "runs"),
    [
        ([], []),
        ([1], [[1]]),
        ([10, 20, 30], [[10, 20, 30]]),
        ([40, 40, 40], [[40, 40], [40]]),
        ([90, 10, 90], [[90], [10], [90]]),
        ([51, 50, 50], [[51], [50, 50]]),
        ([10, 200, 10, 10], [[10], [200], [10, 10]]),
    ],
)
def test_small_neighbours_are_merged(sizes, runs):
    files = [DataFile(f"data/{number}.parquet", 1, size) for number, size in enumerate(sizes)]
    assert [[file.bytes for file in run] for run in small_runs(files, 100)] == runs
    assert [file for run in small_runs(files, 100) for file in run] == files


@pytest.mark.parametrize("name", ["data/a", "data/a.parquet/b", "data/.a.parquet", "a.parquet", "data/a b.parquet"])
def test_the_name_of_no_data_file(name):
    assert not is_data_file(name)


@pytest.mark.parametrize(
    ("location", "is_said"), [("/lake/t", False), ("file:///lake/t", False), ("s3://lake/t", True), ("gs://b/t", True)]
)
def test_who_takes_a_table_of_a_storage_back_is_told_to_give_its_options(location, is_said):
    """With another endpoint than that of the stream the command would go to a table of another storage."""
    command = rewinding(location, "q", 4)
    assert f'rewind(Store.open("{location}"), "q", 4)' in command
    assert ("give Store.open the storage options of the stream" in command) == is_said


def test_columns_come_in_the_order_in_which_they_came():
    merged = merged_schema([struct(a="long", b="string"), struct(c="long", a="long")], "s3://lake/history")
    assert [field["name"] for field in merged["fields"]] == ["a", "b", "c"]
    assert all(field["nullable"] for field in merged["fields"])


def test_a_column_of_two_types_is_refused_by_name():
    with pytest.raises(StoreError, match=r"s3://lake/history: the column 'a' has the type \"long\" in some epochs and"):
        merged_schema([struct(a="long"), struct(a="string")], "s3://lake/history")
