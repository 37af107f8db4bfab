"""The operators: gate, back up, restore and roll back a checkpoint."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from airflow.providers.common.compat.sdk import BaseOperator

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.confs import SPARK_MAX, parse_spark_version
from airflow_provider_ckpt.deploy import DeploySpec, conf_text, count_of_sources
from airflow_provider_ckpt.errors import CheckpointError, GateFailedError
from airflow_provider_ckpt.forecast import forecast
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors
from airflow_provider_ckpt.lifecycle import Receipt, Stores
from airflow_provider_ckpt.plans import Plan
from airflow_provider_ckpt.report import Table, backup_table, forecast_tables, plan_tables, render
from airflow_provider_ckpt.sinks import parse_sink
from airflow_provider_ckpt.store import Store


class CheckpointOperator(BaseOperator):
    """What the operators have in common.

    :param checkpoint: The checkpointLocation of the query, relative to the connection's base or any fsspec URL.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    """

    template_fields: Sequence[str] = ("checkpoint", "checkpoint_conn_id")
    ui_color = "#e6f0f9"

    def __init__(self, *, checkpoint: str, checkpoint_conn_id: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.checkpoint = checkpoint
        self.checkpoint_conn_id = checkpoint_conn_id

    @cached_property
    def hook(self) -> CheckpointHook:
        """The hook."""
        return CheckpointHook(self.checkpoint_conn_id)

    def store(self, location: str | None = None) -> Store:
        """The checkpoint's store, or that of another location."""
        return self.hook.store(location or self.checkpoint)

    def report(self, *tables: Table) -> None:
        """One log entry with tables."""
        self.log.info("\n%s", render(tables))


class CheckpointGateOperator(CheckpointOperator):
    """Forecasts the restart of a query with the confs of a deploy, and fails when it must not go ahead.

    Returns the forecast: verdict, the batch Spark resumes at, what happens to each conf, the findings.

    :param confs: SQL confs that the deploy sets explicitly.
    :param spark_version: Spark of the deploy, such as ``4.3``; the newest known by default.
    :param sources: Number of sources of the query, or None when it is not known.
    """

    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "confs", "spark_version", "sources")

    def __init__(
        self,
        *,
        confs: Mapping[str, str] | None = None,
        spark_version: str | None = None,
        sources: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.confs = dict(confs or {})
        self.spark_version = spark_version
        self.sources = sources

    def execute(self, context: Any) -> dict[str, Any]:
        """Forecast, log, and fail on a blocked gate."""
        with airflow_errors():
            view = lifecycle.observe(self.store())
            foretold = forecast(view, self._deploy())
            self.report(*forecast_tables(view.location, foretold))
            if foretold.verdict == "block":
                reasons = "; ".join(finding.message for finding in foretold.findings if finding.severity == "error")
                raise GateFailedError(
                    f"the gate is closed: {reasons}", location=view.location, findings=foretold.findings
                )
        return foretold.to_dict()

    def _deploy(self) -> DeploySpec:
        try:
            version = parse_spark_version(self.spark_version) if self.spark_version else SPARK_MAX
        except ValueError as error:
            raise CheckpointError(str(error)) from error
        confs = {key: conf_text(value) for key, value in self.confs.items()}
        return DeploySpec(version, confs, None if self.sources is None else count_of_sources(int(self.sources)))


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
