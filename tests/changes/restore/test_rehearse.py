"""Whether there is a Spark that can rehearse a restore: said before anything is restored."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.backup.catalog import find_backup
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.changes.restore import rehearse
from airflow_provider_ckpt.checkpoint.find_spark import Missing
from airflow_provider_ckpt.errors import BackupError
from airflow_provider_ckpt.storage.store import Store


def test_without_spark_nothing_is_restored(golden, tmp_path, monkeypatch):
    root, scratch = Store.open(str(tmp_path / "backups")), tmp_path / "scratch"
    taken = take_backup(Store.open(str(golden("file-to-parquet-5"))), root)
    monkeypatch.setattr(rehearse, "missing_spark", lambda: Missing("PySpark", "pip install it"))
    with pytest.raises(BackupError, match="a rehearsal needs PySpark. pip install it"):
        rehearse.rehearse(root, find_backup(root, taken.backup_id), scratch=Store.open(str(scratch)))
    assert not scratch.exists()
