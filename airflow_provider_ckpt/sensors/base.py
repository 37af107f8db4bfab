"""Common base of the sensors: how they are asked, defer, begin in the triggerer, and end."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    BaseSensorOperator,
    conf,
)
from airflow.triggers.base import StartTriggerArgs

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import airflow_errors, failure, push_error
from airflow_provider_ckpt.hooks.query_file import configured_file
from airflow_provider_ckpt.lineage.task import CheckpointTask
from airflow_provider_ckpt.untrusted.fields import require_flag


class CheckpointSensor(CheckpointTask, BaseSensorOperator):
    """Common base of the sensors.

    :param checkpoint: The checkpointLocation of the query: any fsspec URL, or a path relative to the base location of
        the connection.
    :param sources: Where each source reads from, by id.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client that asks.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    :param query: Name of the query in the query file, in place of ``checkpoint`` and of all else that the file declares
        of it; an argument that is given wins over the file.
    :param query_file: The query file: a path or a URL, with ``conn=ID`` behind it where a connection opens it; by
        default the option ``file`` of the section ``[ckpt]``. It is read when the task runs.
    :param deferrable: Wait in the triggerer. What is reached already never defers.
    :param start_from_trigger: Begin in the triggerer, without a worker (Airflow 3.3 and later).
    """

    template_fields: Sequence[str] = (
        *("checkpoint", "sources", "checkpoint_conn_id", "kafka_conn_id", "query", "query_file"),
    )
    ui_color = "#e6f0f9"

    def __init__(
        self,
        *,
        checkpoint: str | None = None,
        sources: Mapping[str, str] | None = None,
        kafka_conn_id: str | None = None,
        checkpoint_conn_id: str | None = None,
        query: str | None = None,
        query_file: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        start_from_trigger: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with airflow_errors():  # start_from_trigger leaves no later moment
            for name, flag in {"deferrable": deferrable, "start_from_trigger": start_from_trigger}.items():
                require_flag(name, flag)
        self.checkpoint = checkpoint
        self.sources = {} if sources is None else sources
        self.kafka_conn_id = kafka_conn_id
        self.checkpoint_conn_id = checkpoint_conn_id
        self.query = query
        self.query_file = query_file
        self.deferrable = deferrable
        self.start_from_trigger = start_from_trigger
        self._said = ""
        self.require_named()
        self.link_checkpoints()

    def execute(self, context: Any) -> Any:
        """Poll once; wait in the worker, or defer, when the wait is not over yet."""
        try:
            with airflow_errors():
                self.declare()
            return self._wait(context)
        except AirflowException as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, CheckpointError):
                cause = cause.__cause__  # of a sensor that must not fail, that of its skip
            if cause is not None:
                push_error(context, cause.to_dict())
            raise

    def _wait(self, context: Any) -> Any:
        if not self.deferrable:
            try:
                found = super().execute(context)
            except AirflowSensorTimeout as error:
                raise AirflowSensorTimeout(f"{error} {self._said}") from error
            return found if found is None else self.tell(context, found)
        try:
            result = self.poll_before_deferring(context)
        except AirflowFailException as error:
            if self.soft_fail or self.never_fail:  # as Airflow takes a failed poke
                raise AirflowSkipException(f"Skipping, because the sensor must not fail: {error}") from error
            raise
        except AirflowException as error:  # the storage does not answer now; the trigger asks again
            self.log.warning("%s", error)
        else:
            if result is not None:
                return self.tell(context, result)
        return self.defer_wait()

    def say(self, text: str) -> None:
        """Log what a poll has found, which the error of a timeout repeats."""
        self._said = f"{self.shown_checkpoint}: {text}"
        self.log.info("%s", self._said)

    @abstractmethod
    def poll_before_deferring(self, context: Any) -> Any:
        """Poll once in the worker: the result when the wait is over, else None."""

    @abstractmethod
    def defer_wait(self) -> None:
        """Leave the wait to the triggerer."""

    @abstractmethod
    def result_of(self, event: dict[str, Any]) -> Any:
        """The value that the task returns after the trigger has fired with the status ``reached``."""

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        """Go on after the trigger has fired."""
        with suppress(CheckpointError):  # the wait is over, whatever the query file says by now
            self.declare()
        if event["status"] == "reached":
            return self.tell(context, self.result_of(event))
        if event["status"] == "timeout":
            found = event.get("text", event)
            raise AirflowSensorTimeout(f"the condition on {self.shown_checkpoint} was not met in time: {found}")
        error = CheckpointError(event["message"], location=event["location"], name=event["name"], hint=event["hint"])
        push_error(context, {**error.to_dict(), "code": event["code"]})
        raise failure(event["code"], error, retryable=bool(event.get("retryable")))

    def trigger_args(self, trigger_cls: str, arguments: Mapping[str, Any]) -> StartTriggerArgs:
        """Arguments that the scheduler hands to the triggerer, templates included."""
        names = ("checkpoint", "sources", "kafka_conn_id", "checkpoint_conn_id", "query", "query_file", "poke_interval")
        given = {name: getattr(self, name) for name in names}
        given["query_file"] = self.query_file or configured_file()  # which no worker reads
        return StartTriggerArgs(
            trigger_cls=trigger_cls,
            trigger_kwargs={**arguments, **given},
            next_method="execute_complete",
            timeout=timedelta(seconds=self._timeout_s),
        )

    @property
    def timeout_at_ms(self) -> int:
        """Time at which ``timeout`` ends, if it begins now; epoch milliseconds."""
        return now_ms() + int(self._timeout_s * 1000)

    @property
    def _timeout_s(self) -> float:
        return self.timeout.total_seconds() if isinstance(self.timeout, timedelta) else float(self.timeout)
