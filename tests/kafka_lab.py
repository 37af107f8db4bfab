"""A real Kafka broker (one node, KRaft) for the tests, and a streaming query of PySpark that reads from it.

Maven fetches the broker's jars once, as `tests/kafka.xml` pins them, into `.kafka`.
"""

from __future__ import annotations

import base64
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.ports import free_ports

TESTS = Path(__file__).parent
JARS = TESTS.parent / ".kafka"
#: Small and quick to start; nothing here runs long enough for the second compiler.
JVM = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
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
    if not any(JARS.glob("kafka_*.jar")):
        if shutil.which("mvn") is None:
            raise RuntimeError("these tests start a real Kafka broker, whose jars come by Maven: apt-get install maven")
        command = ["mvn", "-q", "-B", "-f", str(TESTS / "kafka.xml"), "dependency:copy-dependencies"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"Maven cannot fetch the broker: {done.stdout}{done.stderr}")
    return JARS


class Broker:
    """A running broker; `bootstrap` is where it listens."""

    def __init__(self, root: Path) -> None:
        classpath = f"{fetch_jars()}/*"
        port, controller = free_ports(2)
        self.bootstrap = f"127.0.0.1:{port}"
        properties = {
            **PROPERTIES,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "log.dirs": str(root / "logs"),
        }
        config = root / "server.properties"
        config.write_text("\n".join(f"{key}={value}" for key, value in properties.items()))
        java = ["java", *JVM, "-cp", classpath]
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # One word, because an id may begin with a dash, which the tool would take for an option.
        format_storage = [*java, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(config)]
        done = subprocess.run(format_storage, capture_output=True, text=True)
        assert done.returncode == 0, f"the broker's storage could not be made: {done.stdout}{done.stderr}"
        self._log = (root / "broker.log").open("w")
        self._process = subprocess.Popen([*java, "kafka.Kafka", str(config)], stdout=self._log, stderr=self._log)
        self._wait(port)
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap})

    def _wait(self, port: int) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            assert self._process.poll() is None, f"the broker ended; see {self._log.name}"
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError(f"the broker did not start in {START_S} s; see {self._log.name}")

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(60)
        self._log.close()

    def create(self, partitions: int = 1, **config: str) -> str:
        """A topic of its own for a test."""
        topic = f"orders-{uuid.uuid4().hex[:8]}"
        new = NewTopic(topic, partitions, 1, config={key.replace("_", "."): value for key, value in config.items()})
        self.admin.create_topics([new])[topic].result(30)
        return topic

    def grow(self, topic: str, partitions: int) -> None:
        """More partitions."""
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)

    def delete_before(self, topic: str, offset: int, partition: int = 0) -> None:
        """Delete the records of a partition before an offset, as its retention would."""
        for deleted in self.admin.delete_records([TopicPartition(topic, partition, offset)]).values():
            assert deleted.result(30).low_watermark == offset

    def delete(self, topic: str) -> None:
        """Delete a topic, which is gone when this returns."""
        self.admin.delete_topics([topic])[topic].result(30)
        _until(lambda: topic not in self.topics())

    def recreate(self, topic: str, partitions: int = 1) -> None:
        """Delete a topic and create another of its name."""
        self.delete(topic)
        self.admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
        _until(lambda: topic in self.topics())

    def topics(self) -> set[str]:
        """What topics there are."""
        return set(self.admin.list_topics(timeout=30).topics)

    def groups(self) -> list[str]:
        """What consumer groups there are."""
        return [group.group_id for group in self.admin.list_consumer_groups().result(30).valid]

    def produce(self, topic: str, count: int, partition: int = 0, timestamp_ms: int = 0) -> None:
        """Write records, which are there when this returns."""
        producer = self.producer()
        _put(producer, topic, count, partition, timestamp_ms)
        assert producer.flush(30) == 0

    def produce_in_transaction(self, topic: str, count: int, *, commit: bool | None) -> Producer:
        """Write records in a transaction, which is committed, aborted, or (None) left open."""
        producer = self.producer(**{"transactional.id": uuid.uuid4().hex})
        producer.init_transactions(30)
        producer.begin_transaction()
        _put(producer, topic, count, 0, 0)
        assert producer.flush(30) == 0
        if commit is not None:
            (producer.commit_transaction if commit else producer.abort_transaction)(30)
        return producer

    def producer(self, **config: str) -> Producer:
        """A producer."""
        return Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 0, **config})


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_S
    while not holds():
        assert time.monotonic() < deadline, f"the broker did not do it in {START_S} s"
        time.sleep(0.05)


def _put(producer: Producer, topic: str, count: int, partition: int, timestamp_ms: int) -> None:
    for number in range(count):
        producer.produce(topic, f"{number}".encode(), partition=partition, timestamp=timestamp_ms)


def _reader() -> type:
    """The class that reads, made here so that Python workers get it by value."""
    from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

    class Records(DataSourceStreamReader):
        def __init__(self, options: Any) -> None:
            self.options = dict(options)

        def consumer(self) -> Any:
            from confluent_kafka import Consumer

            group = {"group.id": "unused", "enable.auto.commit": False}
            return Consumer({"bootstrap.servers": self.options["bootstrap"], **group})

        def initialOffset(self) -> dict[str, Any]:
            return {self.options["topic"]: {}}

        def latestOffset(self) -> dict[str, Any]:
            from confluent_kafka import TopicPartition

            topic, consumer = self.options["topic"], self.consumer()
            known = consumer.list_topics(topic, timeout=30).topics[topic].partitions
            ends = {str(at): consumer.get_watermark_offsets(TopicPartition(topic, at), timeout=30)[1] for at in known}
            consumer.close()
            limit = int(self.options.get("limit", 2**62))
            return {topic: {at: min(end, limit) for at, end in ends.items()}}

        def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
            topic = self.options["topic"]
            ranges = [(int(at), start[topic].get(at, 0), to) for at, to in end[topic].items()]
            return [InputPartition(part) for part in ranges if part[1] < part[2]]

        def read(self, partition: InputPartition) -> Any:
            from confluent_kafka import TopicPartition

            at, start, end = partition.value
            consumer = self.consumer()
            consumer.assign([TopicPartition(self.options["topic"], at, start)])
            offset = start
            while offset < end:
                message = consumer.poll(30)
                assert message is not None, "the broker gave no record"
                assert message.error() is None, message.error()
                offset = message.offset() + 1
                yield (at, message.offset(), message.value().decode())
            consumer.close()

    return Records


def register_source(spark: Any) -> None:
    """Teach a session to read `kafka_records`: the offsets it writes have the shape of those of Spark's connector.

    The connector itself needs jars that are not to be had for every version of Spark. Options: `bootstrap`, `topic`,
    and `limit`, an offset that no partition is read past.
    """
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader

    reader = _reader()

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "kafka_records"

        def schema(self) -> str:
            return "partition int, offset long, value string"

        def streamReader(self, schema: Any) -> DataSourceStreamReader:
            return reader(self.options)

    spark.dataSource.register(Source)


def run_query(spark: Any, broker: Broker, topic: str, checkpoint: Path, **options: str) -> list[tuple[int, int]]:
    """Read what there is, or up to `limit`, and stop; the records that were read: partition and offset."""
    read: list[tuple[int, int]] = []

    def keep(batch: Any, batch_id: int) -> None:
        read.extend((row.partition, row.offset) for row in batch.collect())

    records = spark.readStream.format("kafka_records").options(bootstrap=broker.bootstrap, topic=topic, **options)
    writer = records.load().writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination(600)
    assert not query.isActive, "the query did not finish in 600 s"
    return sorted(read)
