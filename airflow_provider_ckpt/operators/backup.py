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

    Returns the backup's id, batch, watermark, number of objects, the bytes copied and reused, and the files in it that
    ckpt does not know; of those, which changed while they were copied.

    :param backup_root: Where backups live.
    :param full: Copy everything, also what an earlier backup has; Spark can then start from the backup's directory.
    :param tags: Names that a prune can keep the backup for.
    :param message: Why it is taken, for those who look for a backup.
    """

    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "backup_root", "tags", "message")

    def __init__(
        self, *, backup_root: str, full: bool = False, tags: Sequence[str] = (), message: str = "", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.backup_root = backup_root
        self.full = full
        self.tags = tags
        self.message = message

    def execute(self, context: Any) -> dict[str, Any]:
        """Take the backup."""
        with airflow_errors():
            root = self.store(self.backup_root)
            taken = lifecycle.take_backup(self.store(), root, full=self.full, tags=self.tags, message=self.message)
        self.report(backup_table(taken))
        return {
            "backup_id": taken.backup_id,
            "query_id": taken.query_id,
            "batch_id": taken.batch_id,
            "watermark_ms": taken.watermark_ms,
            "objects": len(taken.objects),
            "bytes_copied": taken.own_bytes,
            "bytes_reused": taken.reused_bytes,
            "tags": list(taken.tags),
            "unknown": list(taken.unknown),
            "unknown_changed": list(taken.unknown_changed),
        }
