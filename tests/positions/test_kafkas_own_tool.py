"""``kafka-consumer-groups --reset-offsets`` on a group, and ours on a checkpoint at the same positions: equal offsets."""

from __future__ import annotations

import subprocess

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.positions.extent import Partition, to_json
from airflow_provider_ckpt.positions.kafka_csv import read_csv, write_csv
from airflow_provider_ckpt.positions.strategies import (
    ByDuration,
    FromFile,
    Scope,
    ShiftBy,
    Strategy,
    ToCurrent,
    ToDatetime,
    ToEarliest,
    ToLatest,
    ToOffsets,
)
from airflow_provider_ckpt.reset.resolve_kafka import KafkaAim
from airflow_provider_ckpt.sources.ask_kafka import KafkaBroker
from tests.kafka_lab import JVM, Broker, fetch_jars

pytestmark = [pytest.mark.kafka, pytest.mark.exhaustive]
GROUP = "moved"
#: 2023-11-14T22:13:20Z, and a minute later.
FIRST_MS, MINUTE_MS = 1_700_000_000_000, 60_000
DAY_MS = 86_400_000

STRATEGIES: dict[str, tuple[list[str], Strategy]] = {
    "to-earliest": (["--to-earliest"], ToEarliest()),
    "to-latest": (["--to-latest"], ToLatest()),
    "to-current": (["--to-current"], ToCurrent()),
    "to-offset in the middle": (["--to-offset", "7"], ToOffsets(7)),
    "to-offset before the beginning": (["--to-offset", "3"], ToOffsets(3)),
    "to-offset past the end": (["--to-offset", "99"], ToOffsets(99)),
    "shift-by back": (["--shift-by", "-3"], ShiftBy(-3)),
    "shift-by past the beginning": (["--shift-by", "-100"], ShiftBy(-100)),
    "shift-by past the end": (["--shift-by", "100"], ShiftBy(100)),
    "to-datetime": (["--to-datetime", "2023-11-14T22:13:20.001Z"], ToDatetime(FIRST_MS + 1)),
    "to-datetime of a record": (["--to-datetime", "2023-11-14T22:14:20.000Z"], ToDatetime(FIRST_MS + MINUTE_MS)),
    "to-datetime after all": (["--to-datetime", "2026-01-01T00:00:00.000Z"], ToDatetime(1_767_225_600_000)),
    "by-duration": (["--by-duration", "PT1H"], ByDuration(DAY_MS // 24)),
    "by-duration of all": (["--by-duration", "P10000D"], ByDuration(10_000 * DAY_MS)),
}


@pytest.fixture(scope="module")
def topic(kafka) -> str:
    """Partition 0 holds 5 to 19, partition 1 holds 0 to 9, partition 2 holds nothing."""
    topic: str = kafka.create(3)
    kafka.produce(topic, 14, 0, FIRST_MS)
    kafka.produce(topic, 6, 0, FIRST_MS + MINUTE_MS)
    kafka.produce(topic, 10, 1, FIRST_MS)
    kafka.delete_before(topic, 5)
    return topic


@pytest.fixture(scope="module")
def current(kafka, topic) -> dict[Partition, int]:
    """Where the group is, and the query."""
    current = {(topic, 0): 12, (topic, 1): 10, (topic, 2): 0}
    group = ConsumerGroupTopicPartitions(GROUP, [TopicPartition(*at, offset) for at, offset in current.items()])
    (done,) = kafka.admin.alter_consumer_group_offsets([group]).values()
    assert all(partition.error is None for partition in done.result(30).topic_partitions)
    return current


def by_kafka(kafka: Broker, *arguments: str) -> dict[Partition, int]:
    """What Kafka's own tool would do, in the CSV that it exports."""
    tool = ["java", *JVM, "-cp", f"{fetch_jars()}/*", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"]
    asked = ["--bootstrap-server", kafka.bootstrap, "--group", GROUP, "--reset-offsets", "--dry-run", "--export"]
    done = subprocess.run([*tool, *asked, *arguments], capture_output=True, text=True, timeout=120)
    lines = [line for line in done.stdout.splitlines() if line.count(",") == 2]  # beside what it warns of
    assert done.returncode == 0 and lines, done.stdout + done.stderr
    return read_csv("\n".join(lines))


def by_us(kafka: Broker, current: dict[Partition, int], strategy: Strategy) -> dict[Partition, int]:
    aim = KafkaAim(KafkaBroker(kafka.bootstrap, {}), strategy, Scope())
    return dict(aim.target("0", SourceOffset(to_json(current))).offsets)


@pytest.mark.parametrize(("arguments", "strategy"), STRATEGIES.values(), ids=STRATEGIES)
def test_each_strategy_gives_equal_offsets(kafka, topic, current, arguments, strategy):
    assert by_us(kafka, current, strategy) == by_kafka(kafka, "--topic", topic, *arguments)


def test_a_file_gives_equal_offsets(kafka, topic, current, tmp_path):
    rows = {(topic, 0): 99, (topic, 1): 3, (topic, 2): 1}
    file = tmp_path / "offsets.csv"
    file.write_text(write_csv(rows))
    assert by_us(kafka, current, FromFile(rows)) == by_kafka(kafka, "--from-file", str(file))
