"""Asking a Kafka broker: which topics there are, and where their partitions begin and end.

Nothing is written: no topic is created, no consumer group is joined. One call asks for at most 1,000 partitions, since
one for 10,000 takes several times as long as ten for 1,000.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from typing import Any, TypeVar

from airflow_provider_ckpt.codec.kafka_offset import Partition
from airflow_provider_ckpt.errors import StoreError, StoreUnavailableError
from airflow_provider_ckpt.sources.unread import Retention
from airflow_provider_ckpt.storage.secrets import scrub

Item = TypeVar("Item")
#: Of so many partitions one call asks at most.
AT_A_TIME = 1_000
#: How long one question to the broker may take, seconds.
TIMEOUT_S = 15.0
#: Between two tries of partitions whose leader the client did not know yet, seconds.
_PAUSE_S = 0.2
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
#: ``list_offsets`` does not try these again by itself; they are seen on topics that were just created.
_MOVING = ("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH")
_LOG = logging.getLogger(__name__)
#: The clients of this process, by configuration; none is given up. Python's garbage collector may
#: run in a thread of the client, and librdkafka aborts the process when a client is destroyed there
#: (confluent-kafka-python, pull requests 2129 and 2131).
_CLIENTS: dict[tuple[Any, ...], _Shared] = {}
#: Held while a client is looked up or made, so that two threads never make two of which one would be given up.
_MAKING = threading.Lock()


@dataclass(slots=True)
class _Shared:
    """A client that all questions with one configuration share.

    Args:
        client: An ``AdminClient``.
        complaints: What it told on the side, and no answer has reported yet.
        has_answered: Whether a question was answered. From then on, what it tells between two questions is not why the
            next one fails; before, it may be: a wrong password is told as soon as the client connects.
    """

    client: Any
    complaints: list[Any] = field(default_factory=list)
    has_answered: bool = False


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a broker.

    Args:
        name: Its name.
        topic_id: What tells it from a topic that had this name before.
        partitions: Their numbers, ascending.
    """

    name: str
    topic_id: str
    partitions: tuple[int, ...]


class KafkaBroker:
    """A connection to the brokers of one cluster, kept for the next question.

    Args:
        servers: ``host:port``, several with commas between them; empty where ``config`` has ``bootstrap.servers``.
        config: Of librdkafka, or as Spark takes it, with ``kafka.`` before each key. With
            ``isolation.level=read_committed`` the end of a partition is the last stable offset.

    Every question raises StoreUnavailableError when no answer comes in TIMEOUT_S, which another try can help, and
    StoreError when the broker refuses.

    Raises:
        StoreError: No servers were given, the configuration is wrong, or the client is not installed.
    """

    def __init__(self, servers: str, config: Mapping[str, Any]) -> None:
        config = {key.removeprefix(_PREFIX): value for key, value in config.items()}
        if servers:
            config[_SERVERS] = servers
        #: For messages, such as ``kafka:host:9092``.
        self.location = scrub(f"kafka:{config.get(_SERVERS, '')}")
        #: Calls of ListOffsets that were made; each is one request to every broker that leads one of the partitions.
        self.requests = 0
        self._read_committed = str(config.get(_ISOLATION, "")).lower() == "read_committed"
        self._secrets = [str(value) for key, value in config.items() if _SECRET.search(key) and value]
        self._shared = self._connect({key: value for key, value in config.items() if key not in _OF_CONSUMERS})
        self.client = self._shared.client

    def topics(self, names: Iterable[str]) -> dict[str, Topic | None]:
        """What the broker knows of topics; None for one that it does not have."""
        from confluent_kafka import TopicCollection

        if not (wanted := sorted(set(names))):
            return {}
        self.begin()
        # Unlike list_topics with a name, this never creates a topic.
        asked = self.client.describe_topics(TopicCollection(wanted), request_timeout=TIMEOUT_S)
        return {name: self._topic(name, asked[name]) for name in wanted}

    def earliest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The first offset that each partition still has; where nothing is left, that is its end."""
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(dict.fromkeys(partitions, OffsetSpec.earliest()))

    def latest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The end of each partition: where the next record will go."""
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(dict.fromkeys(partitions, OffsetSpec.latest()))

    def first_at(self, partitions: Iterable[Partition], at_ms: int) -> dict[Partition, int | None]:
        """The first record of each partition whose timestamp is not before a time (epoch ms); None without one."""
        return self.first_since(dict.fromkeys(partitions, at_ms))

    def first_since(self, times_ms: Mapping[Partition, int]) -> dict[Partition, int | None]:
        """The same for a time of each partition, which takes no more requests."""
        from confluent_kafka.admin import OffsetSpec

        found = self._offsets({at: OffsetSpec.for_timestamp(at_ms) for at, at_ms in times_ms.items()})
        return {partition: None if offset < 0 else offset for partition, offset in found.items()}

    def retention(self, names: Iterable[str]) -> dict[str, Retention]:
        """How long topics keep their records; the operation DescribeConfigs on them is needed."""
        from confluent_kafka.admin import ConfigResource, ResourceType

        resources = [ConfigResource(ResourceType.TOPIC, name) for name in sorted(set(names))]
        found = {}
        self.begin()
        asked = self.client.describe_configs(resources, request_timeout=TIMEOUT_S) if resources else {}
        for resource, future in asked.items():
            about = f"the configuration of topic {resource.name}"
            result, errors = self.result(future, about)
            if errors:
                raise self.error(about, errors)
            deletes = "delete" in result["cleanup.policy"].value
            time_ms, size = (int(result[key].value) for key in ("retention.ms", "retention.bytes"))
            found[resource.name] = Retention(
                time_ms if deletes and time_ms >= 0 else None, size if deletes and size >= 0 else None
            )
        return found

    # --- the client --------------------------------------------------------------------------------------------

    def _connect(self, config: Mapping[str, Any]) -> _Shared:
        """The client with this configuration."""
        try:
            from confluent_kafka import KafkaException
            from confluent_kafka.admin import AdminClient
        except ImportError as error:
            hint = "pip install 'ckpt-cli[kafka]'"
            raise StoreError("Kafka sources need confluent-kafka", hint=hint) from error
        if not config.get(_SERVERS):
            raise StoreError("no Kafka broker was given", hint="Declare the source as kafka:HOST:PORT/TOPIC.")
        # A client does not survive a fork, which the executors of Airflow make.
        key = os.getpid(), *sorted((name, str(value)) for name, value in config.items())
        complaints: list[Any] = []
        try:
            with _MAKING:
                if key not in _CLIENTS:
                    client = AdminClient({**config, "error_cb": complaints.append}, logger=_LOG)
                    _CLIENTS[key] = _Shared(client, complaints)
                return _CLIENTS[key]
        except (KafkaException, TypeError, ValueError) as error:
            said = error.args[0].str() if isinstance(error, KafkaException) else error
            hint = "Use the keys of librdkafka, with or without the prefix kafka."
            message = f"the Kafka client refuses the configuration: {self._scrub(said)}"
            raise StoreError(message, location=self.location, hint=hint) from None

    def _topic(self, name: str, asked: Future[Any]) -> Topic | None:
        about = f"topic {name}"
        result, errors = self.result(asked, about)
        if not errors:
            return Topic(name, str(result.topic_id), tuple(sorted(item.id for item in result.partitions)))
        if is_one_of(errors, ("UNKNOWN_TOPIC_OR_PART", "TOPIC_EXCEPTION")):
            return None
        raise self.error(about, errors)

    def _offsets(self, specs: Mapping[Partition, Any]) -> dict[Partition, int]:
        found: dict[Partition, int] = {}
        for some in batched(list(specs), AT_A_TIME):
            wanted, deadline = some, time.monotonic() + TIMEOUT_S
            while wanted:
                wanted = self._ask_for_offsets(wanted, specs, found, is_last=time.monotonic() >= deadline)
                if wanted:
                    time.sleep(_PAUSE_S)
        return found

    def _ask_for_offsets(
        self,
        partitions: Sequence[Partition],
        specs: Mapping[Partition, Any],
        found: dict[Partition, int],
        *,
        is_last: bool,
    ) -> list[Partition]:
        """Ask once; the result is those partitions that are to be asked for again, as their leader has moved."""
        from confluent_kafka import IsolationLevel, TopicPartition

        level = IsolationLevel.READ_COMMITTED if self._read_committed else IsolationLevel.READ_UNCOMMITTED
        wanted = {TopicPartition(*partition): specs[partition] for partition in partitions}
        self.requests += 1
        self.begin()
        asked = self.client.list_offsets(wanted, isolation_level=level, request_timeout=TIMEOUT_S)
        again = []
        for at, future in asked.items():
            about = f"partition {at.topic}-{at.partition}"
            result, errors = self.result(future, about)
            if not errors:
                found[at.topic, at.partition] = result.offset
            elif is_last or not is_one_of(errors, _MOVING):
                raise self.error(about, errors)
            else:
                again.append((at.topic, at.partition))
        return again

    def begin(self) -> None:
        """Before each question: an old complaint is not why this one fails."""
        self.client.poll(0)
        if self._shared.has_answered:
            self._shared.complaints.clear()

    def result(self, future: Future[Any], about: str) -> tuple[Any, list[Any]]:
        """What the broker said, or its errors. Raises StoreUnavailableError when it said nothing."""
        from confluent_kafka import KafkaException

        try:
            answer = future.result(2 * TIMEOUT_S)
        except FutureTimeoutError:
            raise StoreUnavailableError(f"{about}: the broker did not answer", location=self.location) from None
        except KafkaException as exception:
            self.client.poll(0)  # why it does not answer, is told on the side
            errors = [exception.args[0], *self._shared.complaints]
            self._shared.complaints.clear()
            return None, errors
        self._shared.has_answered = True
        return answer, []

    def error(self, about: str, errors: Sequence[Any]) -> StoreError:
        """The error that says what the broker answered, about what it was asked."""
        said = self.said(errors)
        if is_one_of(errors, ("UNKNOWN_TOPIC_OR_PART", "TOPIC_EXCEPTION")):
            return StoreError(f"{about} does not exist", location=self.location, hint="Check the declared topics.")
        if is_one_of(errors, _REFUSALS):
            hint = "Check the credentials and the ACLs: the operation Describe on the topics is needed."
            return StoreError(f"{about}: {said}", location=self.location, hint=hint)
        return StoreUnavailableError(f"{about}: the broker did not answer: {said}", location=self.location)

    def said(self, errors: Iterable[Any]) -> str:
        """Errors of the client as a text without secrets, each once."""
        return "; ".join(dict.fromkeys(self._scrub(_text_of(error)) for error in errors))

    def _scrub(self, said: object) -> str:
        return scrub(str(said), self._secrets)


def _text_of(error: Any) -> str:
    """What the client says of an error, with its name where that ends in a colon: the broker said nothing."""
    text = str(error.str()).strip()
    return f"{text} {error.name()}" if text.endswith(":") else text


def is_one_of(errors: Iterable[Any], names: Iterable[str]) -> bool:
    """Whether one of the client's errors has one of these names, as ``KafkaError`` has them."""
    from confluent_kafka import KafkaError

    return bool({error.code() for error in errors} & {getattr(KafkaError, name) for name in names})


def batched(items: Sequence[Item], most: int) -> Iterator[Sequence[Item]]:
    """Items in groups of at most so many, for one call each."""
    return (items[at : at + most] for at in range(0, len(items), most))
