"""Kafka: the end offsets of partitions, as the broker knows them.

The end of a partition counts what Spark counts: control records of transactions, too, and records that compaction has
removed. With ``isolation.level=read_committed`` it is the last stable offset, as for a source with that option; a
transaction that is open keeps it back, and what the transaction holds is written when it is committed.

At a time, the end is the first record whose timestamp is later, or the end of the partition. That is what was
written until then as far as the timestamps rise within the partition: always with
``message.timestamp.type=LogAppendTime``, and with ``CreateTime`` as far as producers are in order and their clocks are
right. The end of now does not go by timestamps.

Late or never: a partition or a topic that was declared and that the query does not read.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, Any

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import MalformedEntryError, StoreError, StoreUnavailableError
from airflow_provider_ckpt.storage.secrets import scrub
from airflow_provider_ckpt.waiting import Condition, OffsetsReached

if TYPE_CHECKING:
    from airflow_provider_ckpt.sources.declared import Access, DeclaredEnd

#: Of so many partitions one call asks at most: one for 10,000 takes several times as long as ten for 1,000.
AT_A_TIME = 1_000
#: How long one question to the broker may take, seconds.
TIMEOUT_S = 15.0
_PREFIX = "kafka."
_SERVERS, _ISOLATION = "bootstrap.servers", "isolation.level"
#: Of consumers alone: an admin client would complain.
_OF_CONSUMERS = frozenset({_ISOLATION, "group.id", "auto.offset.reset", "enable.auto.commit"})
_SECRET = re.compile(r"(?i)password|secret|jaas|token|oauthbearer\.config|\.key\b")
_REFUSALS = (
    "_AUTHENTICATION",
    "SASL_AUTHENTICATION_FAILED",
    "TOPIC_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
)
_LOG = logging.getLogger(__name__)

#: Topic and partition.
Partition = tuple[str, int]


class End:
    """The end of the topics of one Kafka source. Keeps its connection to the broker for the next poll."""

    def __init__(self, declared: DeclaredEnd, source_id: str, access: Access) -> None:
        self.source_id = source_id
        self.topics = declared.topics
        config = {key.removeprefix(_PREFIX): value for key, value in access.kafka_config.items()}
        if declared.location:
            config[_SERVERS] = declared.location
        self.location = f"kafka:{config.get(_SERVERS, '')}"
        self._read_committed = str(config.get(_ISOLATION, "")).lower() == "read_committed"
        self._secrets = [str(value) for key, value in config.items() if _SECRET.search(key) and value]
        self._complaints: list[Any] = []
        self._client = self._connect({key: value for key, value in config.items() if key not in _OF_CONSUMERS})

    def end_at(self, at_ms: int | None, committed: SourceOffset | None, slack: int = 0) -> Condition:
        """See :meth:`~airflow_provider_ckpt.sources.declared.SourceEnd.end_at`.

        Partitions that were never written to are left out: the query may not know them yet.
        """
        positions = _positions(committed, self.source_id)
        partitions = self._partitions(self.topics or sorted({topic for topic, _ in positions}))
        first_later = {} if at_ms is None else self._offsets(partitions, at_ms)
        latest = self._offsets(partitions, None)  # asked for last, so that it lies behind what the time gave
        self._require_same_topics(positions, latest)
        ends: dict[str, dict[str, int]] = {}
        for topic, partition in partitions:
            end = first_later.get((topic, partition), latest[topic, partition])
            if end > 0:
                ends.setdefault(topic, {})[str(partition)] = end
        text = json.dumps(ends, separators=(",", ":"))
        return OffsetsReached({self.source_id: text}, {self.source_id: "kafka"}, slack)

    def _connect(self, config: Mapping[str, Any]) -> Any:
        try:
            from confluent_kafka import KafkaException
            from confluent_kafka.admin import AdminClient
        except ImportError as error:
            hint = "pip install 'ckpt-cli[kafka]'"
            raise StoreError("Kafka sources need confluent-kafka", hint=hint) from error
        if not config.get(_SERVERS):
            raise StoreError("no Kafka broker was given", hint="Declare the source as kafka:HOST:PORT/TOPIC.")
        try:
            return AdminClient({**config, "error_cb": self._complaints.append}, logger=_LOG)
        except (KafkaException, TypeError, ValueError) as error:
            said = error.args[0].str() if isinstance(error, KafkaException) else error
            hint = "Use the keys of librdkafka, with or without the prefix kafka."
            raise StoreError(
                f"the Kafka client refuses the configuration: {self._scrub(said)}", hint=hint, **self._place
            ) from None

    def _partitions(self, topics: Iterable[str]) -> list[Partition]:
        from confluent_kafka import TopicCollection

        names = list(topics)
        if not names:
            raise StoreError(
                "the topics of the source are not known, because none was declared and no batch is committed",
                hint="Declare the topics, for example kafka:broker:9092/orders.",
                **self._place,
            )
        # Unlike list_topics with a name, this never creates a topic.
        asked = self._client.describe_topics(TopicCollection(names), request_timeout=TIMEOUT_S)
        found = {topic: self._answer(future, f"topic {topic}") for topic, future in asked.items()}
        return [(topic, partition.id) for topic in names for partition in found[topic].partitions]

    def _offsets(self, partitions: Iterable[Partition], at_ms: int | None) -> dict[Partition, int]:
        """The end of each partition, or the first record that is later than a time, where there is one."""
        from confluent_kafka import IsolationLevel, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        spec = OffsetSpec.latest() if at_ms is None else OffsetSpec.for_timestamp(at_ms + 1)
        level = IsolationLevel.READ_COMMITTED if self._read_committed else IsolationLevel.READ_UNCOMMITTED
        found: dict[Partition, int] = {}
        for some in _batched(list(partitions), AT_A_TIME):
            wanted = {TopicPartition(*partition): spec for partition in some}
            asked = self._client.list_offsets(wanted, isolation_level=level, request_timeout=TIMEOUT_S)
            for at, future in asked.items():
                found[at.topic, at.partition] = self._answer(future, f"partition {at.topic}-{at.partition}").offset
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def _require_same_topics(self, positions: Mapping[Partition, int], latest: Mapping[Partition, int]) -> None:
        for partition, offset in positions.items():
            if partition in latest and offset > latest[partition]:
                name = "-".join(map(str, partition))
                raise StoreError(
                    f"the query is at offset {offset} of partition {name}, which ends at {latest[partition]}: the "
                    "topic was created again, or has lost records, or the query uses another isolation.level",
                    **self._place,
                )

    def _answer(self, future: Future[Any], about: str) -> Any:
        """What the broker said. Raises StoreUnavailableError when it did not, StoreError when it refused."""
        from confluent_kafka import KafkaError, KafkaException

        try:
            return future.result(2 * TIMEOUT_S)
        except FutureTimeoutError:
            raise StoreUnavailableError(f"{about}: the broker did not answer", **self._place) from None
        except KafkaException as exception:
            self._client.poll(0)  # why it does not answer, is told on the side
            errors = [exception.args[0], *self._complaints]
            self._complaints.clear()
        said = "; ".join(dict.fromkeys(self._scrub(error.str()) for error in errors))
        codes = {error.code() for error in errors}
        if codes & {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_EXCEPTION}:
            raise StoreError(f"{about} does not exist", hint="Check the declared topics.", **self._place)
        if codes & {getattr(KafkaError, name) for name in _REFUSALS}:
            hint = "Check the credentials and the ACLs: the operation Describe on the topics is needed."
            raise StoreError(f"{about}: {said}", hint=hint, **self._place)
        raise StoreUnavailableError(f"{about}: the broker did not answer: {said}", **self._place)

    @property
    def _place(self) -> dict[str, Any]:
        return {"location": scrub(self.location)}

    def _scrub(self, said: object) -> str:
        return scrub(str(said), self._secrets)


def _batched(partitions: Sequence[Partition], most: int) -> Iterator[Sequence[Partition]]:
    return (partitions[at : at + most] for at in range(0, len(partitions), most))


def _positions(committed: SourceOffset | None, source_id: str) -> dict[Partition, int]:
    """The position of a query, by partition. Raises StoreError when that is no offset of Kafka's."""
    if committed is None:
        return {}
    try:
        value = committed.view("kafka").value
    except MalformedEntryError as error:
        raise StoreError(f"source {source_id} is not a Kafka source: {error.message}") from error
    return {
        (topic, int(partition)): offset
        for topic, partitions in value.items()
        for partition, offset in partitions.items()
    }
