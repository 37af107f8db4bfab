"""Asking the brokers of a query's Kafka sources what a restart would lose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks.file_sink import skips_in_flight
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.codec import layout
from airflow_provider_ckpt.codec.offset_log import OffsetSeq
from airflow_provider_ckpt.codec.offsets.kafka import Partition, offsets_of
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import CheckpointError, CheckpointFormatError, located
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.query.source_options import parse_options
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.loss import KafkaSource, Losses, losses

#: The time of a commit entry is taken for that of the commit up to so long after its batch began, milliseconds.
LONGEST_BATCH_MS = 600_000
#: What is not judged while nobody remembers the ids of the topics: whether one was created again.
TOPIC_IDS = "topic ids"


def read_losses(
    view: CheckpointView,
    sources: Mapping[str, Source],
    options: Mapping[str, str],
    known_ids: Mapping[str, str],
    brokers: Brokers,
) -> Losses:
    """Judge what a restart loses of the Kafka sources that have a broker.

    Args:
        view: The checkpoint, as it was observed.
        sources: Those of Kafka, by id.
        options: Options of the query's sources, such as ``0.failOnDataLoss``.
        known_ids: The ids that topics had before, by source id and name, such as ``0/orders``.
        brokers: Of this query, or of several: earlier answers are not asked for again.

    Raises:
        StoreUnavailableError: A broker does not answer; another try can help.
        StoreError: A broker refuses.
        CheckpointError: The offset of a source is not one of Kafka's.
    """
    with located(view.location):
        return _losses(view, sources, options, known_ids, brokers)


def _losses(
    view: CheckpointView,
    sources: Mapping[str, Source],
    options: Mapping[str, str],
    known_ids: Mapping[str, str],
    brokers: Brokers,
) -> Losses:
    committed, planned = view.readable_offset_seq(view.latest_committed), view.readable_offset_seq(view.in_flight)
    said = parse_options(options.items())
    found: list[Finding] = []
    unknown: list[str] = []
    ids: dict[str, str] = {}
    for source_id, declared in sources.items():
        (entry, position), ahead = _position(view, committed, source_id), _offsets(planned, source_id)
        extent = brokers.extent(declared.location, {*declared.topics, *_topics(position), *_topics(ahead)})
        own = said.of(source_id)
        ids |= {_key(source_id, topic): topic_id for topic, topic_id in extent.topic_ids.items()}
        if position:
            in_flight = ahead if planned is not None else None
            found += losses(
                KafkaSource(
                    source_id,
                    view.latest_committed,
                    entry,
                    position,
                    in_flight,
                    extent.only(own.assigned),
                    topics=declared.topics,
                    known_ids=_of_source(source_id, known_ids),
                    options=own,
                    checkpoint=view.location,
                    servers=declared.location,
                    skipped=skips_in_flight(view),
                )
            )
        else:
            unknown.append(data_loss_of(source_id))
    if any(not _is_older(view, sources, key, brokers) for key in sorted(ids.keys() - known_ids.keys())):
        unknown.append(TOPIC_IDS)
    return Losses(tuple(found), tuple(unknown), ids)


def _is_older(view: CheckpointView, sources: Mapping[str, Source], key: str, brokers: Brokers) -> bool:
    """True if a topic whose id is read for the first time is the one that the query has read.

    It is when each partition that was read still has a record from before the newest commit: one that was created
    again since has none, unless somebody has copied records into it with their old times. A topic of which nothing was
    read loses nothing.
    """
    source_id, _, topic = key.partition("/")
    _, position = _position(view, view.readable_offset_seq(view.latest_committed), source_id)
    read = [at for at, offset in position.items() if at[0] == topic and offset > 0]
    committed_ms = _committed_ms(view)
    if not read or committed_ms is None:
        return not read and bool(position)
    firsts = brokers.firsts(sources[source_id].location, read)
    return all(at_ms is not None and 0 <= at_ms < committed_ms for at_ms in firsts.values())


def _committed_ms(view: CheckpointView) -> int | None:
    """Time at which the newest batch was committed: by the time of the file, unless a copy has given it another one."""
    began_ms = view.planned_at_ms
    stored = view.objects.get(layout.commit_entry(view.latest_committed or 0))
    written_ms = None if stored is None else stored.modified_ms
    if began_ms is None or written_ms is None or not began_ms <= written_ms <= began_ms + LONGEST_BATCH_MS:
        return began_ms
    return written_ms


def data_loss_of(source_id: str) -> str:
    """Name of the unjudged data loss of a source that was not asked, or that has no position yet."""
    return f"data loss of source {source_id}"


def _position(view: CheckpointView, committed: OffsetSeq | None, source_id: str) -> tuple[str, dict[Partition, int]]:
    """Where a source goes on, and the file that says so; before the first commit that is where it began."""
    if view.latest_committed is not None:
        return layout.offset_entry(view.latest_committed), _offsets(committed, source_id)
    began = view.initial_offset(source_id)
    return ("", {}) if began is None else (began[0], _kafka_offsets(began[1], source_id))


def _key(source_id: str, topic: str) -> str:
    """Two sources may read topics of one name from two clusters. A slash is in no topic's name."""
    return f"{source_id}/{topic}"


def _of_source(source_id: str, ids: Mapping[str, str]) -> dict[str, str]:
    """The ids of the topics of one source, by name."""
    start = _key(source_id, "")
    return {key.removeprefix(start): topic_id for key, topic_id in ids.items() if key.startswith(start)}


def _topics(offsets: Iterable[Partition]) -> set[str]:
    return {topic for topic, _ in offsets}


def _offsets(entry: OffsetSeq | None, source_id: str) -> dict[Partition, int]:
    if entry is None or source_id not in dict(entry.offsets):
        return {}
    return _kafka_offsets(entry.offset(source_id), source_id)


def _kafka_offsets(offset: SourceOffset | None, source_id: str) -> dict[Partition, int]:
    try:
        return offsets_of(offset)
    except CheckpointFormatError as error:
        raise CheckpointError(f"source {source_id} is not a Kafka source: {error.message}") from error
