"""The sensor that waits for committed progress of a query, without the query, Spark or a listener; and the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import (
    AirflowFailException,
    AirflowSensorTimeout,
    PokeReturnValue,
)
from airflow.triggers.base import StartTriggerArgs

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.sensors.base import CheckpointSensor
from airflow_provider_ckpt.sensors.positions import CheckpointDataLossSensor, CheckpointLagSensor
from airflow_provider_ckpt.sensors.runs import QueryStatusSensor
from airflow_provider_ckpt.times import parse_time_ms
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger
from airflow_provider_ckpt.untrusted.fields import require_flag

if TYPE_CHECKING:
    from airflow_provider_ckpt.storage.store import Store
    from airflow_provider_ckpt.waiting import Condition
    from airflow_provider_ckpt.waiting.poll import Poller
    from airflow_provider_ckpt.waiting.wait import Pending, Reached, Waiting

__all__ = ["CheckpointDataLossSensor", "CheckpointLagSensor", "CheckpointProgressSensor", "QueryStatusSensor"]

#: States of a task that does nothing more.
_FAILED = frozenset({"failed", "upstream_failed"})
#: A deadline that does not come.
NEVER_MS = 2**62


class CheckpointProgressSensor(CheckpointSensor):
    """Waits until a query has committed a batch, passed a watermark, reached source offsets, or any other condition.

    Several arguments must all be reached. A checkpoint that does not exist yet is waited for. The task fails at once
    when the checkpoint is replaced or rolled back below where the wait began. Returns the batch id, the watermark, the
    query id, and the names of the conditions that were ``met``.

    :param checkpoint: The checkpointLocation of the query: any fsspec URL, or a path relative to the base location of
        the connection.
    :param batch_id: This batch, or a later one, is committed.
    :param watermark: The newest committed batch ran with at least this watermark: a datetime, ISO 8601 or epoch
        milliseconds, such as ``"{{ data_interval_end }}"``.
    :param offsets: Offsets by source id, as objects or JSON, such as ``{"0": {"topic": {"0": 500}}}``.
    :param condition: Any other :class:`~airflow_provider_ckpt.waiting.Condition`, or a mapping as its ``to_dict``
        writes it, in which text is templated: ``{"condition": "lag", "lag_ms": "PT5M"}``.
    :param sources: Types of the sources by id, such as ``{"0": "kafka"}``, needed to compare offsets; where each reads
        from, such as ``{"0": "kafka:host:9092"}``, for conditions that ask where the data ends.
    :param source_options: Options of the query's Kafka sources, such as ``{"0.maxOffsetsPerTrigger": 1000}``: the
        log of the task then says how many batches are left.
    :param trigger: The trigger of the query, such as ``availableNow``. The task then fails when a run has ended before
        the condition was met.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client that asks.
    :param deadline: Give up at this time, a datetime, ISO 8601 or epoch milliseconds; ``timeout`` counts as well.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    :param deferrable: Wait in the triggerer. A condition that is reached already never defers.
    :param fail_fast: Fail when a poll in the worker shows that the condition will not be met in the present state of
        the checkpoint: a watermark for a query that has none, partitions that it does not read, a location that does
        not exist. Without
        it that is a warning in the log. With ``start_from_trigger`` no worker polls.
    :param fails_with: Ids of tasks of the same DAG run that run beside the wait, such as the one that submits the
        query. When one of them fails, the wait fails at the next poll. With ``mode="reschedule"`` no worker is kept
        meanwhile; a triggerer cannot ask, so not with ``deferrable``.
    :param start_from_trigger: Begin in the triggerer, without a worker (Airflow 3.3 and later). Not for conditions that
        mean *now*, such as the next batch: a triggerer that is restarted would mean another time.
    """

    does = "wait"
    has_done = "A wait is over for"
    template_fields: Sequence[str] = (
        *CheckpointSensor.template_fields,
        *("batch_id", "watermark", "offsets", "condition", "deadline", "source_options", "trigger"),
    )

    def __init__(
        self,
        *,
        batch_id: int | str | None = None,
        watermark: datetime | str | int | None = None,
        offsets: Mapping[str, Any] | str | None = None,
        condition: Condition | Mapping[str, Any] | None = None,
        deadline: datetime | str | int | None = None,
        source_options: Mapping[str, str | int | bool] | None = None,
        trigger: str | None = None,
        fail_fast: bool = False,
        fails_with: str | Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        from airflow_provider_ckpt.waiting import Condition

        super().__init__(**kwargs)
        if fails_with and (self.deferrable or self.start_from_trigger):
            raise ValueError("fails_with needs deferrable=False, because a triggerer cannot ask for other tasks")
        with airflow_errors():
            require_flag("fail_fast", fail_fast)
        self.batch_id = batch_id
        self.watermark = watermark
        self.offsets = offsets
        self.condition = condition.to_dict() if isinstance(condition, Condition) else condition
        self.deadline = deadline
        self.source_options = source_options
        self.trigger = trigger
        self.fail_fast = fail_fast
        self.fails_with = (fails_with,) if isinstance(fails_with, str) else tuple(fails_with)
        self._waiting: Waiting | None = None
        if self.start_from_trigger:
            self.start_trigger_args = self._start_trigger_args()

    # --- what to wait for --------------------------------------------------------------------------------------

    def wanted(self) -> Condition:
        """The condition to wait for, from the rendered arguments. Raises AirflowFailException if they make no sense."""
        from airflow_provider_ckpt.waiting import all_of, condition_from_dict

        try:
            return all_of(*map(condition_from_dict, self._spelled()))
        except CheckpointError as error:
            raise AirflowFailException(f"{self.task_id}: {error}") from error

    def _spelled(self) -> list[Mapping[str, Any]]:
        """The arguments as mappings, templates and all."""
        from airflow_provider_ckpt.query.source import types_said

        spelled: list[Mapping[str, Any]] = []
        if self.batch_id is not None:
            spelled.append({"condition": "batch", "batch_id": self.batch_id})
        if self.watermark is not None:
            passed = self.watermark
            if isinstance(passed, datetime) and passed.tzinfo:  # one without a zone is refused later
                passed = passed.isoformat()
            spelled.append({"condition": "watermark", "watermark_ms": passed})
        if self.offsets is not None:
            spelled.append({"condition": "offsets", "offsets": self.offsets, "source_types": types_said(self.sources)})
        if self.condition is not None:
            spelled.append(self.condition)
        return spelled

    # --- polling -----------------------------------------------------------------------------------------------

    @cached_property
    def _store(self) -> Store:
        return self.hook.store(self.checkpoint)

    @cached_property
    def _poller(self) -> Poller:
        from airflow_provider_ckpt.waiting.poll import Poller

        return Poller(self._store.location)

    def poke(self, context: Any) -> Any:
        """Poll once."""
        from airflow_provider_ckpt.waiting.wait import Reached, TimedOut

        step = self._step(context)
        if isinstance(step, TimedOut):
            raise AirflowSensorTimeout(
                f"the condition on {self.shown_checkpoint} was not met by the deadline {self.deadline}: {step.text}"
            )
        if isinstance(step, Reached):
            return PokeReturnValue(True, self._result(step))
        if self.fails_with:
            self._require_not_failed(context["ti"])
        return False

    def _require_not_failed(self, task: Any) -> None:
        """Raise AirflowFailException when a task without which nothing will be committed has failed."""
        runs = task.get_task_states(dag_id=task.dag_id, task_ids=[*self.fails_with], run_ids=[task.run_id])
        failed = sorted(name for run in runs.values() for name, state in run.items() if state in _FAILED)
        if failed:
            raise AirflowFailException(
                f"the task {failed[0]} has failed, so no more is waited for on {self.shown_checkpoint}: {self._said}"
            )

    def _step(self, context: Any) -> Reached | Pending:
        """Poll once, and judge that. Begins the wait when it has not begun."""
        from airflow_provider_ckpt.storage.requests import answer_from, drive
        from airflow_provider_ckpt.waiting.wait import Lost, Pending

        with airflow_errors():
            waiting = self._waiting = self._waiting or self._take_up(context)
            is_new = waiting.start is None
            progress = drive(self._poller.poll(waiting.needs), answer_from(self._store))
            step = waiting.step(progress, now_ms())
            if is_new and waiting.start is not None and (memory := self._memory(context)) is not None:
                memory.set(self._memory_key(context), waiting.to_dict())
            if isinstance(step, Lost):
                raise step.error
            if isinstance(step, Pending) and step.unanswered:
                raise step.unanswered
        for warning in step.warnings if isinstance(step, Pending) else ():
            self.log.warning("%s", warning)
        self.say(step.text)
        return step

    def _take_up(self, context: Any) -> Waiting:
        """The wait that this task has begun in another process, in reschedule mode; otherwise a new one."""
        from airflow_provider_ckpt.waiting import is_relative
        from airflow_provider_ckpt.waiting.poll import why_absent, why_quiet
        from airflow_provider_ckpt.waiting.wait import Waiting, read_wait

        memory = self._memory(context)
        kept = memory.get(self._memory_key(context)) if memory is not None else None
        condition, start = read_wait(kept) if kept else (self.wanted(), None)
        if self.reschedule and memory is None and is_relative(condition.to_dict()):
            raise AirflowFailException(
                f"{self.task_id}: a condition that refers to the time at which the wait begins must be remembered "
                "from poke to poke, which Airflow does in reschedule mode only from 3.3 on; use deferrable=True or "
                "mode='poke'"
            )
        return Waiting(
            self._store.location,
            condition,
            start,
            self.hook.source_ends(self.checkpoint, self.sources, self.kafka_conn_id) if condition.asks_ends else None,
            interval_s=self.poke_interval,
            deadline_ms=self._deadline_ms(),
            fail_fast=self.fail_fast,
            why_absent=partial(why_absent, self._store),
            why_quiet=partial(why_quiet, self._store),
            foresee=self.hook.foresight(
                self.checkpoint, self.sources, self.source_options, self.trigger, self.kafka_conn_id
            ),
        )

    def _memory(self, context: Any) -> Any:
        """Where a task in reschedule mode remembers: Airflow's state store of the task, from 3.3 on, else None."""
        return (context or {}).get("task_state_store") if self.reschedule else None

    @staticmethod
    def _memory_key(context: Any) -> str:
        return f"wait-{context['ti'].try_number}"

    # --- deferring ---------------------------------------------------------------------------------------------

    def poll_before_deferring(self, context: Any) -> Any:
        """Poll once in the worker; returns the result if the condition is reached already, else None."""
        from airflow_provider_ckpt.waiting.wait import Reached

        step = self._step(context)
        return self._result(step) if isinstance(step, Reached) else None

    def defer_wait(self) -> None:
        """Defer the wait to the triggerer."""
        now = now_ms()
        start = self._waiting.start if self._waiting else None
        condition = self._waiting.condition if self._waiting and start else self.wanted().resolved(now)
        self.defer(
            trigger=CheckpointProgressTrigger(
                checkpoint=self.checkpoint,
                condition=condition.to_dict(),
                start=start.to_dict() if start else None,
                sources=dict(self.sources) or None,
                source_options=self.source_options,
                trigger=self.trigger,
                kafka_conn_id=self.kafka_conn_id,
                checkpoint_conn_id=self.checkpoint_conn_id,
                poke_interval=self.poke_interval,
                deadline_ms=min(self._deadline_ms(), self.timeout_at_ms),
                **self.options_for_trigger(),
            ),
            method_name="execute_complete",
        )

    def _start_trigger_args(self) -> StartTriggerArgs:
        """Arguments that the scheduler hands to the triggerer, templates included. Raises ValueError for unsupported
        ones.
        """
        from airflow_provider_ckpt.waiting import is_relative

        spelled = self._spelled()
        if len(spelled) != 1 or self.deadline is not None:
            raise ValueError("start_from_trigger supports one condition (combine several with all_of) and no deadline")
        if is_relative(spelled[0]):
            raise ValueError(
                "start_from_trigger does not support a condition that refers to the time at which the wait begins, "
                "because a restarted triggerer would begin it again"
            )
        path = "airflow_provider_ckpt.triggers.checkpoint.CheckpointProgressTrigger"
        foreseen = {"source_options": self.source_options, "trigger": self.trigger}
        return self.trigger_args(path, {"condition": spelled[0], **foreseen})

    def _deadline_ms(self) -> int:
        if self.deadline is None or self.deadline == "":
            return NEVER_MS
        try:
            return parse_time_ms(self.deadline if isinstance(self.deadline, datetime) else str(self.deadline))
        except ValueError as error:
            raise AirflowFailException(f"{self.task_id}: deadline: {error}") from error

    def result_of(self, event: dict[str, Any]) -> dict[str, Any]:
        """The value that the task returns, from the event of the trigger."""
        return self._result(event)

    def _result(self, ended: Reached | dict[str, Any]) -> dict[str, Any]:
        from airflow_provider_ckpt.waiting.poll import with_offsets
        from airflow_provider_ckpt.waiting.wait import Reached, outcome

        if isinstance(ended, Reached):
            progress = ended.progress if ended.progress.offsets else with_offsets(self._store, ended.progress)
            event: dict[str, Any] = {**outcome("reached", progress, ended.condition)}
        else:
            event = ended
        self.log.info("The condition on %s is met: %s", self.shown_checkpoint, event)
        return {"format_version": FORMAT_VERSION, **{key: event[key] for key in event if key != "status"}}
