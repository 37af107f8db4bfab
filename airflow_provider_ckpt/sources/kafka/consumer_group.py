"""A consumer group of a Kafka broker: who is in it, and which offsets it has; the one place that writes to a broker."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from airflow_provider_ckpt.codec.offsets.kafka import Partition
from airflow_provider_ckpt.sources.kafka.ask import AT_A_TIME, KafkaBroker, batched, is_one_of
from airflow_provider_ckpt.sources.kafka.connect import complaint_of

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
