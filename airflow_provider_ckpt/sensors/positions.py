"""The sensors of positions: a query that is near enough to the ends of its sources, or about to lose data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseSensorOperator, PokeReturnValue

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.documents import FORMAT_VERSION
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors
from airflow_provider_ckpt.positions.foresee_losses import foresee_losses
from airflow_provider_ckpt.positions.lag import SourceLag
from airflow_provider_ckpt.positions.read_lag import LagQuestion, read_lag
from airflow_provider_ckpt.positions.source_options import option_texts
from airflow_provider_ckpt.sources.declared import Access
from airflow_provider_ckpt.times import duration_text, parse_duration_ms

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents.tasks import LagResultDocument, LossResultDocument


class _PositionSensor(BaseSensorOperator):
    """What both sensors need: the checkpoint, and its sources."""

    template_fields: Sequence[str] = ("checkpoint", "sources", "checkpoint_conn_id", "kafka_conn_id")
    ui_color = "#e6f0f9"

    checkpoint: str
    sources: Mapping[str, str]
    checkpoint_conn_id: str | None
    kafka_conn_id: str | None

    @cached_property
    def hook(self) -> CheckpointHook:
        """The hook."""
        return CheckpointHook(self.checkpoint_conn_id)

    def _view(self) -> CheckpointView:
        return observe(self.hook.store(self.checkpoint))

    def _access(self) -> Access:
        return self.hook.access(self.checkpoint, self.kafka_conn_id)


class CheckpointLagSensor(_PositionSensor):
    """Waits until a query is behind its sources by no more than it may be, and returns how far it is.

    Offsets of Kafka, versions, snapshots and files are counted, each in the unit of its source; the age is that of the
    oldest unread data. A condition of
    :class:`~airflow_provider_ckpt.sensors.checkpoint.CheckpointProgressSensor` can wait for a lag, too, and in the
    triggerer; this sensor says how far each source is behind.

    :param checkpoint: The checkpointLocation of the query: any fsspec URL, or a path relative to the base location of
        the connection.
    :param sources: Where each source reads from, by id, such as ``{"0": "kafka:host:9092"}``; every source of the
        query. A mere type such as ``rate`` is for a source that has no end.
    :param most: So much may be unread of each source, in its unit.
    :param max_age: The oldest unread data may be as old as this, such as ``PT5M``.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client that asks.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    """

    template_fields: Sequence[str] = (*_PositionSensor.template_fields, "most", "max_age")

    def __init__(
        self,
        *,
        checkpoint: str,
        sources: Mapping[str, str],
        most: int | str | None = None,
        max_age: str | None = None,
        kafka_conn_id: str | None = None,
        checkpoint_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if most is None and max_age is None:
            raise ValueError("give most, max_age, or both")
        self.checkpoint = checkpoint
        self.sources = sources
        self.most = most
        self.max_age = max_age
        self.kafka_conn_id = kafka_conn_id
        self.checkpoint_conn_id = checkpoint_conn_id

    def poke(self, context: Any) -> PokeReturnValue:
        """Ask every source once."""
        with airflow_errors():
            most, max_age_ms = self._limits()
            view = self._view()
            question = LagQuestion(self.sources, ages=max_age_ms is not None)
            found = read_lag(view, question, self._access(), now_ms())
            unknown = [source for source in found if source.source_type is None]
            if unknown:
                raise CheckpointError(
                    f"source {unknown[0].source_id} was not declared, so nobody can be asked where it ends",
                    location=view.location,
                    hint="Declare every source, one without an end by its type alone, such as rate.",
                )
        for source in found:
            self.log.info("%s: source %s is behind by %s", view.location, source.source_id, _text(source))
        result: LagResultDocument = {"format_version": FORMAT_VERSION, "sources": [item.to_dict() for item in found]}
        return PokeReturnValue(all(source.is_within(most, max_age_ms) for source in found), result)

    def _limits(self) -> tuple[int | None, int | None]:
        try:
            most = None if self.most is None else int(self.most)
            return most, None if self.max_age is None else parse_duration_ms(self.max_age)
        except ValueError as error:
            raise CheckpointError(f"most and max_age of {self.task_id}: {error}") from error


class CheckpointDataLossSensor(_PositionSensor):
    """Succeeds when a query has lost unread records of Kafka, or is about to: for an alert, or to start the query.

    What a restart would lose or stop at is what the gate finds (CKPT250 to CKPT254). What is about to be lost is what
    ``retention.ms`` of a topic may delete: the age of the first unread record is asked for, so the sensor is early
    rather than late where timestamps rise. Limits in bytes (``retention.bytes``) are not foreseen.

    :param checkpoint: As for :class:`CheckpointLagSensor`.
    :param sources: As for :class:`CheckpointLagSensor`; at least one of Kafka.
    :param will_lose_data_within: Succeed this long before the first unread record may be deleted, such as ``PT6H``.
    :param source_options: What the query sets for its sources, such as ``{"0.subscribePattern": "orders-.*"}``.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client that asks.
    :param checkpoint_conn_id: Connection of type ``checkpoint``.
    """

    template_fields: Sequence[str] = (*_PositionSensor.template_fields, "will_lose_data_within", "source_options")

    def __init__(
        self,
        *,
        checkpoint: str,
        sources: Mapping[str, str],
        will_lose_data_within: str,
        source_options: Mapping[str, str | int | bool] | None = None,
        kafka_conn_id: str | None = None,
        checkpoint_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.checkpoint = checkpoint
        self.sources = sources
        self.will_lose_data_within = will_lose_data_within
        self.source_options = source_options
        self.kafka_conn_id = kafka_conn_id
        self.checkpoint_conn_id = checkpoint_conn_id

    def poke(self, context: Any) -> PokeReturnValue:
        """Ask every broker once."""
        with airflow_errors():
            try:
                within_ms = parse_duration_ms(self.will_lose_data_within)
            except ValueError as error:
                raise CheckpointError(f"will_lose_data_within of {self.task_id}: {error}") from error
            try:
                options = option_texts(self.source_options or {})
            except ValueError as error:
                raise CheckpointError(f"source_options of {self.task_id}: {error}") from error
            question = LagQuestion(self.sources)
            foreseen = foresee_losses(self._view(), question, options, self._access(), now_ms())
        for finding in foreseen.findings:
            self.log.warning("%s: %s", self.checkpoint, finding.message)
        if foreseen.expires_ms is not None:
            self.log.info(
                "%s: the first unread record may be deleted in %s",
                self.checkpoint,
                duration_text(foreseen.expires_ms),
            )
        result: LossResultDocument = {
            "format_version": FORMAT_VERSION,
            "findings": [finding.to_dict() for finding in foreseen.findings],
            "expires_ms": foreseen.expires_ms,
        }
        return PokeReturnValue(foreseen.is_within(within_ms), result)


def _text(source: SourceLag) -> str:
    if source.total is None:
        return "; ".join(source.notes) or "a number that is not known"
    age = "" if source.age_ms is None else f", {duration_text(source.age_ms)}"
    return f"{source.total} {source.unit}{age}"
