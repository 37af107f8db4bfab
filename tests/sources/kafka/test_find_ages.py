"""The age of the first unread record, by a real broker."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.find_ages import STEP, find_ages

pytestmark = pytest.mark.timeout(180)
NOW_MS = 1_767_225_600_000


def test_an_age_is_rounded_up_by_at_most_a_step(kafka):
    topic, ages_ms = kafka.create(4), (604_800_000, 3_600_000, 90_000, 100)
    for age_ms in ages_ms:
        kafka.produce(topic, 1, timestamp_ms=NOW_MS - age_ms)
    kafka.produce(topic, 1, partition=1, timestamp_ms=NOW_MS + 5_000)
    kafka.produce(topic, 2, partition=2, timestamp_ms=NOW_MS - 7_200_000)
    kafka.produce(topic, 1, partition=2, timestamp_ms=NOW_MS - 9_000_000)
    broker = KafkaBroker(kafka.bootstrap, {})
    for offset, age_ms in enumerate(ages_ms):
        (found,) = find_ages(broker, {(topic, 0): offset}, NOW_MS).values()
        assert age_ms <= found <= max(1_000, age_ms * STEP + 1), offset
    assert find_ages(broker, {(topic, 1): 0}, NOW_MS) == {(topic, 1): 1_000}, "a record of the future is new"
    (found,) = find_ages(broker, {(topic, 2): 2}, NOW_MS).values()
    assert 7_200_000 <= found < 7_600_000, "a record out of order is as old as the newest before it"
    assert find_ages(broker, {(topic, 3): 0}, NOW_MS) == {(topic, 3): None}, "a partition without records"
    assert find_ages(broker, {}, NOW_MS) == {}
