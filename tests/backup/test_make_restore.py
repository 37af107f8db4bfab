"""The plan of a restore: what it rewrites, and what it warns of."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.make_restore import fork_id, make_restore
from airflow_provider_ckpt.backup.manifest import Manifest
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.sinks.declared import parse_sink
from airflow_provider_ckpt.storage.store import Store

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


def test_a_moved_file_sink_is_told_of(goldens, root, tmp_path):
    """The golden's output was written elsewhere: its log names files that are not in this directory."""
    home = goldens["4.3.0/file-to-parquet-12"]
    taken, output = back_up(home, root), Store.open(str(home / "output"))
    sinks = [(parse_sink(f"file:{output.location}"), output)]
    warned = make_restore(root, taken, Store.open(str(tmp_path / "new")), sinks=sinks).warnings
    assert any(
        "lists 12 of 12 files outside of that directory, such as file:///golden/" in warning for warning in warned
    )
