"""Publishing positions: the offsets of a query become those of a consumer group, from outside the job.

The query itself commits nothing to Kafka. What Burrow, KEDA and ``kafka-consumer-groups --describe`` show is then the
lag of the query, as of its newest committed batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from airflow_provider_ckpt.codec.offsets.kafka import offsets_of
from airflow_provider_ckpt.errors import CheckpointError, PlanError, StoreError
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.consumer_group import ConsumerGroup, GroupOffset
from airflow_provider_ckpt.sources.kafka.extent import Partition
from airflow_provider_ckpt.sources.kafka.publication import (
    Publication,
    conflicts,
    group_of,
    is_of_another_query,
    is_ours,
    left_in_group,
    left_warning,
    plan_publication,
    text_of,
)
from airflow_provider_ckpt.sources.position import Position
from airflow_provider_ckpt.sources.read_position import read_position
from airflow_provider_ckpt.storage.store import Store

#: What the one broker of a publication is called among those that are asked.
_SERVERS = ""


def publish_all(
    checkpoints: Sequence[Store],
    broker: KafkaBroker,
    group: str,
    *,
    source_id: str | None = None,
    topics: Iterable[str] = (),
    assigned: frozenset[Partition] | None = None,
    dry_run: bool = False,
    take_over: bool = False,
) -> list[Publication | CheckpointError]:
    """Publish the positions of several queries; what is wrong with one of them keeps no other back.

    All is read and decided before the first offset is written; the broker is asked about the topics of all queries
    together. Done again, it writes the same or later offsets.

    Args:
        checkpoints: Of the queries.
        broker: Where their topics are.
        group: The consumer group, with ``{name}``, ``{query_id}`` or ``{source_id}`` for one of each.
        source_id: The source; None where each query has one alone.
        topics: Topics of the source that a query may not have read from yet.
        assigned: The partitions that the queries read, when they do not read whole topics.
        dry_run: Write nothing.
        take_over: Write to a group that has offsets which ckpt has not published.

    Returns:
        What was published for each checkpoint, or why nothing was. A StoreUnavailableError may leave a part written.
    """
    read = [_read(checkpoint, source_id) for checkpoint in checkpoints]
    brokers = Brokers({}, {_SERVERS: broker})
    wanted = {
        at: {*topics, *(topic for topic, _ in item[1])} for at, item in enumerate(read) if isinstance(item, tuple)
    }
    brokers.ask((_SERVERS, names) for names in wanted.values())
    outcomes = [
        item if isinstance(item, CheckpointError) else _planned(item[0], group, brokers, wanted[at], assigned)
        for at, item in enumerate(read)
    ]
    found = {at: item for at, item in enumerate(outcomes) if isinstance(item, Publication)}
    places = list(found)
    refused = {places[at]: error for at, error in conflicts(list(found.values())).items()}
    for at, publication in found.items():
        outcomes[at] = refused.get(at) or _published(publication, broker, dry_run=dry_run, take_over=take_over)
    return outcomes


def publish_again_before_ms(broker: KafkaBroker, published_at_ms: int) -> int | None:
    """When the broker forgets offsets that were published at a time, epoch milliseconds; None when it does not say.

    Raises StoreUnavailableError when it does not answer.
    """
    kept_ms = ConsumerGroup.kept_ms(broker)
    return None if kept_ms is None else published_at_ms + kept_ms


def _read(checkpoint: Store, source_id: str | None) -> tuple[Position, Mapping[Partition, int]] | CheckpointError:
    try:
        position = read_position(checkpoint, source_id)
        return position, offsets_of(position.offset, position.entry)
    except CheckpointError as error:
        return error.at(checkpoint.location)


def _planned(
    position: Position, group: str, brokers: Brokers, topics: Iterable[str], assigned: frozenset[Partition] | None
) -> Publication | CheckpointError:
    try:
        extent = brokers.extent(_SERVERS, topics)
        if assigned is not None:
            extent = extent.only(assigned)
        return plan_publication(position, group_of(group, position), extent)
    except CheckpointError as error:
        return _of(position, error)


def _published(
    publication: Publication, broker: KafkaBroker, *, dry_run: bool, take_over: bool
) -> Publication | CheckpointError:
    try:
        group = ConsumerGroup(broker, publication.group)
        _require_idle(publication, group)
        committed = group.committed()
        if not take_over:
            _require_ours(publication, committed)
        if not dry_run:
            _commit(publication, group)
    except CheckpointError as error:
        return _of(publication.position, error)
    left = left_in_group(publication, {at: offset.metadata for at, offset in committed.items()})
    return (
        replace(publication, warnings=(*publication.warnings, left_warning(group.name, left))) if left else publication
    )


def _of(position: Position, error: CheckpointError) -> CheckpointError:
    """An error as that of a query; where it is the broker's, both are named."""
    if error.location not in (None, position.location):
        error.message = f"{error.location}: {error.message}"
    error.location = position.location
    return error


def _require_idle(publication: Publication, group: ConsumerGroup) -> None:
    """The broker would refuse each partition, too; this says why."""
    if members := group.members():
        raise PlanError(
            f"the consumer group {group.name} is in use: consumers in it now: {members}. They commit its offsets.",
            location=publication.position.location,
            hint="Nothing was published. Give another group, one that no consumer is in.",
        )


def _require_ours(publication: Publication, committed: Mapping[Partition, GroupOffset]) -> None:
    query_id = publication.position.query_id
    taken = {at for at in publication.offsets if at in committed}
    if shared := sorted(at for at in taken if is_of_another_query(committed[at].metadata, query_id)):
        raise PlanError(
            f"the consumer group {publication.group} has the offsets of another query, such as {text_of(shared[0])} "
            f"with the text {committed[shared[0]].metadata!r:.90}: the lags of two queries cannot be in one group.",
            location=publication.position.location,
            hint="Nothing was published. Give each query a group of its own: with {name} in its name it becomes one "
            "for each checkpoint. When this query has taken the place of the other, add --take-over (take_over=True).",
        )
    others = sorted(partition for partition, at in committed.items() if not is_ours(at.metadata))
    if others:
        raise PlanError(
            f"the consumer group {publication.group} has offsets that ckpt has not published, such as that of "
            f"partition {text_of(others[0])}: a consumer that is not running now may need them.",
            location=publication.position.location,
            hint="Nothing was published. Give another group, or --take-over (take_over=True) when nobody needs these "
            "offsets.",
        )


def _commit(publication: Publication, group: ConsumerGroup) -> None:
    refused = group.commit(publication.offsets, publication.metadata)
    if refused:
        partition, said = min(refused.items())
        raise StoreError(
            f"the broker did not take the offsets of {len(refused)} of {len(publication.offsets)} partitions for the "
            f"consumer group {group.name}; of {text_of(partition)} it said: {said}",
            location=publication.position.location,
            batch_id=publication.position.batch_id,
            hint="The others were published. Publish again when the cause is fixed: it writes all of them.",
        )
