"""The operator that restores a backup."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.moving import PathRule
from airflow_provider_ckpt.operators.base import CheckpointOperator, result_of, task_of
from airflow_provider_ckpt.report import plan_tables
from airflow_provider_ckpt.sinks import parse_sink


class CheckpointRestoreOperator(CheckpointOperator):
    """Writes a backup to ``checkpoint``, which must be new or empty. Run again, it completes itself.

    :param backup_root: Where backups live.
    :param backup_id: Id of the backup, or ``latest``.
    :param new_query_id: Give the restored query an id of its own (a fork); sinks then do not know it.
    :param rewrite_paths: Absolute paths of input files that have moved, old to new.
    :param sinks: Sinks of the query, such as ``file:s3://lake/orders``, for the verdicts.
    :param plan_only: Change nothing; return the plan's summary.
    """

    template_fields: Sequence[str] = (
        *CheckpointOperator.template_fields,
        "backup_root",
        "backup_id",
        "rewrite_paths",
        "sinks",
    )

    def __init__(
        self,
        *,
        backup_root: str,
        backup_id: str = "latest",
        new_query_id: bool = False,
        rewrite_paths: Mapping[str, str] | None = None,
        sinks: Sequence[str] = (),
        plan_only: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.backup_root = backup_root
        self.backup_id = backup_id
        self.new_query_id = new_query_id
        self.rewrite_paths = rewrite_paths
        self.sinks = sinks
        self.plan_only = plan_only

    def execute(self, context: Any) -> dict[str, Any]:
        """Plan, log the plan, and restore."""
        with airflow_errors():
            root, target = self.store(self.backup_root), self.store()
            backup = lifecycle.find_backup(root, self.backup_id)
            fork_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{backup.backup_id} {target.location}"))
            plan = lifecycle.make_restore(
                root,
                backup,
                target,
                fork_id if self.new_query_id else None,
                path_rules=[PathRule(old, new) for old, new in (self.rewrite_paths or {}).items()],
                sinks=[
                    (sink, self.store(sink.directory) if sink.directory else None)
                    for sink in map(parse_sink, self.sinks)
                ],
            )
            self.report(*plan_tables(plan))
            receipt = None if self.plan_only else lifecycle.restore(plan, root, target, by=task_of(context))
            return result_of(plan, receipt)
