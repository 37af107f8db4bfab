"""The extent of topics, by a real broker."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.sources.kafka import ask as ask_kafka
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.read_extent import read_extent

pytestmark = pytest.mark.timeout(180)


def test_an_extent_has_ids_beginnings_and_ends(kafka, monkeypatch):
    first, second = kafka.create(3), kafka.create()
    kafka.produce(first, 20)
    kafka.produce(first, 10, partition=1)
    kafka.delete_before(first, 5)
    broker = KafkaBroker(kafka.bootstrap, {})
    extent = read_extent(broker, [first, second, "no-such-topic"])
    assert extent.topic_ids.keys() == {first, second}
    assert len(set(extent.topic_ids.values())) == 2
    partitions = [(first, 0), (first, 1), (first, 2), (second, 0)]
    assert extent.earliest == dict(zip(partitions, (5, 0, 0, 0), strict=True))
    assert extent.latest == dict(zip(partitions, (20, 10, 0, 0), strict=True))
    assert broker.requests == 2

    monkeypatch.setattr(ask_kafka, "AT_A_TIME", 3)
    assert read_extent(broker, [second, first]) == extent
    assert broker.requests == 2 + 2 * 2, "two calls for four partitions, three at a time"
    assert "no-such-topic" not in kafka.topics()


def test_no_topics_need_no_request(kafka):
    broker = KafkaBroker(kafka.bootstrap, {})
    assert read_extent(broker, []).partitions == ()
    assert broker.requests == 0
