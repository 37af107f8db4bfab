"""The plan of a restore: what it rewrites, and what it warns of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup import declare
from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.change.option import fields_of
from airflow_provider_ckpt.changes.restore.make import RestoreRequest, fork_id, make_restore
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.times import LAST_MS

FORK_ID = "0b1f3a9c-0000-4000-8000-000000000001"


@pytest.fixture
def root(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "backups"))


def back_up(home: Path, root: Store) -> Manifest:
    return take_backup(Store.open(str(home / "checkpoint")), root)


def test_a_fork_keeps_its_id_at_one_location_and_has_another_elsewhere(goldens, root, tmp_path):
    taken = back_up(goldens["4.3.0/agg-hdfs"], root)
    here, there = (Store.open(str(tmp_path / name)) for name in ("here", "there"))
    assert fork_id(taken, here) == fork_id(taken, here) != fork_id(taken, there)


def test_restored_to_where_it_was_nothing_is_rewritten(golden, root, tmp_path):
    """The original is lost, and the backup goes back to its place."""
    checkpoint = golden("transform-with-state")
    old, metadata = "file:/golden/transform-with-state/checkpoint", checkpoint / "state/0/_metadata/v2/0"
    metadata.write_text(metadata.read_text().replace(old, f"file:{checkpoint}"))
    taken = back_up(checkpoint.parent, root)
    checkpoint.rename(tmp_path / "lost")
    plan = make_restore(root, taken, Store.open(str(checkpoint)))
    assert {action.do for action in plan.actions} == {"copy"}


def test_a_moved_query_comes_with_a_warning_and_a_fork_with_none(goldens, root, tmp_path):
    taken = back_up(goldens["4.3.0/agg-hdfs"], root)
    target = Store.open(str(tmp_path / "restored"))
    warned = make_restore(root, taken, target).warnings
    assert any(taken.query_id in warning and "Never run both" in warning for warning in warned)
    forked = make_restore(root, taken, target, FORK_ID).warnings
    assert not any("Never run both" in warning for warning in forked)


def test_a_backup_from_the_future_is_told_of_where_it_is_the_latest(goldens, root, tmp_path, monkeypatch, capsys):
    """A clock was a century ahead once: the backup that was taken then hides those that were taken since."""
    home = goldens["4.3.0/agg-hdfs"]
    back_up(home, root)
    target = Store.open(str(tmp_path / "restored"))
    assert not any("future" in warning for warning in make_restore(root, find_backup(root), target).warnings)
    assert run(["verify", root.location, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []
    with monkeypatch.context() as ahead:
        ahead.setattr(declare, "now_ms", lambda: LAST_MS - 86_400_000)
        hiding = back_up(home, root)
    latest = find_backup(root)
    assert latest.backup_id == hiding.backup_id
    said = f"Backup {hiding.backup_id} of batch 7 is dated in the future"
    assert any(warning.startswith(said) for warning in make_restore(root, latest, target).warnings)
    assert run(["verify", root.location, "--json"]) == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warning.startswith(said)
    assert run(["verify", root.location]) == 0
    assert said in capsys.readouterr().out


def test_a_moved_file_sink_is_told_of(goldens, root, tmp_path):
    """The golden's output was written elsewhere: its log names files that are not in this directory."""
    home = goldens["4.3.0/file-to-parquet-12"]
    taken, output = back_up(home, root), Store.open(str(home / "output"))
    sinks = [(parse_sink(f"file:{output.location}"), output)]
    warned = make_restore(root, taken, Store.open(str(tmp_path / "new")), sinks=sinks).warnings
    assert any(
        "lists 12 of 12 files outside of that directory, such as file:///golden/" in warning for warning in warned
    )


@pytest.mark.parametrize(("case", "is_told"), [("file-to-parquet-5", True), ("file-to-parquet-12", False)])
def test_a_fork_with_files_of_its_own_is_told_at_which_interval_its_log_begins(goldens, root, tmp_path, case, is_told):
    """Behind the first compaction Spark derives an interval that fits, whatever the query sets."""
    taken, output = back_up(goldens[f"4.3.0/{case}"], root), Store.open(str(tmp_path / "out"))
    sinks = [(parse_sink(f"file:{output.location}"), output)]
    warned = make_restore(root, taken, Store.open(str(tmp_path / "new")), FORK_ID, sinks=sinks).warnings
    assert any("ckpt repair with --compact-interval" in warning for warning in warned) == is_told


def test_each_field_of_the_request_is_an_option_as_users_have_typed_it():
    assert {name: field.opt.option for name, field in fields_of(RestoreRequest).items()} == {
        "backup_root": "",
        "backup_id": "",
        "query_id": "--query-id",
        "new_query_id": "--new-query-id",
        "rewrite_paths": "--rewrite-paths",
        "sinks": "--sink",
        "fence": "--fence",
        "wait_for_batch": "--wait-for-batch",
        "trigger": "--trigger",
    }
