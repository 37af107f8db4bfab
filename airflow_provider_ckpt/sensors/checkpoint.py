"""The sensor: waits for committed progress of a query, without the query, Spark or a listener."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSensorTimeout,
    BaseSensorOperator,
    PokeReturnValue,
    conf,
)
from airflow.triggers.base import StartTriggerArgs

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors
from airflow_provider_ckpt.lifecycle import Wait, Watched, answer, begin, outcome, wait_from_dict
from airflow_provider_ckpt.progress import Progress
from airflow_provider_ckpt.store import Store
from airflow_provider_ckpt.times import parse_time_ms
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger
from airflow_provider_ckpt.waiting import SourceEnds, Target, all_of, means_now, says_now, target_from_dict
from airflow_provider_ckpt.waiting.pace import eta_text

#: A deadline that does not come.
NEVER_MS = 2**62


class CheckpointProgressSensor(BaseSensorOperator):
    """Waits until a query has committed a batch, passed a watermark, reached source offsets, or any other target.

    Several arguments must all be reached. A checkpoint that does not exist yet is waited for. The task fails at once
    when the checkpoint is replaced or rolled back below where the wait began. Returns the batch id, the watermark, the
    query id, and the names of the targets that were ``met``.

    :param checkpoint: The checkpointLocation of the query, relative to the connection's base or any fsspec URL.
    :param batch_id: This batch, or a later one, is committed.
    :param watermark: The newest committed batch ran with at least this watermark: a datetime, ISO 8601 or epoch
        milliseconds, such as ``"{{ data_interval_end }}"``.
    :param offsets: Offsets by source id, as objects or JSON, such as ``{"0": {"topic": {"0": 500}}}``.
    :param target: Any other :class:`~airflow_provider_ckpt.waiting.Target`, or a mapping as its ``to_dict`` writes it,
        in which text is templated: ``{"target": "caught_up", "lag_ms": "PT5M"}``.
    :param sources: Types of the sources by id, such as ``{"0": "kafka"}``, needed to compare offsets; where each reads
        from, such as ``{"0": "kafka:host:9092"}``, for targets that ask where the data ends.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client that asks.
    :param deadline: Give up at this time, a datetime, ISO 8601 or epoch milliseconds; ``timeout`` counts as well.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    :param deferrable: Wait in the triggerer. A target that is reached already never defers.
    :param fail_fast: Fail at a first look that shows that the target will not be met as things stand: a watermark for a
        query that has none, partitions that it does not read, a location that does not exist. Without it that is a
        warning in the log. With ``start_from_trigger`` nobody looks.
    :param start_from_trigger: Begin in the triggerer, without a worker (Airflow 3.3 and later). Not for targets that
        mean *now*, such as the next batch: a triggerer that is restarted would mean another time.
    """

    template_fields: Sequence[str] = (
        "checkpoint",
        "batch_id",
        "watermark",
        "offsets",
        "target",
        "sources",
        "deadline",
        "checkpoint_conn_id",
        "kafka_conn_id",
    )
    ui_color = "#e6f0f9"

    def __init__(
        self,
        *,
        checkpoint: str,
        batch_id: int | str | None = None,
        watermark: datetime | str | int | None = None,
        offsets: Mapping[str, Any] | str | None = None,
        target: Target | Mapping[str, Any] | None = None,
        sources: Mapping[str, str] | None = None,
        kafka_conn_id: str | None = None,
        deadline: datetime | str | int | None = None,
        checkpoint_conn_id: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        fail_fast: bool = False,
        start_from_trigger: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.checkpoint = checkpoint
        self.batch_id = batch_id
        self.watermark = watermark
        self.offsets = offsets
        self.target = target.to_dict() if isinstance(target, Target) else target
        self.sources = dict(sources or {})
        self.kafka_conn_id = kafka_conn_id
        self.deadline = deadline
        self.checkpoint_conn_id = checkpoint_conn_id
        self.deferrable = deferrable
        self.fail_fast = fail_fast
        self._said: set[str] = set()
        self._asked_at: int | None = -1
        self.start_from_trigger = start_from_trigger
        self._begun: Wait | None = None
        if start_from_trigger:
            self.start_trigger_args = self._start_trigger_args()

    @cached_property
    def hook(self) -> CheckpointHook:
        """The hook."""
        return CheckpointHook(self.checkpoint_conn_id)

    # --- what to wait for --------------------------------------------------------------------------------------

    def wanted(self) -> Target:
        """What to wait for, from the rendered arguments. Raises AirflowFailException when they make no sense."""
        try:
            targets = [target_from_dict(spelled) for spelled in self._spelled()]
            return all_of(*targets)
        except CheckpointError as error:
            raise AirflowFailException(f"{self.task_id}: {error}") from error

    def _spelled(self) -> list[Mapping[str, Any]]:
        """The arguments as mappings, templates and all."""
        spelled: list[Mapping[str, Any]] = []
        if self.batch_id is not None:
            spelled.append({"target": "batch", "batch_id": self.batch_id})
        if self.watermark is not None:
            passed = self.watermark
            if isinstance(passed, datetime) and passed.tzinfo:  # one without a zone is refused later
                passed = passed.isoformat()
            spelled.append({"target": "watermark", "watermark_ms": passed})
        if self.offsets is not None:
            kinds = {source: declared.partition(":")[0] for source, declared in self.sources.items()}
            spelled.append({"target": "offsets", "offsets": self.offsets, "kinds": kinds})
        if self.target is not None:
            spelled.append(self.target)
        return spelled

    # --- looking -----------------------------------------------------------------------------------------------

    @cached_property
    def _store(self) -> Store:
        return self.hook.store(self.checkpoint)

    @cached_property
    def _watched(self) -> Watched:
        return Watched(self._store.location)

    def poke(self, context: Any) -> Any:
        """Look once."""
        event = self._look(context)
        if event is None and time.time() * 1000 >= self._deadline_ms():
            raise AirflowSensorTimeout(f"{self.checkpoint} has not reached its target by {self.deadline}")
        return PokeReturnValue(True, self._result(event)) if event else False

    def _look(self, context: Any) -> dict[str, Any] | None:
        """One look: how the wait ended, or None. Begins the wait when it has not begun."""
        with airflow_errors():
            target = self.wanted()
            progress = answer(self._watched.look(target.needs), self._store)
            wait = self._recall(context, target) or self._begin(context, target, progress)
            standing = wait.standing(progress)
            reached = standing.reached(progress)
            if not reached and progress.batch_id != self._asked_at:
                self._warn(wait.doubts(standing, progress, self._store, fail_fast=self.fail_fast))
                self._asked_at = progress.batch_id
            left = "" if reached else eta_text(standing, progress, self._watched.earlier)
        self.log.info("%s: %s%s", self.checkpoint, standing.explain(progress), left)
        return outcome("reached", progress, standing) if reached else None

    def _warn(self, doubts: Sequence[str]) -> None:
        for doubt in doubts:
            if doubt not in self._said:
                self.log.warning("%s", doubt)
                self._said.add(doubt)

    def _begin(self, context: Any, target: Target, progress: Progress) -> Wait:
        memory = self._memory(context)
        if self.reschedule and memory is None and means_now(target):
            raise AirflowFailException(
                f"{self.task_id}: a target that means now has to be remembered from look to look, which Airflow does "
                "in reschedule mode from 3.3 on; use deferrable=True or mode='poke'"
            )
        self._begun = begin(
            self._store.location, target, progress, at_ms=progress.looked_at_ms, ends=self._ends(target)
        )
        if memory is not None:
            memory.set(self._memory_key(context), self._begun.to_dict())
        return self._begun

    def _recall(self, context: Any, target: Target) -> Wait | None:
        """The wait that this task has begun: in this process or, in reschedule mode, in an earlier one."""
        memory = self._memory(context)
        if self._begun is None and memory is not None and (kept := memory.get(self._memory_key(context))):
            self._begun = wait_from_dict(kept, self._ends(target_from_dict(kept["target"])))
        return self._begun

    def _memory(self, context: Any) -> Any:
        """Where a task in reschedule mode remembers: Airflow's state store of the task, from 3.3 on, else None."""
        return (context or {}).get("task_state_store") if self.reschedule else None

    @staticmethod
    def _memory_key(context: Any) -> str:
        return f"wait-{context['ti'].try_number}"

    def _ends(self, target: Target) -> SourceEnds | None:
        """Where the sources end, for a target that asks and sources that say where they are."""
        if not (target.asks_ends or target.asks_ends_again):
            return None
        return self.hook.source_ends(self.checkpoint, self.sources, self.kafka_conn_id)

    # --- deferring ---------------------------------------------------------------------------------------------

    def execute(self, context: Any) -> Any:
        """Look once; wait in the worker, or defer, when the target is not reached yet."""
        if not self.deferrable:
            return super().execute(context)
        try:
            event = self._look(context)
        except AirflowFailException:
            raise
        except AirflowException as error:  # the storage does not answer now; the trigger asks again
            self.log.warning("%s", error)
            event = None
        if event is None:
            self._defer()
        return self._result(event or {})

    def _defer(self) -> None:
        target = self._begun.target if self._begun else self.wanted().begun(int(time.time() * 1000))
        self.defer(
            trigger=CheckpointProgressTrigger(
                checkpoint=self.checkpoint,
                target=target.to_dict(),
                start=self._begun.start.to_dict() if self._begun else None,
                sources=self.sources or None,
                kafka_conn_id=self.kafka_conn_id,
                checkpoint_conn_id=self.checkpoint_conn_id,
                poke_interval=self.poke_interval,
                deadline_ms=min(self._deadline_ms(), int((time.time() + self._timeout_s()) * 1000)),
            ),
            method_name="execute_complete",
        )

    def _start_trigger_args(self) -> StartTriggerArgs:
        """What the scheduler hands to the triggerer, templates and all; raises ValueError for what that cannot do."""
        spelled = self._spelled()
        if len(spelled) != 1 or self.deadline is not None:
            raise ValueError("start_from_trigger takes one target (combine several with all_of) and no deadline")
        if says_now(spelled[0]):
            raise ValueError(
                "start_from_trigger takes no target that means now: a restarted triggerer would mean another time"
            )
        names = ("checkpoint", "sources", "kafka_conn_id", "checkpoint_conn_id", "poke_interval")
        return StartTriggerArgs(
            trigger_cls="airflow_provider_ckpt.triggers.checkpoint.CheckpointProgressTrigger",
            trigger_kwargs={"target": spelled[0], **{name: getattr(self, name) for name in names}},
            next_method="execute_complete",
            timeout=timedelta(seconds=self._timeout_s()),
        )

    def _timeout_s(self) -> float:
        return self.timeout.total_seconds() if isinstance(self.timeout, timedelta) else float(self.timeout)

    def _deadline_ms(self) -> int:
        if self.deadline is None or self.deadline == "":
            return NEVER_MS
        try:
            return parse_time_ms(self.deadline if isinstance(self.deadline, datetime) else str(self.deadline))
        except ValueError as error:
            raise AirflowFailException(f"{self.task_id}: deadline: {error}") from error

    def execute_complete(self, context: Any, event: dict[str, Any]) -> dict[str, Any]:
        """Go on after the trigger has fired."""
        if event["status"] == "reached":
            return self._result(event)
        if event["status"] == "timeout":
            raise AirflowSensorTimeout(f"{self.checkpoint} has not reached its target in time: {event}")
        kind = AirflowException if event.get("retryable") else AirflowFailException
        error = CheckpointError(event["message"], location=event["location"], name=event["name"], hint=event["hint"])
        raise kind(f"{event['code']}: {error}")

    def _result(self, event: dict[str, Any]) -> dict[str, Any]:
        self.log.info("%s has reached its target: %s", self.checkpoint, event)
        return {key: value for key, value in event.items() if key != "status"}
