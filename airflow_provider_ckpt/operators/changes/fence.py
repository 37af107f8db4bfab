"""The operator that stops a query which cannot be reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.change.option import WAIT_S
from airflow_provider_ckpt.errors import CheckpointLockedError
from airflow_provider_ckpt.hooks.checkpoint import require_flags
from airflow_provider_ckpt.operators.base import CheckpointOperator, digest_of, result_of, task_of
from airflow_provider_ckpt.operators.changes.asked import asked_of

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import ChangeResultDocument
    from airflow_provider_ckpt.lineage.datasets import Named


class CheckpointFenceOperator(CheckpointOperator):
    """Stops a query that cannot be reached, at its next batch, by Spark's own rule, as ``ckpt fence`` does.

    The entry of its next batch is created first, as an empty batch: the query stops with
    ``CONCURRENT_STREAM_LOG_UPDATE``, and its next start continues after that batch. ``ckpt undo`` takes it back.

    A checkpoint that is fenced already stays as it is (``receipt.status`` is ``already_applied``). So it does when a
    task is cleared that has fenced it before, also when a query has been started since; a fence that was undone is put
    again.

    :param wait_for_batch: How long to wait for the commit of a batch in flight: ``10m``, a timedelta, or seconds. While
        it waits, no Spark starts from the checkpoint; without a commit by then, the fence is withdrawn.
    :param trigger: The trigger as the query file says it; ``realTime`` and ``continuous`` cannot be fenced.
    :param undo_root: Directory for the records of changes; by default ``_ckpt_undo`` beside the checkpoint.
    :param break_lock: Remove the lock of another change of the checkpoint, which you know has ended.
    :param plan_only: Only log the plan, and change nothing.
    """

    does = "fence"
    has_done = "A fence was put behind the newest batch of"
    template_fields: Sequence[str] = (*CheckpointOperator.template_fields, "trigger", "undo_root")

    def __init__(
        self,
        *,
        wait_for_batch: float | str | timedelta = WAIT_S,
        trigger: str | None = None,
        undo_root: str | None = None,
        break_lock: bool = False,
        plan_only: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.wait_for_batch = wait_for_batch
        self.trigger = trigger
        self.undo_root = undo_root
        self.break_lock = break_lock
        self.plan_only = plan_only

    def execute(self, context: Any) -> ChangeResultDocument:
        """Fence, or find the fence that is there; and log it."""
        from airflow_provider_ckpt.change.places import Stores
        from airflow_provider_ckpt.change.record.find_done import find_done, receipt_of
        from airflow_provider_ckpt.changes.fence.make import FenceRequest, make_fence
        from airflow_provider_ckpt.changes.fence.put_fence import put_fence
        from airflow_provider_ckpt.report.tables import plan_tables

        with self.running(context):
            require_flags(self, "break_lock", "plan_only")
            asked = asked_of(self, FenceRequest)
            stores = Stores.of(self.checkpoint, self.store, undo=self.undo_root)
            if self.plan_only:
                plan = make_fence(stores, trigger=asked.trigger)
                self.report(*plan_tables(plan))
                return self.tell(context, result_of(plan, None))
            by, digest = task_of(context), digest_of(self, CheckpointOperator.template_fields)
            if (done := find_done(stores, "fence", by, digest)) is not None:
                self.log.info("This task has put the fence %s before. Nothing was done.", done.plan.plan_id)
                return self.tell(context, result_of(done.plan, receipt_of(done)))

            def not_done() -> None:
                if find_done(stores, "fence", by, digest) is not None:
                    raise CheckpointLockedError("another run of this task has put the fence.", location=self.checkpoint)

            plan, receipt = put_fence(
                stores,
                by=by,
                asked=digest,
                trigger=asked.trigger,
                wait_s=asked.wait_for_batch,
                break_lock=self.break_lock,
                require=not_done,
                tell=self.log.info,
            )
            self.report(*plan_tables(plan))
            return self.tell(context, result_of(plan, receipt))

    def lineage_inputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The checkpoint of a plan alone."""
        if self.plan_only:
            yield from self.lineage_checkpoints({})

    def lineage_outputs(self, told: Mapping[str, Any]) -> Iterator[Named]:
        """The checkpoint; nothing of a plan alone."""
        if not self.plan_only:
            yield from self.lineage_checkpoints(told, change="ALTER" if told.get("receipt") else "")
