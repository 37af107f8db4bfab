"""Which backups are of the history of a checkpoint, and up to which batch."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.changes.salvage.entries import broken_entries
from airflow_provider_ckpt.changes.salvage.find_backups import find_backups, is_whole
from airflow_provider_ckpt.storage.store import Store
from tests.changes.salvage.bench import view_of
from tests.changes.salvage.damage import drop


@pytest.fixture
def backed_up(golden, tmp_path):
    path, root = golden("agg-hdfs"), Store.open(str(tmp_path / "root"))
    return path, root, take_backup(Store.open(str(path)), root, threads=1)


def found(path, root):
    view = view_of(path)
    return [(item.backup.batch_id, item.shared) for item in find_backups(root, view, broken_entries(view))]


def rewrite(path):
    """Another run of the batch."""
    path.write_bytes(path.read_bytes().replace(b'"batchTimestampMs":1', b'"batchTimestampMs":2'))
    path.with_name(f".{path.name}.crc").unlink()


def test_the_same_entry_shows_the_same_history(backed_up):
    path, root, _ = backed_up
    assert found(path, root) == [(7, 7)]
    drop(path / "offsets/7")
    assert found(path, root) == [(7, 6)]


def test_the_checksum_file_of_a_lost_entry_tells(backed_up):
    path, root, _ = backed_up
    (path / "offsets/7").unlink()
    assert found(path, root) == [(7, 7)]


def test_another_run_is_another_history_from_its_batch_on(backed_up):
    path, root, _ = backed_up
    rewrite(path / "offsets/7")
    assert found(path, root) == [(7, 6)]
    rewrite(path / "offsets/6")
    assert found(path, root) == [(7, None)]


def test_a_checkpoint_without_an_id_has_the_backups_that_share_its_history(backed_up):
    path, root, _ = backed_up
    drop(path / "metadata")
    assert found(path, root) == [(7, 7)]
    rewrite(path / "offsets/6")
    rewrite(path / "offsets/7")
    assert found(path, root) == []


def test_a_backup_of_another_query_is_none(backed_up, golden):
    _, root, _ = backed_up
    assert found(golden("agg-rocksdb"), root) == []


def test_an_object_is_compared_with_the_manifest(backed_up):
    _, root, taken = backed_up
    item = next(item for item in taken.objects if item.name == "offsets/7")
    assert is_whole(root, item)
    root.write(item.stored_at, b"v1")
    assert not is_whole(root, item)
    root.delete(item.stored_at)
    assert not is_whole(root, item)
