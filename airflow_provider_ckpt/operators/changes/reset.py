"""The operator that moves the positions of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.operators.base import texts_of
from airflow_provider_ckpt.operators.changes.asked import (
    read_source,
)
from airflow_provider_ckpt.operators.changes.in_place import CheckpointFencingOperator

if TYPE_CHECKING:
    from airflow_provider_ckpt.change.make_plan import Planner


class CheckpointResetOffsetsOperator(CheckpointFencingOperator):
    """Moves the positions of a source, in place, as ``kafka-consumer-groups --reset-offsets`` moves those of a group.

    Where to is exactly one of the ``to_`` and ``skip_`` parameters, ``by_duration``, ``shift_by`` and ``from_csv``, or
    all of it is in ``plan``. A batch in flight is dropped first. What is replaced and removed is kept for
    ``ckpt undo``.

    :param source: The source by its id and what it reads from, such as ``0=kafka:host:9092`` or ``0=delta:URI``;
        with ``kafka_conn_id`` also ``0=kafka``.
    :param to_earliest: To the first offset that each partition still has.
    :param to_latest: To the end of each partition.
    :param to_current: Stay; only drop a batch in flight, and bring positions into what the topics hold.
    :param to_datetime: To the first records that are not older than this time (ISO 8601, or epoch milliseconds).
    :param by_duration: The same, of a time so long ago: ``36h``, a timedelta, or seconds.
    :param shift_by: So many offsets on; a negative number goes back.
    :param to_offsets: One offset, or offsets by topic and partition as in ``startingOffsets``; JSON when it is text.
    :param to_version: Delta: to the end of this version; the next batch starts with the one after it.
    :param to_snapshot: Iceberg: the same for a snapshot, by its id.
    :param skip_version: Delta: skip exactly this version, which the next batch would start with.
    :param skip_snapshot: Iceberg: the same for a snapshot, by its id.
    :param from_csv: Lines ``topic,partition,offset``, as ``--export`` writes them.
    :param topics: To move: a topic, or some of its partitions as ``orders:0,1``; one text or a list. By default
        all that the offset log has.
    :param kafka_conn_id: Connection of type ``kafka``, whose extra configures the client.
    :param trigger: The trigger of the query as the query file says it; with ``realTime`` the logs do not show every
        batch that the sink has rows of.
    :param state_will_see_rows_again: True states that the state of the query may count again what is read again.
    """

    does = "reset-offsets"
    has_done = "The offsets were reset of"

    @classmethod
    def request(cls) -> type[Planner]:
        """What it asks for."""
        from airflow_provider_ckpt.changes.reset.make import ResetRequest

        return ResetRequest

    def __init__(
        self,
        *,
        source: str | None = None,
        to_earliest: bool | str = False,
        to_latest: bool | str = False,
        to_current: bool | str = False,
        to_datetime: int | str | None = None,
        by_duration: float | str | timedelta | None = None,
        shift_by: int | str | None = None,
        to_offsets: int | str | Mapping[str, Any] | None = None,
        to_version: int | str | None = None,
        to_snapshot: int | str | None = None,
        skip_version: int | str | None = None,
        skip_snapshot: int | str | None = None,
        from_csv: str | None = None,
        topics: str | Sequence[str] | None = None,
        kafka_conn_id: str | None = None,
        trigger: str | None = None,
        state_will_see_rows_again: bool | str = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.to_earliest = to_earliest
        self.to_latest = to_latest
        self.to_current = to_current
        self.to_datetime = to_datetime
        self.by_duration = by_duration
        self.shift_by = shift_by
        self.to_offsets = to_offsets
        self.to_version = to_version
        self.to_snapshot = to_snapshot
        self.skip_version = skip_version
        self.skip_snapshot = skip_snapshot
        self.from_csv = from_csv
        self.topics = topics
        self.kafka_conn_id = kafka_conn_id
        self.trigger = trigger
        self.state_will_see_rows_again = state_will_see_rows_again

    def lineage_sources(self) -> Any:
        """The sources of the query, for its lineage."""
        from airflow_provider_ckpt.sources.kafka.strategies import parse_scope

        try:
            source = read_source("source", self.source)
            topics = ",".join(parse_scope(texts_of("topics", self.topics)).topics or source.topics)
        except (CheckpointError, ValueError):  # the task itself says what is wrong
            return None
        return {source.id or "": f"{source.type}:{source.location}{f'/{topics}' if source.type == 'kafka' else ''}"}

    def wanted(self) -> Any:
        """The request, with where it goes to. Raises CheckpointError."""
        access = self.hook.access(self.checkpoint, self.kafka_conn_id)
        return replace(super().wanted().aimed(access), asks_anew=self.asks_anew)
