"""A real Kafka broker (one node, KRaft) for the tests, and streaming queries that read it with Spark's own connector.

Maven fetches the broker's jars once, as `tests/kafka.xml` pins them, into `.kafka`, and those of the connector, as
`tests/kafka-connector.xml` pins them, into `.kafka-connector`. The connector is that of Spark 4.2.0, which the tests run
in Spark 4.3.0, because the connector of 4.3.0 was never published in Maven Central; it talks to a broker of Kafka 4.3.1.
"""

from __future__ import annotations

import base64
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)

from tests.jvm import SHORT_LIFE
from tests.kafka_security import LISTENERS, Certificates, listener_properties, scram_users
from tests.ports import free_ports

TESTS = Path(__file__).parent
JARS = TESTS.parent / ".kafka"
CONNECTOR = TESTS.parent / ".kafka-connector"
#: Small and quick to start.
JVM = ("-Xmx256m", *SHORT_LIFE)
PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "auto.create.topics.enable": "true",  # so that a client which creates topics is found out
    "log.retention.ms": "-1",  # tests write records of 1970
    "log.message.timestamp.before.max.ms": str(2**63 - 1),
}
START_S = 300.0


def fetch_jars() -> Path:
    """The broker's jars. Raises RuntimeError with what to install when Maven is missing or cannot fetch them."""
    return _fetched("kafka.xml", JARS, "kafka_*.jar")


def connector_jars() -> str:
    """Spark's Kafka connector and what it needs, as ``spark.jars`` takes them. Raises RuntimeError as `fetch_jars`."""
    jars = _fetched("kafka-connector.xml", CONNECTOR, "spark-sql-kafka-*.jar")
    return ",".join(str(jar) for jar in sorted(jars.glob("*.jar")))


def _fetched(pinned: str, jars: Path, one: str) -> Path:
    """The directory of jars, which Maven fetches when it lacks those that a pattern names."""
    if not any(jars.glob(one)):
        if shutil.which("mvn") is None:
            raise RuntimeError("these tests need a real Kafka, whose jars come by Maven: apt-get install maven")
        command = ["mvn", "-q", "-B", "-f", str(TESTS / pinned), "dependency:copy-dependencies"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"Maven cannot fetch what tests/{pinned} names: {done.stdout}{done.stderr}")
    return jars


class Process:
    """A process of Kafka, which is started with its configuration, and whose listeners are there when `wait` returns."""

    def __init__(
        self, root: Path, cluster_id: str, properties: Mapping[str, str], *format_options: str, memory: str = "256m"
    ) -> None:
        config = root / "server.properties"
        config.write_text("\n".join(f"{key}={value}" for key, value in properties.items()))
        java = ["java", *JVM, f"-Xmx{memory}", "-cp", f"{fetch_jars()}/*"]
        # One word, because an id may begin with a dash, which the tool would take for an option.
        format_storage = [*java, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", "-c", str(config)]
        done = subprocess.run([*format_storage, *format_options], capture_output=True, text=True)
        assert done.returncode == 0, f"the broker's storage could not be made: {done.stdout}{done.stderr}"
        self._command = [*java, "kafka.Kafka", str(config)]
        self._log = (root / "broker.log").open("w")
        self.start()

    def start(self) -> None:
        """Start the process, again where it was ended."""
        self._process = subprocess.Popen(self._command, stdout=self._log, stderr=self._log)

    def wait(self, port: int) -> None:
        """Until somebody listens at a port."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            assert self._process.poll() is None, f"the broker ended; see {self._log.name}"
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError(f"the broker did not start in {START_S} s; see {self._log.name}")

    def end(self, *, suddenly: bool = False) -> None:
        """End the process; suddenly, it tells nobody."""
        (self._process.kill if suddenly else self._process.terminate)()
        self._process.wait(60)

    def close(self) -> None:
        """End the process for good."""
        self.end()
        self._log.close()


def new_cluster_id() -> str:
    """As Kafka writes it."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


#: A client outlives its broker until the run has ended, and would print that it cannot connect; errors are raised anyway.
QUIET: dict[str, object] = {"log_level": 0}


class Broker:
    """A running broker; `bootstrap` is where it listens for the tests.

    Attributes:
        ports: By name of a listener (tests/kafka_security.py).
        proxy: The port at which clients of the listener PROXIED look for it.
        certificates: Of the listeners with TLS.
    """

    def __init__(self, root: Path, *, memory: str = "256m", **more: str) -> None:
        """Start it. ``more`` are properties of it alone, with underscores for dots; ``memory`` is that of its JVM."""
        *ports, self.proxy, controller = free_ports(len(LISTENERS) + 2)
        self.ports = dict(zip(LISTENERS, ports, strict=True))
        self.bootstrap = self.at("PLAINTEXT")
        self.certificates = Certificates(root / "certificates")
        secured = listener_properties(self.ports, self.proxy, self.certificates)
        properties = {
            **PROPERTIES,
            **secured,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"{secured['listeners']},CONTROLLER://127.0.0.1:{controller}",
            "listener.security.protocol.map": f"{secured['listener.security.protocol.map']},CONTROLLER:PLAINTEXT",
            "log.dirs": str(root / "logs"),
            **{key.replace("_", "."): value for key, value in more.items()},
        }
        self._process = Process(root, new_cluster_id(), properties, *scram_users(), memory=memory)
        self._process.wait(self.ports["PLAINTEXT"])
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, **QUIET})

    def at(self, listener: str) -> str:
        """Where a listener is."""
        return f"127.0.0.1:{self.ports[listener]}"

    def stop(self) -> None:
        """End the process."""
        self._process.close()

    def allow(self, user: str, operation: str, *, topic: str = "", group: str = "") -> None:
        """Let a user do something with a topic or with a group."""
        kind, name = (ResourceType.TOPIC, topic) if topic else (ResourceType.GROUP, group)
        may = (AclOperation[operation], AclPermissionType.ALLOW)
        binding = AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", *may)
        self.admin.create_acls([binding])[binding].result(30)
        until(lambda: self.admin.describe_acls(_same(binding)).result(30))

    def create(self, partitions: int = 1, **config: str) -> str:
        """A topic of its own for a test."""
        topic = f"orders-{uuid.uuid4().hex[:8]}"
        self.create_named(topic, partitions, **config)
        return topic

    def create_named(self, topic: str, partitions: int = 1, **config: str) -> None:
        """A topic of this name, which the broker knows when this returns: its answer comes before its metadata."""
        new = NewTopic(topic, partitions, 1, config={key.replace("_", "."): value for key, value in config.items()})
        self.admin.create_topics([new])[topic].result(30)
        until(lambda: topic in self.topics())

    def grow(self, topic: str, partitions: int) -> None:
        """More partitions, which a broker tells of a moment after they were made."""
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)
        until(lambda: len(self.admin.list_topics(topic, timeout=10).topics[topic].partitions) == partitions)

    def delete_before(self, topic: str, offset: int, partition: int = 0) -> None:
        """Delete the records of a partition before an offset, as its retention would."""
        for deleted in self.admin.delete_records([TopicPartition(topic, partition, offset)]).values():
            assert deleted.result(30).low_watermark == offset

    def delete(self, topic: str) -> None:
        """Delete a topic, which is gone when this returns."""
        self.admin.delete_topics([topic])[topic].result(30)
        until(lambda: topic not in self.topics())

    def recreate(self, topic: str, partitions: int = 1) -> None:
        """Delete a topic and create another of its name."""
        self.delete(topic)
        self.create_named(topic, partitions)

    def topics(self) -> set[str]:
        """What topics there are."""
        return set(self.admin.list_topics(timeout=30).topics)

    def groups(self) -> list[str]:
        """What consumer groups there are."""
        return [group.group_id for group in self.admin.list_consumer_groups().result(30).valid]

    def commit(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Give a group without members these offsets; a busy broker that does not know a topic yet is asked again."""
        wanted = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]

        def done() -> bool:
            asked = self.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, wanted)])
            (answer,) = asked.values()
            return all(partition.error is None for partition in answer.result(30).topic_partitions)

        until(done)

    def produce(self, topic: str, count: int, partition: int = 0, timestamp_ms: int = 0) -> None:
        """Write records, which are there when this returns."""
        producer = self.producer()
        _put(producer, topic, count, partition, timestamp_ms)
        assert producer.flush(30) == 0

    def produce_in_transaction(self, topic: str, count: int, *, commit: bool | None, timestamp_ms: int = 0) -> Producer:
        """Write records in a transaction, which is committed, aborted, or (None) left open."""
        producer = self.producer(**{"transactional.id": uuid.uuid4().hex})
        producer.init_transactions(30)
        producer.begin_transaction()
        _put(producer, topic, count, 0, timestamp_ms)
        assert producer.flush(30) == 0
        if commit is not None:
            end = self._end(topic)
            (producer.commit_transaction if commit else producer.abort_transaction)(30)
            until(lambda: self._end(topic) > end)  # the broker writes the mark of the end after its answer
        return producer

    def _end(self, topic: str) -> int:
        """The end of the first partition."""
        at = TopicPartition(topic, 0)
        return int(self.admin.list_offsets({at: OffsetSpec.latest()})[at].result(30).offset)

    def producer(self, **config: str) -> Producer:
        """A producer."""
        return Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 0, **config})


def _same(binding: AclBinding) -> AclBindingFilter:
    """What finds one ACL and no other."""
    return AclBindingFilter(
        binding.restype, binding.name, binding.resource_pattern_type, binding.principal, binding.host,
        binding.operation, binding.permission_type,
    )  # fmt: skip


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, at most as long as a broker may take to start."""
    deadline = time.monotonic() + START_S
    while not holds():
        assert time.monotonic() < deadline, f"the broker did not do it in {START_S} s"
        time.sleep(0.05)


def _put(producer: Producer, topic: str, count: int, partition: int, timestamp_ms: int) -> None:
    for number in range(count):
        producer.produce(topic, f"{number}".encode(), partition=partition, timestamp=timestamp_ms)


def consumer_groups(broker: Broker, *arguments: str) -> str:
    """What Kafka's own ``kafka-consumer-groups`` prints; a call takes some six seconds."""
    tool = ["java", *JVM, "-cp", f"{fetch_jars()}/*", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"]
    done = subprocess.run(
        [*tool, "--bootstrap-server", broker.bootstrap, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def describe_group(broker: Broker, group: str) -> dict[tuple[str, int], tuple[int, int, int]]:
    """What that tool shows of a group: of each partition the offset that is committed, the end, and the lag."""
    lines = [line.split() for line in consumer_groups(broker, "--describe", "--group", group).splitlines()]
    rows = (line for line in lines if line[:1] == [group])
    return {(topic, int(number)): (int(at), int(end), int(lag)) for _, topic, number, at, end, lag, *_ in rows}


def session_of(spark: Any) -> Any:
    """A session of its own whose short queries start quickly: nothing is compiled for them."""
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    return session


def run_query(
    spark: Any, broker: Broker, topics: str, checkpoint: Path, limit: int | None = None, **options: str
) -> list[tuple[str, int, int]]:
    """Read what there is and stop, with ``limit`` after one batch of so many offsets; what was read, sorted.

    Args:
        spark: A session that was started with `connector_jars`.
        broker: Where the topics are.
        topics: What to subscribe to, separated by commas.
        checkpoint: Of the query. A new one starts with the earliest offsets.
        limit: Of one partition exact; of several about so many, as Spark divides it (``maxOffsetsPerTrigger``).
        options: More of the source, in place of these.

    Returns:
        Topic, partition and offset of each record.
    """
    read: list[tuple[str, int, int]] = []

    def keep(batch: Any, batch_id: int) -> None:
        read.extend((row.topic, row.partition, row.offset) for row in batch.collect())

    if limit is not None:
        options = {"maxOffsetsPerTrigger": str(limit), **options}
    writer = read_stream(spark, broker, topics, **options).writeStream.foreachBatch(keep)
    writer = writer.option("checkpointLocation", str(checkpoint))
    if limit is None:
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(600), "the query did not finish in 600 s"
    else:
        _run_one_batch(writer, checkpoint)
    return sorted(read)


def read_stream(spark: Any, broker: Broker, topics: str, **options: str) -> Any:
    """The records of topics as a stream: topic, partition and offset. Arguments are as in `run_query`."""
    source = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topics, "startingOffsets": "earliest"}
    records = spark.readStream.format("kafka").options(**{**source, **options}).load()
    return records.select("topic", "partition", "offset")


def _run_one_batch(writer: Any, checkpoint: Path) -> None:
    """Start a query, whose next batch but one would come in decades, and stop it when it has committed the next."""
    commits = checkpoint / "commits"
    before = _committed(commits)
    query = writer.trigger(processingTime="36500 days").start()
    deadline = time.monotonic() + 600
    while _committed(commits) == before:
        if not query.isActive:
            query.awaitTermination()  # raises why
        assert time.monotonic() < deadline, "the query did not commit a batch in 600 s"
        time.sleep(0.02)
    query.stop()


def _committed(commits: Path) -> set[str]:
    return {path.name for path in commits.glob("[0-9]*")}
