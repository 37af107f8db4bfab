"""A consumer group of a real broker, from outside of it."""

from __future__ import annotations

import uuid

import pytest

from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.consumer_group import ConsumerGroup, GroupOffset

pytestmark = pytest.mark.timeout(180)


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
    monkeypatch.setattr("airflow_provider_ckpt.sources.kafka.consumer_group.AT_A_TIME", 2)
    topic = kafka.create(5)
    assert group.commit({(topic, number): number for number in range(5)}, "") == {}
    assert {at: found.offset for at, found in group.committed().items()} == {(topic, n): n for n in range(5)}


def test_a_broker_that_does_not_answer_can_be_asked_again():
    group = ConsumerGroup(KafkaBroker("127.0.0.1:1", {"socket.timeout.ms": 500}), "g")
    for call in (group.members, group.committed, lambda: group.commit({("t", 0): 1}, "")):
        with pytest.raises(StoreUnavailableError, match="consumer group g: the broker did not answer"):
            call()
