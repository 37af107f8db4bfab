"""Asking a Kafka broker: which topics there are, and where their partitions begin and end.

Nothing is written: no topic is created, no consumer group is joined. One call asks for at most 1,000 partitions, since
one for 10,000 takes several times as long as ten for 1,000.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from airflow_provider_ckpt.codec.offsets.kafka import Partition
from airflow_provider_ckpt.errors import StoreError, StoreUnavailableError
from airflow_provider_ckpt.sources.kafka.causes import TIMED_OUT, Complaint, cause_of, is_final
from airflow_provider_ckpt.sources.kafka.connect import Answer, Key, connected, consumer_of
from airflow_provider_ckpt.sources.kafka.extent import Extent, Retention
from airflow_provider_ckpt.untrusted.secrets import scrub, secrets_of

#: Of so many partitions one call asks at most.
AT_A_TIME = 1_000
#: How long one question to the broker may take where the configuration does not say so, seconds.
TIMEOUT_S = 15.0
#: Between two tries of partitions whose leader the client did not know yet, seconds.
_PAUSE_S = 0.2
_PREFIX = "kafka."
_SERVERS, _ISOLATION, _TIMEOUT = "bootstrap.servers", "isolation.level", "socket.timeout.ms"
#: Of consumers alone, of which an admin client would complain; and what is ours to hear.
_OF_OTHERS = frozenset(
    {_ISOLATION, "group.id", "auto.offset.reset", "enable.auto.commit", "on_commit", "error_cb", "log_cb"}
)
#: In a connection these are names of functions, which nobody needs who asks.
_CALLBACKS = frozenset({"stats_cb", "throttle_cb"})
#: ``list_offsets`` does not try these again by itself; they are seen on new topics, and when a leader goes: the one
#: that comes may not know the partition yet.
_MOVING = (
    *("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH"),
    *("UNKNOWN_TOPIC_OR_PART", TIMED_OUT, "_TRANSPORT"),
)
#: Where a partition has no record at a time or later.
_NO_RECORD = -1
_ABSENT = ("UNKNOWN_TOPIC_OR_PART", "TOPIC_EXCEPTION")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a broker.

    Args:
        name: Its name.
        topic_id: Id that differs from that of a topic that had this name before.
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

    Every question raises StoreUnavailableError when no answer comes in ``timeout_s``, which another try can help, and
    StoreError when the broker refuses, which is said as soon as it does.

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
        #: Whether the broker has refused who asks, and not only what was asked: another question is refused as well.
        self.lets_nobody_in = False
        #: Whether the configuration says whether records of open transactions count.
        self.says_isolation = _ISOLATION in config
        self._read_committed = str(config.get(_ISOLATION, "")).lower() == "read_committed"
        self._secrets = secrets_of("", config)
        self._config = {
            key: value
            for key, value in config.items()
            if key not in _OF_OTHERS and not (key in _CALLBACKS and isinstance(value, str))
        }
        self._require_config()
        #: How long a question may take, seconds: ``socket.timeout.ms`` of the configuration, or TIMEOUT_S.
        self.timeout_s = int(config[_TIMEOUT]) / 1_000 if _TIMEOUT in config else TIMEOUT_S

    def topics(self, names: Iterable[str]) -> dict[str, Topic | None]:
        """Topics as the broker has them, by name; None for one that it does not have."""
        from confluent_kafka import TopicCollection

        if not (wanted := sorted(set(names))):
            return {}
        # Unlike list_topics with a name, this never creates a topic.
        answers = self.ask(
            lambda client: client.describe_topics(TopicCollection(wanted), request_timeout=self.timeout_s)
        )
        return {name: self._topic(name, answers[name]) for name in wanted}

    def earliest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The first offset that each partition still has; where nothing is left, that is its end."""
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(dict.fromkeys(partitions, OffsetSpec.earliest()))

    def latest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The end of each partition: where the next record will go."""
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(dict.fromkeys(partitions, OffsetSpec.latest()))

    def last_stable(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The end of each partition for who reads committed records alone: before the first open transaction."""
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(dict.fromkeys(partitions, OffsetSpec.latest()), committed=True)

    def first_at(self, partitions: Iterable[Partition], at_ms: int) -> dict[Partition, int | None]:
        """The first record of each partition whose timestamp is not before a time (epoch ms); None without one."""
        return self.first_since(dict.fromkeys(partitions, at_ms))

    def first_since(
        self, times_ms: Mapping[Partition, int], said_ms: dict[Partition, int] | None = None
    ) -> dict[Partition, int | None]:
        """The same for a time of each partition, which takes no more requests; ``said_ms`` gets their own timestamps.

        What marks the end of a transaction is a record for the broker, with the time at which it was written.
        """
        from confluent_kafka.admin import OffsetSpec

        found = self._offsets({at: OffsetSpec.for_timestamp(at_ms) for at, at_ms in times_ms.items()}, said_ms)
        return {partition: None if offset < 0 else offset for partition, offset in found.items()}

    def retention(self, names: Iterable[str]) -> dict[str, Retention]:
        """How long topics keep their records; the operation DescribeConfigs on them is needed."""
        found = {}
        for name, config in self._configs(names).items():
            deletes = "delete" in config["cleanup.policy"].value
            time_ms, size = (int(config[key].value) for key in ("retention.ms", "retention.bytes"))
            found[name] = Retention(
                time_ms if deletes and time_ms >= 0 else None, size if deletes and size >= 0 else None
            )
        return found

    def stamps_by_itself(self, names: Iterable[str]) -> dict[str, bool]:
        """True for each topic whose records get their timestamps from the broker (LogAppendTime), not from producers.

        The operation DescribeConfigs on the topics is needed.
        """
        key = "message.timestamp.type"
        return {name: config[key].value == "LogAppendTime" for name, config in self._configs(names).items()}

    def consumer(self, **config: Any) -> Any:
        """A consumer that is in no group and commits nothing; whoever asks for it closes it."""
        return consumer_of({**self._config, "group.id": "ckpt", "enable.auto.commit": False, **config})

    def _configs(self, names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        from confluent_kafka.admin import ConfigResource, ResourceType

        resources = [ConfigResource(ResourceType.TOPIC, name) for name in sorted(set(names))]
        if not resources:
            return {}
        found = {}
        answers = self.ask(lambda client: client.describe_configs(resources, request_timeout=self.timeout_s))
        for resource, (result, errors) in answers.items():
            if errors:
                raise self.error(f"the configuration of topic {resource.name}", errors)
            found[resource.name] = result
        return found

    # --- the client --------------------------------------------------------------------------------------------

    def ask(
        self,
        question: Callable[[Any], Mapping[Key, Future[Any]]],
        within_s: float | None = None,
        is_answer: Callable[[Any], bool] | None = None,
    ) -> dict[Key, Answer]:
        """Answers of the broker to each part of a question, or the error of that part.

        Args:
            question: Asks an ``AdminClient``.
            within_s: Time limit in seconds; ``timeout_s`` by default.
            is_answer: Tells if a result is an answer.
        """
        with connected(self._config) as connection:
            return connection.ask(question, self.timeout_s if within_s is None else within_s, is_answer)

    def _require_config(self) -> None:
        """Make the client. Raises StoreError when there is none for this configuration."""
        try:
            from confluent_kafka import KafkaException
        except ImportError as error:
            hint = "pip install 'spark-ckpt[kafka]'"
            raise StoreError("Kafka sources need confluent-kafka", hint=hint) from error
        if not self._config.get(_SERVERS):
            raise StoreError("no Kafka broker was given", hint="Declare the source as kafka:HOST:PORT/TOPIC.")
        self._require_token()
        try:
            with connected(self._config):
                return
        except (KafkaException, TypeError, ValueError) as error:
            said = error.args[0].str() if isinstance(error, KafkaException) else error
            hint = "Use the keys of librdkafka, with or without the prefix kafka."
            message = f"the Kafka client refuses the configuration: {self._scrub(said)}"
            raise StoreError(message, location=self.location, hint=hint) from None

    def _require_token(self) -> None:
        """With OAUTHBEARER somebody has to give tokens: the client would wait for one without a word."""
        mechanism = self._config.get("sasl.mechanism") or self._config.get("sasl.mechanisms")
        given = self._config.get("oauth_cb")
        method = str(self._config.get("sasl.oauthbearer.method", "default")).lower()
        has_own = method != "default" or "enable.sasl.oauthbearer.unsecure.jwt" in self._config
        if given is not None and not callable(given):
            problem = "oauth_cb of the Kafka client is the name of a function, and not a function"
        elif mechanism == "OAUTHBEARER" and given is None and not has_own:
            problem = "the Kafka client has no way to get a token for OAUTHBEARER"
        else:
            return
        raise StoreError(
            problem,
            location=self.location,
            hint="Set sasl.oauthbearer.method=oidc and what it needs; or, in Airflow, name a function in oauth_cb of "
            "the connection and in the option callback_allowlist of the section apache_kafka.",
        )

    def _topic(self, name: str, answer: Answer) -> Topic | None:
        result, errors = answer
        if not errors:
            return Topic(name, str(result.topic_id), tuple(sorted(item.id for item in result.partitions)))
        if is_one_of(errors, _ABSENT):
            return None
        raise self.error(f"topic {name}", errors)

    def _offsets(
        self, specs: Mapping[Partition, Any], said_ms: dict[Partition, int] | None = None, *, committed: bool = False
    ) -> dict[Partition, int]:
        """The offset of each partition that its ``OffsetSpec`` asks for; ``said_ms`` gets the timestamps beside it."""
        from confluent_kafka import IsolationLevel

        stable = committed or self._read_committed
        level = IsolationLevel.READ_COMMITTED if stable else IsolationLevel.READ_UNCOMMITTED
        found: dict[Partition, Any] = {}
        for some in batched(list(specs), AT_A_TIME):
            wanted, deadline = some, time.monotonic() + self.timeout_s
            while wanted:
                wanted = self._ask_for_offsets({at: specs[at] for at in wanted}, level, found, deadline)
                if wanted:
                    time.sleep(_PAUSE_S)
        if said_ms is not None:
            said_ms |= {at: said.timestamp for at, said in found.items()}
        return {at: said.offset for at, said in found.items()}

    def _ask_for_offsets(
        self,
        specs: Mapping[Partition, Any],
        level: Any,
        found: dict[Partition, Any],
        deadline: float,
    ) -> list[Partition]:
        """Ask once; the result is those partitions that are to be asked for again, as their leader has moved."""
        from confluent_kafka import TopicPartition

        wanted = {TopicPartition(*partition): spec for partition, spec in specs.items()}
        self.requests += 1
        left_s = max(_PAUSE_S, deadline - time.monotonic())
        answers = self.ask(
            lambda client: client.list_offsets(wanted, isolation_level=level, request_timeout=left_s),
            left_s,
            # From a leader that does not answer in time, the client returns an offset of -1001, and no error.
            lambda result: bool(result.offset >= _NO_RECORD),
        )
        again = []
        for at, (result, errors) in answers.items():
            if not errors:
                found[at.topic, at.partition] = result
            elif time.monotonic() >= deadline or is_final(errors) or not is_one_of(errors[:1], _MOVING):
                raise self.error(f"partition {at.topic}-{at.partition}", errors)
            else:
                again.append((at.topic, at.partition))
        return again

    def error(self, about: str, complaints: Sequence[Complaint]) -> StoreError:
        """The error that says why the broker did not answer what it was asked about."""
        if is_one_of(complaints, _ABSENT):
            return StoreError(f"{about} does not exist", location=self.location, hint="Check the declared topics.")
        cause, complaint = cause_of(complaints)
        self.lets_nobody_in |= cause.is_final and complaint is not None and complaint.is_local
        said = f": {self._scrub(complaint.text)}" if complaint is not None and complaint.text else ""
        kind = StoreError if cause.is_final else StoreUnavailableError
        within = "" if cause.is_final else f" (asked for {self.timeout_s:g} s)"
        return kind(f"{about}: {cause.says}{within}{said}", location=self.location, hint=cause.hint)

    def _scrub(self, said: object) -> str:
        return scrub(str(said), self._secrets)


def is_one_of(complaints: Iterable[Complaint], names: Iterable[str]) -> bool:
    """True if one of the complaints has one of these names, as ``KafkaError`` has them."""
    return bool({complaint.name for complaint in complaints} & set(names))


def batched(partitions: Sequence[Partition], most: int) -> Iterator[Sequence[Partition]]:
    """Partitions in groups of at most so many, for one call each."""
    return (partitions[at : at + most] for at in range(0, len(partitions), most))


def read_extent(broker: KafkaBroker, names: Iterable[str]) -> Extent:
    """Read the topics from a broker, in calls of two kinds for each 1,000 partitions.

    A topic that does not exist is left out. Raises StoreUnavailableError when the broker does not answer, StoreError
    when it refuses.
    """
    topics = [topic for topic in broker.topics(names).values() if topic is not None]
    partitions = [(topic.name, number) for topic in topics for number in topic.partitions]
    earliest = broker.earliest(partitions)
    latest = broker.latest(partitions)  # asked for last: an end only grows
    return Extent({topic.name: topic.topic_id for topic in topics}, earliest, latest)
