"""A checkpoint inside another one: known by its logs, named, and left alone by what is done to the outer one."""

from __future__ import annotations

import json
import shutil

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.checkpoint import listing
from airflow_provider_ckpt.checkpoint import observe as observe_module
from airflow_provider_ckpt.checkpoint.inside import is_inside, without_inside
from airflow_provider_ckpt.checkpoint.listing import find_at_top
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import inspect
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import PlanError, StoreError
from airflow_provider_ckpt.storage.packed import PackedObjects
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.storage.stored_object import StoredObject
from tests.backup_lab import files
from tests.kafka_checkpoint import commit_batch

WORDS = {"query_is_stopped": True, "accept_sink": ("unknown", "skipped"), "quiet_s": 0}


def listed(*names: str) -> PackedObjects:
    return PackedObjects(StoredObject(name, 0, None, "") for name in dict.fromkeys(names))


@pytest.mark.parametrize(("names", "inside"), [
    (["a/offsets/0"], ["a"]), (["a/commits/7"], ["a"]), (["x/y/offsets/0", "x/z/offsets/0"], ["x/y", "x/z"]),
    (["a/offsets/0", "a/b/offsets/0"], ["a"]), (["_checkpoints/a/commits/0"], ["_checkpoints/a"]),
    (["a/offsets/.0.crc"], []), (["a/offsets/007"], []), (["a/metadata"], []), (["offsets/0"], []), (["sources/0/offsets/0"], []),
    (["state/0/offsets/0"], []), (["offsets/offsets/0"], []), (["_ckpt_undo/a/1/offsets/3"], []),
    (["sources/deep/offsets/0", "sources/deep/metadata"], ["sources/deep"]), (["sources/deep/offsets/0"], []),
    (["state/deep/commits/3", "state/deep/metadata", "state/0/0/1.delta"], ["state/deep"]),
    (["sources/0/deep/offsets/0", "sources/0/deep/metadata"], ["sources/0/deep"]), (["sources/0/offsets/0", "sources/0/metadata"], []),
    (["state/0/0/offsets/0", "state/0/0/metadata"], []), (["offsets/deep/offsets/0", "offsets/deep/metadata"], []),
    (["bk/1/manifest.json", "bk/1/checkpoint/offsets/0"], []), (["bk/checkpoint/offsets/0"], ["bk/checkpoint"]),
    (["checkpoint/offsets/0", "manifest.json"], []),
])  # fmt: skip
def test_a_directory_with_an_entry_of_a_log_is_a_checkpoint_unless_spark_or_a_backup_has_it(names, inside):
    own, found = without_inside(listed(*names, "commits/0", "ab/c"))
    assert list(found) == inside
    assert set(own) == {name for name in [*names, "commits/0", "ab/c"] if not inside or not is_inside(name, inside)}


def test_the_records_of_its_changes_are_part_of_it():
    own, _ = without_inside(listed("b/a/offsets/0", "b/_ckpt_undo/a/1/plan.json", "_ckpt_undo/x", "b/c"))
    assert set(own) == {"_ckpt_undo/x", "b/c"}


@pytest.fixture
def outer(golden):
    """A checkpoint, with that of another query in its directory ``other``."""
    checkpoint = golden("file-to-parquet-5")
    shutil.copytree(checkpoint, checkpoint.parent / "copy")
    shutil.move(checkpoint.parent / "copy", checkpoint / "other")
    return checkpoint


def test_it_is_named_and_is_no_unknown_file(outer):
    (outer / "notes.txt").touch()
    found = {item.code: item for item in inspect(Store.open(str(outer)), deep=True)}
    assert (found["CKPT149"].name, found["CKPT149"].severity) == ("other", "note")
    assert found["CKPT160"].message == "1 files are not known to ckpt: notes.txt"


@pytest.mark.parametrize("place", ["sources/deep", "state/deep", "sources/0/deep"])
def test_it_is_named_where_sources_and_operators_write(golden, tmp_path, place):
    checkpoint = golden("file-to-parquet-5")
    (checkpoint / place).parent.mkdir(exist_ok=True)
    shutil.copytree(golden("agg-hdfs"), checkpoint / place)
    store = Store.open(str(checkpoint))
    assert [(item.code, item.name) for item in inspect(store, deep=True)] == [("CKPT149", place)]
    taken = take_backup(store, Store.open(str(tmp_path / "backups")))
    assert not any(item.name.startswith(place) for item in taken.objects)


def test_show_says_what_it_is(outer, capsys):
    (outer / "others").mkdir()
    (outer / "others/a").touch()
    assert run(["show", str(outer), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["inside"], shown["unknown"]) == (["other"], ["others/"])
    assert run(["show", str(outer)]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "checkpoints of other queries │ other/" in words and "not known to ckpt │ others/" in words


def test_a_directory_that_cannot_be_listed_is_none(outer, monkeypatch):
    def refused(store, directory="", *, ls=Store.ls, **more):
        if directory == "other":
            raise StoreError("permission denied", location=store.location)
        return ls(store, directory, **more)

    monkeypatch.setattr(Store, "ls", refused)
    assert find_at_top(Store.open(str(outer)), ["other"]) == ()


def test_damage_of_it_is_none_of_the_outer_one(outer):
    (outer / "other/offsets/4").write_text("")
    (outer / "other/link").symlink_to("/tmp")
    assert [item.code for item in inspect(Store.open(str(outer)), deep=True)] == ["CKPT149"]


def test_its_query_may_run_while_the_outer_one_is_rolled_back_and_that_is_undone(outer, tmp_path):
    stores = Stores(Store.open(str(outer)))
    plan = make_rollback(stores, 2)
    assert "Checkpoints of other queries are inside this one, and are not changed: other." in plan.warnings
    commit_batch(outer / "other", 5, json.dumps({"logOffset": 5}))
    before, whole = files(outer / "other"), files(outer)
    apply(plan, stores, **WORDS)
    assert observe(stores.checkpoint).latest_committed == 2 and files(outer / "other") == before
    undo = make_undo(stores)
    commit_batch(outer / "other", 6, json.dumps({"logOffset": 6}))
    apply(undo, stores, **WORDS)
    assert {name: data for name, data in files(outer).items() if name in whole} == whole


@pytest.fixture
def as_earlier(outer, monkeypatch):
    """A rollback by a version that took the files of the inner checkpoint for its own; and what was there before."""
    stores, whole = Stores(Store.open(str(outer))), files(outer)
    with monkeypatch.context() as earlier:
        for module in (observe_module, listing):
            earlier.setattr(module, "without_inside", lambda objects: (objects, ()))
        apply(make_rollback(stores, 2), stores, **WORDS)
    return stores, whole


def test_a_change_of_an_earlier_version_is_undone(as_earlier, outer):
    stores, whole = as_earlier
    apply(make_undo(stores), stores, **WORDS)
    assert {name: data for name, data in files(outer).items() if name in whole} == whole


@pytest.mark.parametrize("name", ["commits/1", "other/commits/1"])
def test_it_is_refused_when_what_that_left_alone_has_changed(as_earlier, outer, name):
    """The digest is over all of it, so which checkpoint has run on is not known."""
    stores, _ = as_earlier
    (outer / name).write_text("v1\n{}")
    there = files(outer)
    with pytest.raises(PlanError, match=rf"are no longer the same \(in \S+ the files {name} were written since"):
        make_undo(stores)
    assert files(outer) == there


def test_a_backup_leaves_it_out_and_says_so(outer, tmp_path):
    taken = take_backup(Store.open(str(outer)), Store.open(str(tmp_path / "backups")))
    assert not any(stored.name.startswith("other") for stored in taken.objects) and not taken.unknown
    assert taken.not_judged == (
        "not in the backup is 'other/': a checkpoint of another query, which needs a backup of its own",
    )
