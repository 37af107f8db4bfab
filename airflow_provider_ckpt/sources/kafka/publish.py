"""Publishing positions: the offsets of a query become those of a consumer group, from outside the job.

The query itself commits nothing to Kafka. What Burrow, KEDA and ``kafka-consumer-groups --describe`` show is then the
lag of the query, as of its newest committed batch.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from airflow_provider_ckpt.codec.offsets.kafka import Partition, offsets_of
from airflow_provider_ckpt.errors import CheckpointError, PlanError, StoreError
from airflow_provider_ckpt.sources.kafka.ask import AT_A_TIME, KafkaBroker, batched, is_one_of
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.connect import complaint_of
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
        checkpoints: Checkpoints of the queries.
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


_RETENTION = "offsets.retention.minutes"
_ABSENT = ("GROUP_ID_NOT_FOUND",)
#: The client does not try these again by itself; they are seen when the first group of a broker is made.
_MOVING = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
#: Between two tries, seconds.
_PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """Committed offset of a group in one partition: the next one that it will read, and a text beside it."""

    offset: int
    metadata: str


class ConsumerGroup:
    """A consumer group by its name; it need not exist.

    Every method raises StoreUnavailableError when the broker does not answer, and StoreError when it refuses.
    """

    def __init__(self, broker: KafkaBroker, name: str) -> None:
        self.name = name
        self._broker = broker
        self._about = f"consumer group {name}"

    def members(self) -> int:
        """How many consumers are in the group now."""
        found = self._ask("describe_consumer_groups", self.name)
        return 0 if found is None else len(found.members)

    def committed(self) -> dict[Partition, GroupOffset]:
        """Committed offsets of the group; without the partitions of which it has none."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        found = self._ask("list_consumer_group_offsets", ConsumerGroupTopicPartitions(self.name))
        partitions = found.topic_partitions if found is not None else ()
        if unknown := [at for at in partitions if at.error is not None]:
            raise self._broker.error(
                f"{self._about}, partition {unknown[0].topic}-{unknown[0].partition}", [complaint_of(unknown[0].error)]
            )
        return {
            (at.topic, at.partition): GroupOffset(at.offset, at.metadata or "") for at in partitions if at.offset >= 0
        }

    def commit(self, offsets: Mapping[Partition, int], metadata: str) -> dict[Partition, str]:
        """Commit offsets from outside the group, which makes it when there is none.

        Args:
            offsets: Of each partition, not negative. The broker does not compare them with what a partition holds.
            metadata: A text that is kept beside each.

        Returns:
            What the broker said of the partitions that it did not commit; it answers for each one.
        """
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

        refused: dict[Partition, str] = {}
        for some in batched(sorted(offsets), AT_A_TIME):
            wanted = [TopicPartition(*partition, offsets[partition], metadata) for partition in some]
            change = ConsumerGroupTopicPartitions(self.name, wanted)
            for at in self._ask("alter_consumer_group_offsets", change).topic_partitions:
                if at.error is not None:
                    refused[at.topic, at.partition] = complaint_of(at.error).text
        return refused

    @staticmethod
    def kept_ms(broker: KafkaBroker) -> int | None:
        """How long a broker keeps the offsets of a group without members (``offsets.retention.minutes``), milliseconds.

        None when it does not say: the operation DescribeConfigs on the cluster is needed. Of several brokers the least
        number counts, because any of them may come to keep the group.
        """
        from confluent_kafka.admin import ConfigResource, ResourceType

        within_s = broker.timeout_s
        cluster, errors = broker.ask(lambda client: {"": client.describe_cluster(request_timeout=within_s)})[""]
        if errors:
            return None
        resources = [ConfigResource(ResourceType.BROKER, str(node.id)) for node in cluster.nodes]
        answers = broker.ask(lambda client: client.describe_configs(resources, request_timeout=within_s))
        if not answers or any(errors for _, errors in answers.values()):
            return None
        return min(int(configs[_RETENTION].value) for configs, _ in answers.values()) * 60_000

    def _ask(self, call: str, about: Any) -> Any:
        """Return the broker's answer to a call of the client; None when it has no such group."""
        deadline = time.monotonic() + self._broker.timeout_s
        while True:
            left_s = max(_PAUSE_S, deadline - time.monotonic())
            answers = self._broker.ask(partial(_called, call, about, left_s), left_s)
            answer, errors = answers[self.name]
            if not errors or is_one_of(errors, _ABSENT):
                return answer
            if time.monotonic() >= deadline or not is_one_of(errors, _MOVING):
                raise self._broker.error(self._about, errors)
            time.sleep(_PAUSE_S)


def _called(call: str, about: Any, timeout_s: float, client: Any) -> Mapping[str, Future[Any]]:
    asked: Mapping[str, Future[Any]] = getattr(client, call)([about], request_timeout=timeout_s)
    return asked
