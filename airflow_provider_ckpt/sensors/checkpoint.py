"""The sensor: waits for committed progress of a query, without the query, Spark or a listener."""

from __future__ import annotations

import json
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

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors
from airflow_provider_ckpt.lifecycle import read_progress
from airflow_provider_ckpt.progress import (
    AllOf,
    BatchCommitted,
    OffsetsReached,
    Target,
    WatermarkPassed,
    parse_time_ms,
)
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger, event_of


class CheckpointProgressSensor(BaseSensorOperator):
    """Waits until a query has committed a batch, passed a watermark, or reached source offsets.

    Several targets must all be reached. A checkpoint that does not exist yet is waited for. All of ``checkpoint``,
    ``batch_id``, ``watermark`` and ``offsets`` are templated. Returns the batch id and the watermark.

    :param checkpoint: The checkpointLocation of the query, relative to the connection's base or any fsspec URL.
    :param batch_id: This batch, or a later one, is committed.
    :param watermark: The newest committed batch ran with at least this watermark: a datetime, ISO 8601 or epoch
        milliseconds, such as ``"{{ data_interval_end }}"``.
    :param offsets: Offsets by source id, as objects or JSON, such as ``{"0": {"topic": {"0": 500}}}``.
    :param sources: Types of the sources by id, such as ``{"0": "kafka"}``; needed to compare offsets.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    :param deferrable: Wait in the triggerer. A target that is reached already never defers.
    """

    template_fields: Sequence[str] = ("checkpoint", "batch_id", "watermark", "offsets", "checkpoint_conn_id")
    ui_color = "#e6f0f9"

    def __init__(
        self,
        *,
        checkpoint: str,
        batch_id: int | str | None = None,
        watermark: datetime | str | int | None = None,
        offsets: Mapping[str, Any] | str | None = None,
        sources: Mapping[str, str] | None = None,
        checkpoint_conn_id: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.checkpoint = checkpoint
        self.batch_id = batch_id
        self.watermark = watermark
        self.offsets = offsets
        self.sources = dict(sources or {})
        self.checkpoint_conn_id = checkpoint_conn_id
        self.deferrable = deferrable

    @cached_property
    def hook(self) -> CheckpointHook:
        """The hook."""
        return CheckpointHook(self.checkpoint_conn_id)

    def target(self) -> Target:
        """What to wait for, from the rendered arguments. Raises AirflowFailException when they say nothing."""
        targets: list[Target] = []
        try:
            if self.batch_id is not None:
                targets.append(BatchCommitted(int(self.batch_id)))
            if self.watermark is not None:
                targets.append(WatermarkPassed(_time_ms(self.watermark)))
            if self.offsets is not None:
                targets.append(OffsetsReached(_offsets(self.offsets), self.sources))
        except (ValueError, AttributeError) as error:
            raise AirflowFailException(f"{self.task_id}: {error}") from error
        if not targets:
            raise AirflowFailException(f"{self.task_id} waits for nothing: give batch_id, watermark or offsets")
        return targets[0] if len(targets) == 1 else AllOf(tuple(targets))

    def poke(self, context: Any) -> Any:
        """Look once."""
        event = self._look()
        return PokeReturnValue(True, self._result(event)) if event else False

    def _look(self) -> dict[str, Any] | None:
        target = self.target()
        with airflow_errors():
            progress = read_progress(self.hook.store(self.checkpoint), with_offsets=target.needs_offsets)
            reached = target.reached(progress)
        self.log.info("%s: %s", self.checkpoint, target.explain(progress))
        return event_of(progress) if reached else None

    def execute(self, context: Any) -> Any:
        """Look once; wait in the worker, or defer, when the target is not reached yet."""
        if not self.deferrable:
            return super().execute(context)
        try:
            event = self._look()
        except AirflowFailException:
            raise
        except AirflowException as error:  # the storage does not answer now; the trigger asks again
            self.log.warning("%s", error)
            event = None
        if event is None:
            self._defer()
        return self._result(event or {})

    def _defer(self) -> None:
        timeout_s = self.timeout.total_seconds() if isinstance(self.timeout, timedelta) else float(self.timeout)
        self.defer(
            trigger=CheckpointProgressTrigger(
                checkpoint=self.checkpoint,
                target=self.target().to_dict(),
                checkpoint_conn_id=self.checkpoint_conn_id,
                poke_interval=self.poke_interval,
                deadline_ms=int((time.time() + timeout_s) * 1000),
            ),
            method_name="execute_complete",
        )

    def execute_complete(self, context: Any, event: dict[str, Any]) -> dict[str, Any]:
        """Go on after the trigger has fired."""
        if event["status"] == "reached":
            return self._result(event)
        if event["status"] == "timeout":
            raise AirflowSensorTimeout(f"{self.checkpoint} has not reached its target in {self.timeout} s: {event}")
        kind = AirflowException if event.get("retryable") else AirflowFailException
        error = CheckpointError(event["message"], location=event["location"], name=event["name"], hint=event["hint"])
        raise kind(f"{event['code']}: {error}")

    def _result(self, event: dict[str, Any]) -> dict[str, Any]:
        self.log.info("%s has reached its target: %s", self.checkpoint, event)
        return {key: event[key] for key in ("batch_id", "watermark_ms")}


def _time_ms(value: datetime | str | int) -> int:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"watermark {value} has no time zone")
        return int(value.timestamp() * 1000)
    return parse_time_ms(str(value))


def _offsets(value: Mapping[str, Any] | str) -> dict[str, str]:
    parsed = json.loads(value) if isinstance(value, str) else value
    return {
        str(source_id): offset if isinstance(offset, str) else json.dumps(offset, separators=(",", ":"))
        for source_id, offset in parsed.items()
    }
