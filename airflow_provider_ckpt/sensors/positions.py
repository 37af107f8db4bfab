"""The sensors of positions: a query that is near enough to the ends of its sources, or about to lose data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar

from airflow.providers.common.compat.sdk import PokeReturnValue

from airflow_provider_ckpt.hooks.checkpoint import airflow_errors
from airflow_provider_ckpt.sensors.base import CheckpointSensor
from airflow_provider_ckpt.triggers.position_polls import LagPoll, LossPoll, PositionPoll, Queries
from airflow_provider_ckpt.triggers.positions import (
    CheckpointDataLossTrigger,
    CheckpointLagTrigger,
    CheckpointPositionTrigger,
)


class CheckpointPositionSensor(CheckpointSensor):
    """Common base of both sensors: poll in the worker, in the triggerer, or there from the beginning."""

    trigger_class: ClassVar[type[CheckpointPositionTrigger]]

    needs = ("checkpoint", "sources")
    declared_as: ClassVar = {"sources": "asked_sources"}
    takes_several = True

    @abstractmethod
    def _poll_of(self, queries: Queries) -> PositionPoll:
        """The poll that is made each time."""

    @abstractmethod
    def _spelled(self) -> dict[str, Any]:
        """The arguments that the trigger has of its own, templates and all."""

    def _begin_in_triggerer(self) -> None:
        """Tell the scheduler what the trigger needs, when that is where the wait begins."""
        if self.start_from_trigger:
            path = f"{self.trigger_class.__module__}.{self.trigger_class.__qualname__}"
            self.start_trigger_args = self.trigger_args(path, self._spelled())

    def poke(self, context: Any) -> PokeReturnValue:
        """Poll once."""
        with airflow_errors():
            queries = Queries(self.checkpoint, self.sources, self.kafka_conn_id, self.hook)
            polled = self._poll_of(queries).poll()
        self.say(polled.text)
        return PokeReturnValue(polled.is_done, polled.result)

    def poll_before_deferring(self, context: Any) -> Any:
        """Poll once in the worker; returns the result if the wait is over already, else None."""
        poked = self.poke(context)
        return poked.xcom_value if poked.is_done else None

    def defer_wait(self) -> None:
        """Defer the wait to the triggerer."""
        self.defer(
            trigger=self.trigger_class(
                checkpoint=self.checkpoint,
                sources=self.sources,
                kafka_conn_id=self.kafka_conn_id,
                checkpoint_conn_id=self.checkpoint_conn_id,
                poke_interval=self.poke_interval,
                deadline_ms=self.timeout_at_ms,
                **self._spelled(),
                **self.options_for_trigger(),
            ),
            method_name="execute_complete",
        )

    def result_of(self, event: dict[str, Any]) -> Any:
        """The value that the task returns, from the event of the trigger."""
        return event["result"]


class CheckpointLagSensor(CheckpointPositionSensor):
    """Waits until a query is no further behind its sources than the limits allow, and returns its lag.

    Offsets of Kafka, versions, snapshots and files are counted, each in the unit of its source; the age is that of the
    oldest unread data. A source that cannot be counted in full, or has lost unread records, is never near enough.
    :class:`~airflow_provider_ckpt.sensors.checkpoint.CheckpointProgressSensor` can wait for a lag, too, but does not
    say how far each source is behind.

    :param checkpoint: The checkpointLocation of the query: any fsspec URL, or a path relative to the base location of
        the connection. Or a list of them: all of the queries are waited for; each broker is asked for all together.
    :param sources: Where each source reads from, by id, such as ``{"0": "kafka:host:9092"}``; every source of the
        query. A mere type such as ``rate`` is for a source that has no end. For a list, the sources that all queries
        have, or a mapping from each checkpoint of the list to its sources.
    :param most: So much may be unread of each source, in its unit.
    :param max_age: The oldest unread data may be as old as this: ``PT5M``, ``36h``, a timedelta, or seconds.
    :param source_options: Options of the query's Kafka sources, such as ``{"0.maxOffsetsPerTrigger": 1000}``: the
        log of the task then says what the next batch reads, and what a run leaves unread.
    :param trigger: The trigger of the query, such as ``availableNow``.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client that asks.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    :param deferrable: Wait in the triggerer. A lag that is small enough already never defers.
    :param start_from_trigger: Begin in the triggerer, without a worker (Airflow 3.3 and later).
    """

    does = "lag"
    has_done = "The lag is small enough of"
    template_fields: Sequence[str] = (*CheckpointSensor.template_fields, "most", "max_age", "source_options", "trigger")
    trigger_class = CheckpointLagTrigger

    def __init__(
        self,
        *,
        sources: Mapping[str, Any] | None = None,
        most: int | str | None = None,
        max_age: float | str | timedelta | None = None,
        source_options: Mapping[str, str | int | bool] | None = None,
        trigger: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(sources=sources, **kwargs)
        if most is None and max_age is None:
            raise ValueError("give most, max_age, or both")
        self.most = most
        self.max_age = max_age
        self.source_options = source_options
        self.trigger = trigger
        self._begin_in_triggerer()

    def _poll_of(self, queries: Queries) -> LagPoll:
        return LagPoll(queries, self.most, self.max_age, self.source_options, self.trigger)

    def _spelled(self) -> dict[str, Any]:
        return {
            "most": self.most,
            "max_age": _plain(self.max_age),
            "source_options": self.source_options,
            "trigger": self.trigger,
        }


class CheckpointDataLossSensor(CheckpointPositionSensor):
    """Succeeds when a query has lost what it has not read, or stops at it, or is about to lose it: for an alert.

    What a restart would lose or stop at is what the gate finds (CKPT250 and later), but without a memory of topic ids:
    that a topic was created again, and has more records than before (CKPT253), the gate alone says. Therefore
    ``unknown`` in the result holds ``topic ids``, and each source that was not declared or has no position.

    What is about to be lost is what ``retention.ms`` of a topic may delete, by the age of the first unread record, so
    the sensor is early rather than late where timestamps rise; limits in bytes (``retention.bytes``) are not foreseen.
    Of a Delta table it is the versions and data files that the query needs and the table keeps for its retention; of an
    Iceberg table the snapshot that the query is at, which an expiry may take at its age; of files in S3 what the
    lifecycle rules of the bucket delete unread.

    :param checkpoint: As for :class:`CheckpointLagSensor`; of a list one query is enough.
    :param sources: As for :class:`CheckpointLagSensor`; at least one of Kafka, a Delta or Iceberg table, or files.
    :param will_lose_data_within: Succeed this long before the first that is unread may be deleted: ``PT6H``, ``36h``, a
        timedelta, or seconds.
    :param source_options: Options of the query's sources, such as ``{"0.subscribePattern": "orders-.*"}``.
    :param trigger: The trigger of the query; with ``availableNow`` an Iceberg source needs its initial offset as well.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client that asks.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    :param deferrable: Wait in the triggerer.
    :param start_from_trigger: Begin in the triggerer, without a worker (Airflow 3.3 and later).
    """

    does = "data-loss"
    has_done = "Data is lost, or will be soon, of"
    template_fields: Sequence[str] = (
        *CheckpointSensor.template_fields,
        "will_lose_data_within",
        "source_options",
        "trigger",
    )
    trigger_class = CheckpointDataLossTrigger

    def __init__(
        self,
        *,
        sources: Mapping[str, Any] | None = None,
        will_lose_data_within: float | str | timedelta,
        source_options: Mapping[str, str | int | bool] | None = None,
        trigger: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(sources=sources, **kwargs)
        self.will_lose_data_within = will_lose_data_within
        self.source_options = source_options
        self.trigger = trigger
        self._begin_in_triggerer()

    def _poll_of(self, queries: Queries) -> LossPoll:
        return LossPoll(queries, self.will_lose_data_within, self.source_options, self.trigger)

    def _spelled(self) -> dict[str, Any]:
        return {
            "will_lose_data_within": _plain(self.will_lose_data_within),
            "source_options": None if self.source_options is None else dict(self.source_options),
            "trigger": self.trigger,
        }


def _plain(duration: float | str | timedelta | None) -> Any:
    """A duration as a trigger keeps it, in JSON: a timedelta as seconds."""
    return duration.total_seconds() if isinstance(duration, timedelta) else duration
