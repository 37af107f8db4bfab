"""The operators: gate, back up, restore and roll back a checkpoint."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.lifecycle import Receipt, Stores
from airflow_provider_ckpt.operators.base import CheckpointOperator
from airflow_provider_ckpt.operators.check import CheckpointCheckOperator
from airflow_provider_ckpt.operators.continuity import CheckpointContinuityOperator
from airflow_provider_ckpt.operators.gate import CheckpointGateOperator
from airflow_provider_ckpt.plans import Plan
from airflow_provider_ckpt.report import backup_table, plan_tables
from airflow_provider_ckpt.sinks import parse_sink

__all__ = [
    "CheckpointBackupOperator",
    "CheckpointCheckOperator",
    "CheckpointContinuityOperator",
    "CheckpointGateOperator",
    "CheckpointRestoreOperator",
    "CheckpointRollbackOperator",
]


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
            return _result(plan, lifecycle.restore(plan, root, target))


class CheckpointRollbackOperator(CheckpointOperator):
    """Drops every batch after one, in place. What is removed is kept for ``ckpt undo``.

    Run again after an interruption, it completes itself.

    :param to_batch: The last batch to keep.
    :param query_is_stopped: Your word that no query writes to the checkpoint, or a callable that finds out.
    :param sink: The sink of the query, such as ``file:s3://bucket/out``; without it its verdict is unknown.
    :param trim_sink_log: Remove the dropped batches from the file sink's log as well.
    :param undo_root: Where to keep what is removed; by default beside the checkpoint.
    :param quiet_period: Seconds to watch for a writer; by default judged by the rhythm of the commits.
    :param plan_only: Show the plan and change nothing.
    """

    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "to_batch", "sink", "undo_root")

    def __init__(
        self,
        *,
        to_batch: int | str,
        query_is_stopped: bool | Callable[[], bool] = False,
        sink: str | None = None,
        trim_sink_log: bool = False,
        undo_root: str | None = None,
        quiet_period: float | None = None,
        plan_only: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.to_batch = to_batch
        self.query_is_stopped = query_is_stopped
        self.sink = sink
        self.trim_sink_log = trim_sink_log
        self.undo_root = undo_root
        self.quiet_period = quiet_period
        self.plan_only = plan_only

    def execute(self, context: Any) -> dict[str, Any]:
        """Plan, log the plan, and carry it out."""
        with airflow_errors():
            stores = Stores(
                self.store(),
                self.store(parse_sink(self.sink)) if self.sink else None,
                self.store(self.undo_root) if self.undo_root else None,
            )
            plan = lifecycle.make_rollback(stores, int(self.to_batch), trim_sink_log=self.trim_sink_log)
            self.report(*plan_tables(plan))
            if self.plan_only:
                return _result(plan, None)
            stopped = self.query_is_stopped() if callable(self.query_is_stopped) else self.query_is_stopped
            return _result(plan, lifecycle.apply(plan, stores, query_is_stopped=stopped, quiet_s=self.quiet_period))


def _result(plan: Plan, receipt: Receipt | None) -> dict[str, Any]:
    """A small XCom: the actions themselves are in the log and in the record."""
    return {
        "plan_id": plan.plan_id,
        "kind": plan.kind,
        "batch_id": plan.batch_id,
        "actions": len(plan.actions),
        "warnings": list(plan.warnings),
        "verdicts": [{"sink": item.sink, "verdict": item.verdict, "remedy": item.remedy} for item in plan.verdicts],
        "receipt": receipt.to_dict() if receipt else None,
    }
