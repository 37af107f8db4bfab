"""The operators that verify a backup, and restore it elsewhere."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.operators.checkpoint import CheckpointRestoreOperator, CheckpointVerifyOperator
from airflow_provider_ckpt.storage.store import Store

pytestmark = pytest.mark.airflow


@pytest.fixture
def root(golden, tmp_path: Path) -> Path:
    take_backup(Store.open(str(golden("file-to-parquet-5"))), Store.open(str(tmp_path / "backups")))
    return tmp_path / "backups"


def test_a_sound_backup(root):
    found = CheckpointVerifyOperator(task_id="verify", backup_root=str(root)).execute({})
    assert (found["batch_id"], found["findings"], found["rehearsal"]) == (4, [], None)


def test_a_corrupt_backup_fails_for_good(root):
    next(root.rglob("metadata")).write_text("x")
    with pytest.raises(AirflowFailException, match="BACKUP_CORRUPT.*is not what was backed up"):
        CheckpointVerifyOperator(task_id="verify", backup_root=str(root)).execute({})


@pytest.mark.spark
@pytest.mark.exhaustive
def test_a_rehearsal_tells_what_spark_read(root):
    found = CheckpointVerifyOperator(task_id="verify", backup_root=str(root), rehearse=True).execute({})
    assert found["rehearsal"]["spark_version"] == "4.3.0" and found["rehearsal"]["batch_id"] == 4


def test_a_restore_tells_of_sinks_and_paths_before_it_acts(root, tmp_path):
    (tmp_path / "out" / "_spark_metadata").mkdir(parents=True)
    (tmp_path / "out" / "_spark_metadata" / "5").write_text("v1")
    restore = CheckpointRestoreOperator(
        task_id="restore",
        checkpoint=str(tmp_path / "new"),
        backup_root=str(root),
        sinks=[f"file:{tmp_path / 'out'}", "kafka"],
        rewrite_paths={"/golden": "s3a://lake"},
        plan_only=True,
    )
    planned = restore.execute({"ti": SimpleNamespace(xcom_push=lambda **xcom: None)})
    assert [item["effect"] for item in planned["sink_effects"]] == ["skipped", "duplicated"]
    assert any("5 of 5 absolute paths are rewritten" in warning for warning in planned["warnings"])
    assert planned["receipt"] is None and not (tmp_path / "new").exists()
