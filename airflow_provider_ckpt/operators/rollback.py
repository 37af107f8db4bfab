"""The operator that rolls a checkpoint back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.lifecycle import Stores
from airflow_provider_ckpt.operators.base import CheckpointOperator, result_of
from airflow_provider_ckpt.report import plan_tables
from airflow_provider_ckpt.sinks import parse_sink


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
                return result_of(plan, None)
            stopped = self.query_is_stopped() if callable(self.query_is_stopped) else self.query_is_stopped
            return result_of(plan, lifecycle.apply(plan, stores, query_is_stopped=stopped, quiet_s=self.quiet_period))
