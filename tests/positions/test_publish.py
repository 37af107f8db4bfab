"""Positions that become the offsets of a consumer group, on a real broker."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition

from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.positions.publication import Publication
from airflow_provider_ckpt.positions.publish import publish_all
from airflow_provider_ckpt.sources.ask_kafka import KafkaBroker
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_lab import describe_group
from tests.kafka_query import QUERY_ID, KafkaQuery

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def topic(kafka) -> str:
    """Two partitions: 5 and 3 records."""
    topic = kafka.create(2)
    kafka.produce(topic, 5, partition=0)
    kafka.produce(topic, 3, partition=1)
    return topic


@pytest.fixture
def query(topic, tmp_path) -> KafkaQuery:
    """A query that has read 4 and 0 records in three batches."""
    query = KafkaQuery(tmp_path / "orders")
    for end in (1, 2, 4):
        query.commit({topic: {"0": end, "1": 0}})
    return query


@pytest.fixture
def publish(kafka):
    """Publish the position of queries; what became of each."""

    def call(*queries: KafkaQuery, group: str, **options: object) -> list[object]:
        stores = [Store.open(str(query.checkpoint)) for query in queries]
        return publish_all(stores, KafkaBroker(kafka.bootstrap, {}), group, **options)

    return call


@pytest.fixture
def committed(kafka):
    """What a group has: offset and metadata by topic and partition."""

    def ask(group: str) -> dict[tuple[str, int], tuple[int, str]]:
        asked = kafka.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        return {(at.topic, at.partition): (at.offset, at.metadata) for at in asked[group].result(30).topic_partitions}

    return ask


def text(batch_id: int) -> str:
    """What is kept beside each offset."""
    return f"ckpt batch {batch_id} of query {QUERY_ID}"


def test_every_partition_is_published_with_its_batch(kafka, query, topic, publish, committed):
    (outcome,) = publish(query, group=f"spark-{topic}")
    assert isinstance(outcome, Publication)
    assert outcome.lag == 4
    assert committed(f"spark-{topic}") == {(topic, 0): (4, text(2)), (topic, 1): (0, text(2))}

    query.commit({topic: {"0": 5, "1": 1}})
    kafka.grow(topic, 3)
    publish(query, group=f"spark-{topic}")
    expected = {(topic, number): (offset, text(3)) for number, offset in enumerate((5, 1, 0))}
    assert committed(f"spark-{topic}") == expected, "a partition that the query does not know, too"


def test_a_dry_run_writes_nothing(kafka, query, topic, publish):
    (outcome,) = publish(query, group=f"spark-{topic}", dry_run=True)
    assert outcome.offsets == {(topic, 0): 4, (topic, 1): 0}
    assert f"spark-{topic}" not in kafka.groups()


def test_a_group_with_a_member_is_refused_and_keeps_its_offsets(kafka, query, topic, publish, committed):
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": f"live-{topic}", "auto.offset.reset": "earliest",
         "enable.auto.commit": False}
    )  # fmt: skip
    consumer.subscribe([topic])
    message = consumer.poll(60)
    assert message is not None
    consumer.commit(
        offsets=[TopicPartition(topic, 0, 2, "mine"), TopicPartition(topic, 1, 1, "mine")], asynchronous=False
    )
    before = committed(f"live-{topic}")
    for take_over in (False, True):
        (refused,) = publish(query, group=f"live-{topic}", take_over=take_over)
        assert isinstance(refused, PlanError)
        assert "is in use: consumers in it now: 1" in str(refused)
    assert committed(f"live-{topic}") == before == {(topic, 0): (2, "mine"), (topic, 1): (1, "mine")}
    consumer.close()

    (refused,) = publish(query, group=f"live-{topic}")
    assert "has offsets that ckpt has not published" in str(refused)
    assert committed(f"live-{topic}") == before
    publish(query, group=f"live-{topic}", take_over=True)
    assert committed(f"live-{topic}")[topic, 0] == (4, text(2))


def test_a_query_that_is_wrong_keeps_no_other_back(kafka, query, topic, publish, committed, tmp_path):
    beyond, empty = KafkaQuery(tmp_path / "beyond"), KafkaQuery(tmp_path / "empty")
    beyond.commit({topic: {"0": 6, "1": 0}})
    published, refused, nothing = publish(query, beyond, empty, group=f"{topic}-{{name}}")
    assert isinstance(published, Publication)
    assert f"the query is at offset 6 of partition {topic}-0, which ends at 5" in str(refused)
    assert "no batch is committed" in str(nothing)
    assert committed(f"{topic}-orders")[topic, 0] == (4, text(2))
    assert f"{topic}-beyond" not in kafka.groups()


def test_two_queries_over_one_topic_need_two_groups(kafka, query, topic, publish, tmp_path):
    other = KafkaQuery(tmp_path / "other")
    other.commit({topic: {"0": 1, "1": 1}})
    refused = publish(query, other, group=f"both-{topic}")
    assert all(isinstance(item, PlanError) for item in refused)
    assert f"both-{topic}" not in kafka.groups()
    assert all(isinstance(item, Publication) for item in publish(query, other, group=f"{topic}-{{name}}"))


def test_a_group_of_another_query_is_refused_also_in_another_run(query, topic, publish, committed, tmp_path):
    other = KafkaQuery(tmp_path / "other", query_id="0a1b2c3d-0000-4000-8000-000000000000")
    other.commit({topic: {"0": 1, "1": 1}})
    publish(query, group=f"one-{topic}")
    before = committed(f"one-{topic}")
    (refused,) = publish(other, group=f"one-{topic}")
    assert "has the offsets of another query" in str(refused)
    assert committed(f"one-{topic}") == before
    assert all(isinstance(item, Publication) for item in publish(other, group=f"one-{topic}", take_over=True))


def test_records_that_are_gone_are_warned_of(kafka, query, topic, publish, committed):
    for deleted in kafka.admin.delete_records([TopicPartition(topic, 1, 2)]).values():
        deleted.result(30)
    (outcome,) = publish(query, group=f"spark-{topic}")
    assert outcome.warnings == (
        f"Partition {topic}-1 begins at offset 2, after the position 0 of the query: records that it has not read are gone.",
    )
    assert committed(f"spark-{topic}")[topic, 1] == (2, text(2))


@pytest.mark.exhaustive
def test_kafkas_own_tool_shows_the_lag_of_the_query(kafka, query, topic, publish):
    publish(query, group=f"spark-{topic}")
    rows = describe_group(kafka, f"spark-{topic}")
    assert rows == {(topic, 0): (4, 5, 1), (topic, 1): (0, 3, 3)}, "committed, end, lag"
