"""Timestamps of records, read from a real broker."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.errors import StoreError, StoreUnavailableError
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.read_records import FirstSince, Timestamps, read_records

pytestmark = pytest.mark.timeout(180)


def test_records_are_read_from_where_to_where_and_no_group_is_made(kafka):
    topic = kafka.create(4)
    for stamp in (50, 30, 40, 20, 60):
        kafka.produce(topic, 1, timestamp_ms=stamp)
    kafka.produce_in_transaction(topic, 2, commit=True)
    kafka.produce(topic, 3, partition=1, timestamp_ms=7)
    kafka.delete_before(topic, 2, partition=1)
    groups = kafka.groups()
    broker = KafkaBroker(kafka.bootstrap, {})

    def stamps(partition: int, start: int, end: int, most: int) -> Timestamps:
        reading = Timestamps(start, end, most)
        read_records(broker, {(topic, partition): reading})
        return reading

    assert stamps(0, 1, 4, 100) == Timestamps(4, 4, 100, 3, least_ms=20, last_ms=20)
    assert stamps(1, 2, 3, 100) == Timestamps(3, 3, 100, 1, least_ms=7, last_ms=7)
    assert stamps(2, 0, 0, 100) == Timestamps(0, 0, 100)
    assert stamps(0, 0, 8, 2) == Timestamps(2, 8, 2, 2, least_ms=30, last_ms=30)
    assert stamps(0, 7, 8, 9) == Timestamps(8, 8, 9), "the end of a transaction"
    assert kafka.groups() == groups


def test_the_first_record_since_a_time_is_no_end_of_a_transaction(kafka):
    topic = kafka.create()
    kafka.produce_in_transaction(topic, 2, commit=True, timestamp_ms=10)  # 0, 1, and the end with the time of now
    for stamp in (30, 50, 60):
        kafka.produce(topic, 1, timestamp_ms=stamp)
    broker = KafkaBroker(kafka.bootstrap, {})
    (said,) = broker.first_since({(topic, 0): 40}).values()
    assert said == 2, "the broker names the end of the transaction"

    def first(most: int, at_ms: int = 40) -> FirstSince:
        reading = FirstSince(2, 6, most, at_ms)
        read_records(broker, {(topic, 0): reading})
        return reading

    assert (first(9).offset, first(9).upto) == (4, 4)
    assert (first(1).offset, first(1).upto) == (None, 4), "so far nothing is later"
    assert (first(9, 99).offset, first(9, 99).upto) == (None, 6)


def test_records_of_aborted_and_open_transactions_are_read(kafka):
    topic = kafka.create()
    kafka.produce_in_transaction(topic, 1, commit=False, timestamp_ms=10)  # 0, and its end
    still_open = kafka.produce_in_transaction(topic, 1, commit=None, timestamp_ms=30)  # 2
    reading = Timestamps(0, 3, 9)
    read_records(KafkaBroker(kafka.bootstrap, {}), {(topic, 0): reading})
    still_open.abort_transaction(30)
    assert reading == Timestamps(3, 3, 9, 2, least_ms=10, last_ms=30)


def test_a_partition_that_does_not_begin_there_is_an_error(kafka):
    topic = kafka.create()
    kafka.produce(topic, 3)
    kafka.delete_before(topic, 2)
    with pytest.raises(StoreError, match=f"partition {topic}-0 cannot be read"):
        read_records(KafkaBroker(kafka.bootstrap, {}), {(topic, 0): Timestamps(0, 3, 9)})


def test_a_silent_broker_is_unavailable():
    with pytest.raises(StoreUnavailableError, match="did not answer with records"):
        read_records(
            KafkaBroker("127.0.0.1:1", {"client.id": "silent", "socket.timeout.ms": "500"}),
            {("t", 0): Timestamps(0, 3, 9)},
        )
