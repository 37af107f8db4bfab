"""Positions that become the offsets of a consumer group, on a real broker."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition

from airflow_provider_ckpt.errors import PlanError, StoreError, StoreUnavailableError
from airflow_provider_ckpt.sources.kafka import ask_brokers
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.kafka.publication import Publication
from airflow_provider_ckpt.sources.kafka.publish import ConsumerGroup, GroupOffset, publish_again_before_ms, publish_all
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_lab import Broker, describe_group, until
from tests.kafka_query import QUERY_ID, KafkaQuery
from tests.kafka_security import PASSWORDS

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


def test_what_a_query_does_not_read_any_more_is_warned_of(kafka, query, topic, publish):
    other = kafka.create()
    kafka.produce(other, 2)
    query.commit({topic: {"0": 4, "1": 0}, other: {"0": 1}})
    publish(query, group=f"two-{topic}")
    query.commit({topic: {"0": 4, "1": 0}})
    (outcome,) = publish(query, group=f"two-{topic}")
    assert isinstance(outcome, Publication)
    assert f"still has partition {other}-0, which the query does not read any more" in outcome.warnings[0]


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


def test_a_fleet_is_asked_about_together(kafka, topic, tmp_path):
    topics = [topic, *(kafka.create() for _ in range(3))]
    queries = [KafkaQuery(tmp_path / name) for name in topics]
    for query, name in zip(queries, topics, strict=True):
        query.commit({name: {"0": 0}})
    broker = KafkaBroker(kafka.bootstrap, {})
    stores = [Store.open(str(query.checkpoint)) for query in queries]
    outcomes = publish_all(stores, broker, "together-{name}")
    assert all(isinstance(item, Publication) for item in outcomes)
    assert broker.requests == 2, "the earliest and the latest offsets of all topics"


def test_a_topic_that_may_not_be_read_keeps_no_other_query_back(kafka, query, topic, tmp_path, monkeypatch):
    other = KafkaQuery(tmp_path / "secret")
    other.commit({"secret": {"0": 1}})

    def read(_: object, names: list[str]) -> Extent:
        if "secret" in names:
            raise StoreError("topic secret: not authorized", location="kafka:b:9092")
        return Extent(dict.fromkeys(names, "id"), {(name, 0): 0 for name in names}, {(name, 0): 9 for name in names})

    monkeypatch.setattr(ask_brokers, "read_extent", read)
    query.commit({"open": {"0": 1}})
    stores = [Store.open(str(item.checkpoint)) for item in (query, other)]
    broker = KafkaBroker(kafka.bootstrap, {})
    published, refused = publish_all(stores, broker, f"{topic}-{{name}}", dry_run=True)
    assert published.offsets == {("open", 0): 1}
    assert "not authorized" in str(refused) and str(refused).startswith(str(tmp_path / "secret"))


def test_it_is_said_when_the_broker_forgets_the_offsets(kafka):
    before_ms = publish_again_before_ms(KafkaBroker(kafka.bootstrap, {}), 1_000)
    assert before_ms == 1_000 + 7 * 24 * 3_600_000


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_a_broker_forgets_what_is_not_published_again(tmp_path):
    """With `offsets.retention.minutes` of 1: a group that nobody publishes to ends, another one goes on unchanged."""
    lab = Broker(tmp_path, offsets_retention_minutes="1", offsets_retention_check_interval_ms="1000")
    try:
        topic, query = lab.create(), KafkaQuery(tmp_path / "orders")
        lab.produce(topic, 5)
        query.commit({topic: {"0": 4}})
        broker, stores = KafkaBroker(lab.bootstrap, {}), [Store.open(str(query.checkpoint))]
        assert publish_again_before_ms(broker, 0) == 60_000
        publish_all(stores, broker, "once")

        def is_forgotten() -> bool:
            publish_all(stores, broker, "kept")
            return not ConsumerGroup(broker, "once").committed()

        until(is_forgotten)
        assert [at.offset for at in ConsumerGroup(broker, "kept").committed().values()] == [4]
    finally:
        lab.stop()


FAILING = {
    "refuses": ("SASL_PLAINTEXT", {"sasl.password": "wrong-hunter2"}, "the broker refuses the credentials"),
    "is silent": (None, {"socket.timeout.ms": 500}, "the broker did not answer"),
}


@pytest.mark.parametrize(("listener", "config", "said"), FAILING.values(), ids=FAILING)
def test_a_broker_that_fails_is_asked_once_for_a_fleet(
    kafka, query, topic, tmp_path, monkeypatch, listener, config, said
):
    other = KafkaQuery(tmp_path / "other")
    other.commit({topic: {"0": 1, "1": 1}})
    sasl = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "reader"}
    broker = KafkaBroker(kafka.at(listener) if listener else "127.0.0.1:1", {**sasl, "sasl.password": "x", **config})
    asked, ask = [], broker.ask
    monkeypatch.setattr(broker, "ask", lambda *given: asked.append(given) or ask(*given))
    stores = [Store.open(str(item.checkpoint)) for item in (query, other)]
    outcomes = publish_all(stores, broker, f"{topic}-{{name}}")
    assert len(asked) == 1
    for store, outcome in zip(stores, outcomes, strict=True):
        assert isinstance(outcome, StoreError)
        assert outcome.location == store.location
        assert f"{broker.location}: topic {topic}: {said}" in outcome.message, "both the query and the broker are named"
    assert not any(topic in group for group in kafka.groups())


def test_a_right_that_lacks_for_one_topic_keeps_no_other_back(kafka, query, topic, tmp_path):
    """The group of both; each partition of the topic that may not be read is refused."""
    hidden, group = kafka.create(2), f"rights-{topic}"
    two = KafkaQuery(tmp_path / "two")
    two.commit({topic: {"0": 1, "1": 1}, hidden: {"0": 0, "1": 0}})
    for operation, name in (("DESCRIBE", topic), ("READ", topic), ("DESCRIBE", hidden)):
        kafka.allow("reader", operation, topic=name)
    kafka.allow("reader", "READ", group=group)
    sasl = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "reader"}
    broker = KafkaBroker(kafka.at("SASL_PLAINTEXT"), {**sasl, "sasl.password": PASSWORDS["reader"]})
    (outcome,) = publish_all([Store.open(str(two.checkpoint))], broker, group)
    assert isinstance(outcome, StoreError)
    assert "did not take the offsets of 2 of 4 partitions" in outcome.message
    assert f"of {hidden}-0 it said: Broker: Topic authorization failed" in outcome.message
    assert outcome.exit_code == 3
    done = ConsumerGroup(KafkaBroker(kafka.bootstrap, {}), group).committed()
    assert {at: item.offset for at, item in done.items()} == {(topic, 0): 1, (topic, 1): 1}


@pytest.fixture
def group(kafka) -> ConsumerGroup:
    """A group that does not exist yet."""
    return ConsumerGroup(KafkaBroker(kafka.bootstrap, {}), uuid.uuid4().hex)


def test_a_group_that_does_not_exist_has_nothing(kafka, group):
    assert (group.members(), group.committed()) == (0, {})
    assert group.name not in kafka.groups()


def test_what_is_committed_is_read_back(kafka, group):
    topic = kafka.create(2)
    assert group.commit({(topic, 0): 0, (topic, 1): 2**62}, "a text") == {}
    assert group.committed() == {(topic, 0): GroupOffset(0, "a text"), (topic, 1): GroupOffset(2**62, "a text")}
    assert group.members() == 0


def test_a_partition_that_is_refused_is_named_and_the_others_are_committed(kafka, group):
    topic = kafka.create()
    refused = group.commit({(topic, 0): 1, (topic, 7): 2, ("no-such-topic", 0): 3}, "")
    assert refused.keys() == {(topic, 7), ("no-such-topic", 0)}
    assert all("Unknown topic or partition" in said for said in refused.values())
    assert group.committed() == {(topic, 0): GroupOffset(1, "")}
    assert "no-such-topic" not in kafka.topics()


def test_a_thousand_partitions_more_take_one_call_more(kafka, group, monkeypatch):
    monkeypatch.setattr("airflow_provider_ckpt.sources.kafka.publish.AT_A_TIME", 2)
    topic = kafka.create(5)
    assert group.commit({(topic, number): number for number in range(5)}, "") == {}
    assert {at: found.offset for at, found in group.committed().items()} == {(topic, n): n for n in range(5)}


def test_a_broker_that_does_not_answer_can_be_asked_again():
    group = ConsumerGroup(KafkaBroker("127.0.0.1:1", {"socket.timeout.ms": 500}), "g")
    for call in (group.members, group.committed, lambda: group.commit({("t", 0): 1}, "")):
        with pytest.raises(StoreUnavailableError, match="consumer group g: the broker did not answer"):
            call()
