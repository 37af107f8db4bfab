"""The operator that restores a backup."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.operators.base import CheckpointOperator, result_of
from airflow_provider_ckpt.report import plan_tables


class CheckpointRestoreOperator(CheckpointOperator):
    """Writes a backup to ``checkpoint``, which must be new or empty. Run again, it completes itself.

    :param backup_root: Where backups live.
    :param backup_id: Id of the backup, or ``latest``.
    :param new_query_id: Give the restored query an id of its own (a fork); sinks then do not know it.
    """

    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "backup_root", "backup_id")

    def __init__(
        self, *, backup_root: str, backup_id: str = "latest", new_query_id: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.backup_root = backup_root
        self.backup_id = backup_id
        self.new_query_id = new_query_id

    def execute(self, context: Any) -> dict[str, Any]:
        """Restore."""
        with airflow_errors():
            root, target = self.store(self.backup_root), self.store()
            backup = lifecycle.find_backup(root, self.backup_id)
            fork_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{backup.backup_id} {target.location}"))
            plan = lifecycle.make_restore(root, backup, target, fork_id if self.new_query_id else None)
            self.report(*plan_tables(plan))
            return result_of(plan, lifecycle.restore(plan, root, target))
