"""The operators that take backups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.operators.base import CheckpointOperator
from airflow_provider_ckpt.report import backup_table


class CheckpointBackupOperator(CheckpointOperator):
    """Copies what a restart after the newest committed batch needs; also right while the query runs.

    Returns the backup's id, batch, watermark, number of objects and bytes.

    :param backup_root: Where backups live.
    """

    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "backup_root")

    def __init__(self, *, backup_root: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.backup_root = backup_root

    def execute(self, context: Any) -> dict[str, Any]:
        """Take the backup."""
        with airflow_errors():
            taken = lifecycle.take_backup(self.store(), self.store(self.backup_root))
        self.report(backup_table(taken))
        return {
            "backup_id": taken.backup_id,
            "query_id": taken.query_id,
            "batch_id": taken.batch_id,
            "watermark_ms": taken.watermark_ms,
            "objects": len(taken.objects),
            "bytes_copied": taken.total_bytes,
            "bytes_reused": 0,
        }
