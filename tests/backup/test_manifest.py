"""Manifests: what is written is read again, and what is none is refused, since it may come from anywhere."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from airflow_provider_ckpt.backup.manifest import (
    Manifest,
    ManifestObject,
    decode,
    is_inside,
    message_of,
    require_names,
    tags_of,
)
from airflow_provider_ckpt.backup.retention import RetentionPolicy
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.errors import BackupCorruptError, PlanError, UnsupportedVersionError
from airflow_provider_ckpt.storage.store import Store

BACKUP = "20260101T000000.000Z-0a3c26f7"
OBJECT = ManifestObject("offsets/1", 7, "a" * 64, f"{BACKUP}/checkpoint/offsets/1", "etag")
REUSED = replace(OBJECT, name="offsets/0", size=5, stored_at="20250101T000000.000Z-0a3c26f7/checkpoint/offsets/0")
MANIFEST = Manifest(
    BACKUP,
    "/lake/checkpoint",
    "query",
    1,
    1_000,
    None,
    (REUSED, OBJECT),
    {
        "tags": ["weekly"],
        "message": "before the deploy",
        "unknown": ["x"],
        "unknown_changed": ["x"],
        "not_judged": ["y"],
    },
)


def changed(**fields: object) -> bytes:
    return json.dumps(json.loads(MANIFEST.encode()) | fields).encode()


def with_object(**fields: object) -> bytes:
    return changed(objects=[json.loads(MANIFEST.encode())["objects"][0] | fields])


def test_what_is_written_is_read_again():
    assert decode(MANIFEST.encode(), "m") == MANIFEST
    assert decode(changed(watermark_ms=-5), "m").watermark_ms == -5
    assert decode(changed(facts={}), "m") == replace(MANIFEST, facts={})


def test_the_version_may_stand_anywhere():
    fields = json.loads(MANIFEST.encode())
    last = {**{key: value for key, value in fields.items() if key != "format_version"}, "format_version": 1}
    assert decode(json.dumps(last).encode(), "m") == MANIFEST


def test_what_a_backup_copied_is_told_from_what_it_refers_to():
    assert (MANIFEST.total_bytes, MANIFEST.own_bytes, MANIFEST.reused_bytes) == (12, 7, 5)
    summary = MANIFEST.summary()
    assert (summary["objects"], summary["bytes_copied"], summary["bytes_reused"]) == (2, 7, 5)
    assert (summary["tags"], summary["message"], summary["created_at"]) == (
        ["weekly"],
        "before the deploy",
        "1970-01-01T00:00:01.000Z",
    )
    assert (summary["unknown"], summary["unknown_changed"], summary["not_judged"]) == (["x"], ["x"], ["y"])
    assert (replace(MANIFEST, facts={}).tags, replace(MANIFEST, facts={}).message) == ((), "")


def test_an_object_of_two_manifests_is_held_once():
    known: dict[ManifestObject, ManifestObject] = {}
    first, second = decode(MANIFEST.encode(), "m", known), decode(changed(batch_id=2), "n", known)
    assert all(one is other for one, other in zip(first.objects, second.objects, strict=True))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "no manifest"),
        (b"[]", "no manifest"),
        (changed(more=1), "unexpected keyword argument 'more'"),
        (with_object(more=1), "unexpected keyword argument 'more'"),
        (with_object(size=-1), "the size or the SHA-256 of 'offsets/0' is not valid"),
        (with_object(size="5"), "the size or the SHA-256 of 'offsets/0' is not valid"),
        (with_object(size=1 << 63), "the size or the SHA-256 of 'offsets/0' is not valid"),
        (with_object(sha256="A" * 64), "the size or the SHA-256 of 'offsets/0' is not valid"),
        (with_object(name="../x"), "'../x' points outside the backup"),
        (with_object(stored_at="/etc/x"), "'/etc/x' points outside the backup"),
        (changed(backup_id="../x"), "'../x' is not a backup id"),
        (changed(batch_id=-1), "the batch id or the time is not a number"),
        (changed(batch_id=True), "the batch id or the time is not a number"),
        (changed(created_at_ms=1.5), "the batch id or the time is not a number"),
        (changed(watermark_ms=1 << 63), "the watermark is not a number"),
        (changed(watermark_ms="1"), "no manifest"),
        (changed(location=None), "the location or the query id is not a text"),
        (changed(query_id=7), "the location or the query id is not a text"),
        (changed(facts={"tags": "weekly"}), "the tags are not a list of names"),
        (changed(facts={"unknown": [1]}), "the unknown files are not a list of names"),
        (changed(facts={"unknown_changed": {}}), "the changed files are not a list of names"),
        (changed(facts={"not_judged": [None]}), "the questions are not a list of names"),
        (changed(facts={"message": 1}), "the message is not a text"),
        (changed(objects=[json.loads(MANIFEST.encode())["objects"][0]] * 2), "the manifest lists a name twice"),
    ],
)
def test_what_is_no_manifest(data, problem):
    with pytest.raises(BackupCorruptError, match=problem) as refused:
        decode(data, "b/manifest.json")
    assert refused.value.name == "b/manifest.json"


def test_a_name_is_a_file_or_a_directory_and_never_both():
    both = replace(MANIFEST, objects=(OBJECT, replace(OBJECT, name="offsets/1/x")))
    with pytest.raises(BackupCorruptError, match="'offsets/1' is listed as a file and as a directory"):
        decode(both.encode(), "m")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (changed(format_version=2), "format version '2'; this release reads version 1"),
        (changed(features=["delta"]), "does not have: delta"),
    ],
)
def test_a_later_manifest_is_refused_and_not_half_understood(data, problem):
    with pytest.raises(UnsupportedVersionError, match=problem):
        decode(data, "m")


@pytest.mark.parametrize("name", ["a", "a/b", "a b", "é", "...", "a/..b"])
def test_names_inside(name):
    assert is_inside(name)
    require_names([name], "/lake")


@pytest.mark.parametrize(
    "name", ["", "/a", "a/", "a//b", "..", "a/../b", "a/./b", "a\\..\\b", "s3://a", "a\n", "\x7f", "\udc80"]
)
def test_names_that_lead_outside_or_that_no_disk_holds(name):
    assert not is_inside(name)
    with pytest.raises(PlanError, match=", which a backup cannot store"):
        require_names(["good", name], "/lake")


@pytest.mark.parametrize("name", [None, 1, b"a"])
def test_what_is_no_name_is_not_inside(name):
    assert not is_inside(name)


def test_no_backup_is_taken_of_a_file_that_is_a_directory_as_well():
    with pytest.raises(PlanError, match="'a/b' is both a file and a directory"):
        require_names(["a/b", "a/b/c"], "/lake")


@pytest.mark.parametrize(
    ("given", "tags"),
    [
        ("release", ("release",)),
        (["release", "keep"], ("release", "keep")),
        (("release",), ("release",)),
        ([], ()),
        ((), ()),
        (None, ()),
        ("", ()),
    ],
)
def test_one_text_is_one_tag(given, tags):
    assert tags_of(given) == tags
    assert RetentionPolicy(keep_last=1, keep_tags=given).keep_tags == tags


@pytest.mark.parametrize("given", [5, [5], [""], ["release", None], b"release", 2.5, True, [["release"]]])
def test_what_is_no_tag_is_refused(given):
    with pytest.raises(ValueError, match="the tags of a backup must be a list"):
        tags_of(given)
    with pytest.raises(ValueError, match="the tags of a backup must be a list"):
        RetentionPolicy(keep_last=1, keep_tags=given)


def test_a_message_is_a_text_or_none():
    assert (message_of(None), message_of(""), message_of("before the release")) == ("", "", "before the release")
    with pytest.raises(ValueError, match="must be a text, not 5"):
        message_of(5)


@pytest.mark.parametrize("count", ["3", 2.5, True, None])
def test_numbers_to_keep_are_whole_numbers(count):
    with pytest.raises(ValueError, match="whole number"):
        RetentionPolicy(keep_last=count)


@pytest.mark.parametrize("words", [{"message": 5}, {"tags": [5]}, {"tags": 5}], ids=str)
def test_a_backup_that_could_not_be_read_again_is_not_taken(goldens, tmp_path, words):
    """A template that is rendered natively makes a number of a text; the manifest was refused by every later command."""
    root = Store.open(str(tmp_path / "backups"))
    with pytest.raises(PlanError, match="No backup was taken"):
        take_backup(Store.open(str(goldens["4.3.0/file-to-parquet-5"] / "checkpoint")), root, **words)
    assert root.find() == {}
