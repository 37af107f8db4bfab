"""Asking all sources of a query what a restart loses or stops at: what the gate, a fleet and a sensor of losses say."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec.source_kinds import KINDS
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sources.judge_tables import fitting, judge_tables
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.loss import Losses
from airflow_provider_ckpt.sources.kafka.read_losses import data_loss_of, read_losses
from airflow_provider_ckpt.sources.open_end import Access

_KAFKA = "kafka"
#: The settings of a client that say where the brokers are, when a declaration does not.
_SERVERS = ("bootstrap.servers", "kafka.bootstrap.servers")


def judge_sources(
    view: CheckpointView,
    sources: Mapping[str, Source],
    options: Mapping[str, str],
    access: Access,
    brokers: Brokers,
    now_ms: int,
    *,
    trigger: str | None = None,
    known_ids: Mapping[str, str] | None = None,
) -> Losses:
    """Judge what a restart loses of the sources of a query, or stops at; sources that were not asked are named.

    Args:
        view: The observed checkpoint.
        sources: By id, with what they read from or their type alone; a source of the checkpoint that is not named here
            is not declared.
        options: Options of the query's sources, such as ``0.failOnDataLoss``.
        access: Access to the sources.
        brokers: Of this query, or of several: earlier answers are not asked for again.
        now_ms: Now, epoch milliseconds.
        trigger: As ``DataStreamWriter.trigger`` calls it; None is unknown.
        known_ids: The ids that topics had before, by source id and name, such as ``0/orders``.

    Raises:
        ValueError: An option is not known.
        CheckpointError: As :func:`~airflow_provider_ckpt.sources.kafka.read_losses.read_losses` and
            :func:`~airflow_provider_ckpt.sources.judge_tables.judge_tables`.
    """
    topics = fitting(view, {name: source for name, source in sources.items() if is_asked(source, access)})
    tables = {name: source for name, source in sources.items() if source.is_stored}
    lost = read_losses(view, topics, options, known_ids or {}, brokers)
    found = judge_tables(view, tables, options, access, now_ms, trigger)
    unasked = [name for name in can_lose(view, sources) if name not in topics and name not in tables]
    return Losses(
        (*lost.findings, *found.findings),
        tuple(dict.fromkeys((*lost.unknown, *found.unknown, *map(data_loss_of, unasked)))),
        lost.topic_ids,
        found.expires_ms,
    )


def can_lose(view: CheckpointView, sources: Mapping[str, Source]) -> tuple[str, ...]:
    """The sources with a position of which a restart may lose data: of a type that is judged, or of an unknown one.

    Args:
        view: The observed checkpoint.
        sources: As for :func:`judge_sources`.
    """
    newest = view.readable_offset_seq(view.latest_planned)
    recorded = [name for name, _ in newest.offsets] if newest else []
    types = {name: source.type for name, source in sources.items()}
    ids = (*sources, *(name for name in recorded if name not in sources))
    may_lose = (None, _KAFKA, *KINDS.answering("judge"))
    has_begun = view.latest_planned is not None
    return tuple(
        name for name in ids if types.get(name) in may_lose and (has_begun or view.initial_offset(name) is not None)
    )


def is_asked(source: Source, access: Access) -> bool:
    """True if a source is a Kafka source, and its brokers are known."""
    return source.type == _KAFKA and (bool(source.place) or any(access.kafka_config.get(key) for key in _SERVERS))
