"""Reading how far a query is behind its sources: the checkpoint, and then each declared source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.offsets.kafka import offsets_of
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import (
    CheckpointError,
    CheckpointFormatError,
    MalformedEntryError,
    StoreError,
    located,
)
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.source import Source, require_asked
from airflow_provider_ckpt.query.source_options import QueryOptions, SourceOptions, parse_options
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.coming import coming_batch
from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition
from airflow_provider_ckpt.sources.lag import SourceLag, lag_not_known, lag_of_kafka, lag_of_table
from airflow_provider_ckpt.sources.open_end import Access, open_table_end


@dataclass(frozen=True, slots=True)
class LagQuestion:
    """Question about the sources of a query.

    Args:
        sources: By source id; also those of a type that has no end to be asked for, such as ``rate``.
        options: Options of the query's sources.
        ages: True to ask also for the timestamps of Kafka's records, in nine more requests for each partition with
            unread records, and for how long the topics keep them.
    """

    sources: Mapping[str, Source]
    options: QueryOptions = field(default_factory=QueryOptions)
    ages: bool = False


def read_lag(
    view: CheckpointView, question: LagQuestion, access: Access, now_ms: int, brokers: Brokers | None = None
) -> tuple[SourceLag, ...]:
    """The lag of every source of a query, in the order of the offset log.

    Args:
        view: The checkpoint, as it was observed.
        question: The question.
        access: How the sources are come by.
        now_ms: Now, epoch milliseconds.
        brokers: Of several queries, which :func:`read_ahead` has asked for all of them; None for this query alone.

    Raises:
        StoreUnavailableError: A source does not answer; another try can help.
        StoreError: A source refuses, is not what the query reads from, or is declared with an unknown type.
        CheckpointError: The query does not have a declared source.

    A source whose offset is not one of its declared type is not asked; its lag is said to be not known.
    """
    with located(view.location):
        asked = brokers or Brokers(access.kafka_config, configs=access.kafka_configs)
        return tuple(_lags(view, question, access, now_ms, asked))


def read_ahead(queries: Iterable[tuple[CheckpointView, LagQuestion]], brokers: Brokers, now_ms: int) -> None:
    """Ask the brokers for several queries together, so that :func:`read_lag` need not ask for each.

    What cannot be asked is left to it, and so are its errors.
    """
    needs = [(need, question.ages) for view, question in queries for need in _needs(view, question)]
    brokers.ask((servers, topics) for (servers, topics, _), _ in needs)
    unread = []
    for (servers, topics, position), ages in needs:
        try:
            unread += [(servers, _first_unread(position, brokers.extent(servers, topics)))] if ages else []
        except StoreError:
            continue
    brokers.ask_ages(unread, now_ms)


def _needs(view: CheckpointView, question: LagQuestion) -> Iterator[tuple[str, list[str], dict[Partition, int]]]:
    """The servers, topics and position of each Kafka source, as far as they can be read."""
    for source_id, declared in question.sources.items():
        try:
            if declared.type != "kafka":
                continue
            entry = _entry(view, view.in_flight)
            position = _offsets(view.committed_offset(source_id), source_id)
            planned = _offsets(entry.offset(source_id) if entry else None, source_id)
            yield declared.location, topics_of(declared, position, planned, declared.location), position
        except (CheckpointError, KeyError):
            continue


def _lags(
    view: CheckpointView, question: LagQuestion, access: Access, now_ms: int, brokers: Brokers
) -> Iterator[SourceLag]:
    committed, planned = _entry(view, view.latest_committed), _entry(view, view.in_flight)
    newest = planned or committed
    ids = [source_id for source_id, _ in newest.offsets] if newest and newest.offsets else list(question.sources)
    for source_id in question.sources.keys() - set(ids):
        raise CheckpointError(
            f"the query has no source {source_id!r}; its sources are {', '.join(ids)}", location=view.location
        )
    for source_id in ids:
        declared = question.sources.get(source_id)
        if declared is None or declared.type is None:
            yield SourceLag(source_id, None, notes=("it was not declared, so nobody can ask where it ends",))
            continue
        if declared.is_endless:
            note = f"a {declared.type} source has no end that can be asked for"
            yield SourceLag(source_id, declared.type, notes=(note,))
            continue
        require_asked(declared)
        at = view.committed_offset(source_id)
        ahead = planned.offset(source_id) if planned and declared.type == "kafka" else None
        if (why := _unread(declared.type, source_id, newest, at, ahead)) is not None:
            yield lag_not_known(source_id, declared.type, why)
            continue
        if declared.type == "kafka":
            options = question.options.of(source_id)
            yield _of_kafka(source_id, declared, (at, ahead), options, brokers, now_ms if question.ages else None)
        else:
            yield _of_table(source_id, declared, declared.type, at, access, now_ms)


def _of_table(
    source_id: str, declared: Source, source_type: str, at: SourceOffset | None, access: Access, now_ms: int
) -> SourceLag:
    """The lag of a table or a directory; not known where the checkpoint's own log of it is not whole."""
    try:
        unread = open_table_end(declared, source_id, access).unread_now(at)
    except CheckpointFormatError as error:
        return lag_not_known(source_id, source_type, f"{error.name}: {error.message}")
    return lag_of_table(source_id, source_type, unread, now_ms)


def _unread(source_type: str, source_id: str, newest: OffsetSeq | None, *offsets: SourceOffset | None) -> str | None:
    """Why nobody can tell from its offsets where a query is in a source; None where they are of its type."""
    if newest is not None and not newest.offsets:
        return "the newest entry of the offset log has no offsets"
    for offset in offsets:
        try:
            if offset is not None:
                offset.view(source_type)
        except MalformedEntryError as error:
            return f"source {source_id} has an offset that is {error.message}"
    return None


def _of_kafka(
    source_id: str,
    declared: Source,
    offsets: tuple[SourceOffset | None, SourceOffset | None],
    options: SourceOptions,
    brokers: Brokers,
    asked_at_ms: int | None,
) -> SourceLag:
    position, planned = (_offsets(offset, source_id) for offset in offsets)
    servers, location = declared.location, brokers.at(declared.location).location
    extent = brokers.extent(servers, topics_of(declared, position, planned, location)).only(options.assigned)
    ages: dict[Partition, int | None] = {}
    if asked_at_ms is not None:
        ages = brokers.ages(servers, _first_unread(position, extent), asked_at_ms)
    kept = None if asked_at_ms is None else brokers.retention(servers, extent.topic_ids)
    lag = lag_of_kafka(source_id, position, extent, ages, kept)
    ahead = planned if offsets[1] is not None else None
    return replace(lag, next_batch=coming_batch(position, ahead, extent, options.limits))


def topics_of(
    declared: Source, position: Mapping[Partition, int], planned: Mapping[Partition, int], location: str
) -> list[str]:
    """The topics of a source: those that were declared and those that it has read. Raises CheckpointError for none."""
    found = sorted({*declared.topics, *(topic for topic, _ in (*position, *planned))})
    if not found:
        raise CheckpointError(
            "the topics of the source are not known, because none was declared and no batch is planned",
            location=location,
            hint="Declare the topics, for example kafka:broker:9092/orders.",
        )
    return found


def _first_unread(position: Mapping[Partition, int], extent: Extent) -> dict[Partition, int]:
    first = {at: max(position.get(at, 0), extent.earliest[at]) for at in extent.latest}
    return {at: offset for at, offset in first.items() if offset < extent.latest[at]}


def _entry(view: CheckpointView, batch_id: int | None) -> OffsetSeq | None:
    return None if batch_id is None else view.offset_seq(batch_id)


def _offsets(offset: SourceOffset | None, source_id: str) -> dict[Partition, int]:
    try:
        return offsets_of(offset)
    except MalformedEntryError as error:
        raise CheckpointError(f"source {source_id} is not a Kafka source: {error.message}") from error


def question_of(deploy: DeploySpec, *, ages: bool = False) -> LagQuestion:
    """The question how far a query is behind the sources of a deploy, of which it is declared where they end.

    Args:
        deploy: The deploy.
        ages: As for :class:`LagQuestion`.
    """
    sources = {name: source for name, source in deploy.by_id.items() if source.is_asked or source.is_endless}
    return LagQuestion(sources, parse_options(deploy.source_options.items(), deploy.trigger), ages)
