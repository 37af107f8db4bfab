"""The operator that rolls a checkpoint back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ckpt.change.acceptance import require_newer
from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan import Plan
from airflow_provider_ckpt.change.plan_file import document
from airflow_provider_ckpt.errors import CheckpointError, PlanError
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors, require_flags, require_said
from airflow_provider_ckpt.operators.base import (
    PLAN_KEY,
    CheckpointOperator,
    duration_ms_of,
    plan_of,
    result_of,
    task_of,
    text_of,
    value_of,
    words,
)
from airflow_provider_ckpt.report.tables import plan_tables
from airflow_provider_ckpt.rollback.goal import RollbackTarget, ToBackup, parse_target
from airflow_provider_ckpt.rollback.make import make_rollback
from airflow_provider_ckpt.sinks.declared import parse_sink

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import ChangeResultDocument


class CheckpointRollbackOperator(CheckpointOperator):
    """Drops every batch after one, in place. What is removed is kept for ``ckpt undo``.

    Where to is one of ``to_batch``, ``to_timestamp``, ``to_watermark``, ``to_offsets`` and ``to_backup``, or all of it
    is in ``plan``.
    Run again after an interruption, it completes itself.

    :param to_batch: The last batch to keep.
    :param to_timestamp: The newest batch that began at or before this time (ISO 8601, or epoch milliseconds).
    :param to_watermark: The newest batch that ran with this watermark or a lower one.
    :param to_offsets: The newest batch that is not past these offsets, by source id; JSON when it is text.
    :param to_backup: The batch of a backup, as ``ROOT/ID``; its files come back from there when Spark has purged them.
    :param plan: The plan that another task made with ``plan_only`` and a person has approved (its XCom ``plan``). That
        plan is carried out and no other; when the checkpoint has changed since, it is refused.
    :param sources: Types of the sources by id, such as ``{"0": "kafka"}``.
    :param query_is_stopped: True confirms that no query writes to the checkpoint; or a callable that finds out.
    :param sink: The sink of the query: ``file:``, ``delta:``, ``iceberg:``, ``hudi:`` or ``history:`` with its URI,
        ``kafka``, ``foreachBatch``; without it its effect is unknown.
    :param trigger: The trigger of the query as a deploy file says it; with ``realTime`` the logs do not show every
        batch that the sink has rows of, so no effect on it is exact.
    :param trim_sink_log: Remove the dropped batches from the file sink's log as well.
    :param backup_root: Where to search for an older batch when the checkpoint holds none any more.
    :param accept_sink: Effects on the sink that are accepted by name: ``duplicated``, ``skipped``, ``unknown``, one or
        several. A plan whose effect is not exact is refused without it.
    :param approved_by: Who has approved the plan, for the history; empty when nobody was asked.
    :param approved_at: When that was. An approval that is older than the plan was given for another one, as after a
        clear of the task that plans, and is refused.
    :param undo_root: Where to keep what is removed; by default beside the checkpoint.
    :param quiet_period: How long to watch for a writer, such as ``5m``, a timedelta or seconds; by default judged by
        the rhythm of the commits.
    :param break_lock: Remove the lock of another change of the checkpoint, which you know has ended.
    :param plan_only: Show the plan, push it to the XCom ``plan``, and change nothing.
    """

    template_fields: Sequence[str] = (
        *CheckpointOperator.template_fields,
        "to_batch",
        "to_timestamp",
        "to_watermark",
        "to_offsets",
        "to_backup",
        "plan",
        "sources",
        "sink",
        "trigger",
        "trim_sink_log",
        "backup_root",
        "accept_sink",
        "approved_by",
        "approved_at",
        "undo_root",
    )

    def __init__(
        self,
        *,
        to_batch: int | str | None = None,
        to_timestamp: int | str | None = None,
        to_watermark: int | str | None = None,
        to_offsets: str | Mapping[str, Any] | None = None,
        to_backup: str | None = None,
        plan: Any = None,
        sources: Any = None,
        query_is_stopped: bool | Callable[[], bool] = False,
        sink: str | None = None,
        trigger: str | None = None,
        trim_sink_log: bool | str = False,
        backup_root: str | None = None,
        accept_sink: str | Sequence[str] | None = None,
        approved_by: str | None = None,
        approved_at: str | datetime | None = None,
        undo_root: str | None = None,
        quiet_period: float | str | timedelta | None = None,
        break_lock: bool = False,
        plan_only: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.to_batch = to_batch
        self.to_timestamp = to_timestamp
        self.to_watermark = to_watermark
        self.to_offsets = to_offsets
        self.to_backup = to_backup
        self.plan = plan
        self.sources = sources
        self.query_is_stopped = query_is_stopped
        self.sink = sink
        self.trigger = trigger
        self.trim_sink_log = trim_sink_log
        self.backup_root = backup_root
        self.accept_sink = accept_sink
        self.approved_by = approved_by
        self.approved_at = approved_at
        self.undo_root = undo_root
        self.quiet_period = quiet_period
        self.break_lock = break_lock
        self.plan_only = plan_only

    def execute(self, context: Any) -> ChangeResultDocument:
        """Plan, log the plan, and carry it out."""
        with airflow_errors():
            require_flags(self, "break_lock", "plan_only")
            require_said("trim_sink_log", self._trims())
            if not callable(self.query_is_stopped):
                require_flags(self, "query_is_stopped")
            plan, stores = self._approved() if self.plan else self._planned()
            self.report(*plan_tables(plan))
            if self.plan_only:
                context["ti"].xcom_push(key=PLAN_KEY, value=document(plan))
                return result_of(plan, None)
            require_newer(self.approved_at, plan)
            stopped = self._stopped()
            receipt = apply(
                plan,
                stores,
                by=task_of(context),
                query_is_stopped=stopped,
                quiet_s=self._quiet_s(),
                break_lock=self.break_lock,
                tell=self.log.info,
                accept_sink=words(self.accept_sink),
                approved_by=text_of(self.approved_by),
            )
            return result_of(plan, receipt)

    def _trims(self) -> bool:
        """Whether the sink's log is trimmed: a flag, or the text that a template has made of one."""
        return require_said("trim_sink_log", _plain("trim_sink_log", self.trim_sink_log))

    def _stopped(self) -> bool:
        """The answer to ``query_is_stopped``. One that cannot be had is no yes; Airflow's own errors say what to do."""
        if not callable(self.query_is_stopped):
            return self.query_is_stopped
        try:
            answer = self.query_is_stopped()
        except (AirflowException, CheckpointError):
            raise
        except Exception as error:  # the user's own function: what it raises is no answer
            message = f"query_is_stopped found nothing out: {type(error).__name__}: {error}"
            raise PlanError(message, location=self.checkpoint, hint="Nothing was done.") from error
        return require_said("query_is_stopped", answer)

    def _quiet_s(self) -> float | None:
        if self.quiet_period is None:
            return None
        return duration_ms_of("quiet_period", self.quiet_period) / 1000

    def _planned(self) -> tuple[Plan, Stores]:
        """A plan made now, or one that was begun and interrupted."""
        sources = _plain("sources", self.sources) or {}
        if not isinstance(sources, Mapping):
            raise CheckpointError(f"sources are types by source id, such as {{'0': 'kafka'}}, not {sources!r:.60}")
        source_types = {str(source_id): str(kind) for source_id, kind in sources.items()}
        target = self._target(source_types)
        if not isinstance(self.sink, str | None):
            raise CheckpointError(f"sink is a text, such as file:s3://lake/orders, and not {self.sink!r:.60}")
        sink = parse_sink(self.sink) if self.sink else None
        backups = target.root if isinstance(target, ToBackup) else self.backup_root
        stores = Stores.of(self.checkpoint, self.store, sink=sink, undo=self.undo_root, backups=backups)
        plan = make_rollback(
            stores,
            target,
            trim_sink_log=self._trims(),
            sink=sink,
            sources=source_types,
            trigger=self.trigger,
        )
        return plan, stores

    def _target(self, source_types: Mapping[str, str]) -> RollbackTarget | ToBackup:
        try:
            return parse_target(
                batch=self.to_batch,
                timestamp=self.to_timestamp,
                watermark=self.to_watermark,
                offsets=self.to_offsets,
                backup=self.to_backup,
                source_types=source_types,
            )
        except ValueError as error:
            raise CheckpointError(str(error)) from error

    def _approved(self) -> tuple[Plan, Stores]:
        """The plan that was given, which must be one of this checkpoint."""
        stores = Stores.of(self.checkpoint, self.store, undo=self.undo_root)
        plan = plan_of(self.plan, "rollback", stores.checkpoint)
        return plan, stores.for_plan(plan, self.store)


def _plain(name: str, value: Any) -> Any:
    try:
        return value_of(value)
    except ValueError as error:
        raise CheckpointError(f"{name}: {error}") from None
