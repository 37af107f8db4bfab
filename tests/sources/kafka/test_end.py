"""Where Kafka topics end, by a real broker."""

from __future__ import annotations

import json
import time

import pytest

from airflow_provider_ckpt.errors import StoreError, StoreUnavailableError
from airflow_provider_ckpt.sources.kafka import ask as ask_kafka
from airflow_provider_ckpt.waiting import SourceEndReached

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def offsets(kafka, end):
    """The end of topics, as the offset that a query has to reach."""

    def ask(topics: str, stands: object = None, **more: object) -> object:
        at = None if stands is None else json.dumps(stands)
        return json.loads(end(f"kafka:{kafka.bootstrap}/{topics}", at, **more).offsets["0"])

    return ask


def test_the_end_is_where_the_next_record_of_each_partition_goes(kafka, offsets):
    first, second = kafka.create(2), kafka.create()
    kafka.produce(first, 5, partition=0)
    kafka.produce(first, 3, partition=1)
    kafka.produce(second, 1)
    assert offsets(f"{first},{second}") == {first: {"0": 5, "1": 3}, second: {"0": 1}}


def test_without_a_declared_topic_those_count_that_the_query_has_read(kafka, offsets):
    topic = kafka.create()
    kafka.produce(topic, 4)
    assert offsets("", {topic: {"0": 1}}) == {topic: {"0": 4}}
    with pytest.raises(StoreError, match="none was declared and no batch is committed"):
        offsets("")


@pytest.mark.spark
def test_a_frozen_end_is_reached_when_what_was_there_is_committed(kafka, spark, ends, progress, tmp_path):
    from tests.kafka_lab import run_query, session_of

    session = session_of(spark)
    topic, checkpoint = kafka.create(), tmp_path / "checkpoint"
    declared = ends(checkpoint, s0=f"kafka:{kafka.bootstrap}/{topic}")
    kafka.produce(topic, 10)
    run_query(session, kafka, topic, checkpoint)
    kafka.produce(topic, 5)
    frozen = SourceEndReached().bound(declared, progress(checkpoint))
    kafka.produce(topic, 7)

    assert not frozen.reached(progress(checkpoint))
    run_query(session, kafka, topic, checkpoint, limit=4)  # one record is missing
    assert not frozen.reached(progress(checkpoint))
    assert declared.end_at(None, progress(checkpoint), slack=8).reached(progress(checkpoint))
    assert not declared.end_at(None, progress(checkpoint), slack=7).reached(progress(checkpoint))
    read = run_query(session, kafka, topic, checkpoint, limit=1)
    assert read == [(topic, 0, 14)]
    assert frozen.reached(progress(checkpoint)), "what came later is not waited for"


def test_a_new_partition_counts_from_its_first_record_on(kafka, offsets):
    topic = kafka.create()
    kafka.produce(topic, 7)
    kafka.grow(topic, 2)
    stands = {topic: {"0": 7}}
    assert offsets(topic, stands) == {topic: {"0": 7}}, "a query without new records writes no batch"
    kafka.produce(topic, 2, partition=1)
    assert offsets(topic, stands) == {topic: {"0": 7, "1": 2}}


def test_markers_of_transactions_count_as_they_do_for_spark(kafka, offsets):
    topic = kafka.create()
    for commit, until in ((True, 4), (False, 8)):
        kafka.produce_in_transaction(topic, 3, commit=commit)
        soon = time.monotonic() + 30  # the broker writes the marker after it has answered
        while offsets(topic) != {topic: {"0": until}} and time.monotonic() < soon:
            time.sleep(0.05)
        assert offsets(topic) == {topic: {"0": until}}, "three records and a marker"


def test_an_open_transaction_keeps_the_end_back_where_the_query_reads_what_is_committed(kafka, offsets):
    topic = kafka.create()
    kafka.produce(topic, 2)
    open_transaction = kafka.produce_in_transaction(topic, 3, commit=None)
    committed = {"kafka_config": {"kafka.isolation.level": "read_committed"}}
    assert offsets(topic) == {topic: {"0": 5}}
    assert offsets(topic, **committed) == {topic: {"0": 2}}
    open_transaction.commit_transaction(30)
    soon = time.monotonic() + 30  # the broker writes the marker after it has answered
    while offsets(topic, **committed)[topic]["0"] < 5 and time.monotonic() < soon:
        time.sleep(0.05)
    assert offsets(topic, **committed)[topic]["0"] >= 5


def test_records_that_were_deleted_do_not_move_the_end(kafka, offsets):
    topic = kafka.create()
    kafka.produce(topic, 5)
    kafka.delete_before(topic, 4)
    assert offsets(topic) == {topic: {"0": 5}}


@pytest.mark.parametrize(("at_ms", "until"), [(999, None), (1000, 1), (1999, 1), (2000, 2), (2500, 2), (9000, 3)])
def test_at_a_time_the_end_is_the_first_later_record(kafka, offsets, at_ms, until):
    topic = kafka.create()
    for timestamp_ms in (1000, 2000, 3000):
        kafka.produce(topic, 1, timestamp_ms=timestamp_ms)
    assert offsets(topic, at_ms=at_ms) == ({topic: {"0": until}} if until else {})


def test_a_topic_that_was_created_anew_is_no_end_that_the_query_has_passed(kafka, offsets):
    topic = kafka.create()
    kafka.produce(topic, 5)
    with pytest.raises(
        StoreError, match=r"is at offset 500 of partition .*, which ends at 5: the topic was created again"
    ):
        offsets(topic, {topic: {"0": 500}})


def test_asking_leaves_no_trace(kafka, offsets):
    topic = kafka.create()
    kafka.produce(topic, 1)
    topics, groups = kafka.topics(), kafka.groups()
    with pytest.raises(StoreError, match="topic no-such-topic does not exist") as refused:
        offsets(f"{topic},no-such-topic")
    assert not isinstance(refused.value, StoreUnavailableError)
    offsets(topic)
    assert (kafka.topics(), kafka.groups()) == (topics, groups)


def test_a_broker_that_does_not_answer_can_be_asked_again(end, monkeypatch):
    usual_s, started = ask_kafka.TIMEOUT_S, time.monotonic()
    monkeypatch.setattr(ask_kafka, "TIMEOUT_S", 0.5)
    config = {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "hunter2"}
    with pytest.raises(StoreUnavailableError, match="did not answer") as unavailable:
        end("kafka:127.0.0.1:1/orders", kafka_config={**config, "security.protocol": "SASL_PLAINTEXT"})
    assert time.monotonic() - started < usual_s
    assert unavailable.value.retryable
    assert "hunter2" not in str(unavailable.value)


@pytest.mark.parametrize(
    "config",
    [
        {"kafka.sasl.jaas.config": 'Module required password="hunter2";'},
        {"ssl.key.password": "hunter2", "no.such.key": "1"},
        {"sasl.password": "hunter2", "security.protocol": "hunter2"},
    ],
)
def test_a_configuration_that_is_refused_is_named_without_its_secrets(end, config):
    with pytest.raises(StoreError, match="refuses the configuration") as refused:
        end("kafka:127.0.0.1:1/orders", kafka_config=config)
    assert "hunter2" not in str(refused.value)


def test_an_offset_of_another_source_is_refused(kafka, end):
    with pytest.raises(StoreError, match="source 0 is not a Kafka source"):
        end(f"kafka:{kafka.bootstrap}/orders", '{"logOffset":3}')
