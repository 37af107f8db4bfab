"""Questions to a real broker."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from airflow_provider_ckpt.errors import StoreError, StoreUnavailableError
from airflow_provider_ckpt.sources.kafka import ask as ask_kafka
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker, read_extent
from airflow_provider_ckpt.sources.kafka.connect import connected

pytestmark = pytest.mark.timeout(180)


def test_a_topic_that_was_created_again_has_another_id(kafka):
    broker, name = KafkaBroker(kafka.bootstrap, {}), kafka.create(2)
    (before,) = broker.topics([name]).values()
    assert before is not None
    assert (before.name, before.partitions) == (name, (0, 1))
    kafka.recreate(name)
    (after,) = broker.topics([name]).values()
    assert after is not None
    assert after.topic_id != before.topic_id


def test_a_topic_that_is_not_there_is_none(kafka):
    assert KafkaBroker(kafka.bootstrap, {}).topics(["no-such-topic", "a name that no topic may have"]) == {
        "no-such-topic": None,
        "a name that no topic may have": None,
    }


@pytest.mark.parametrize(("at_ms", "offset"), [(0, 0), (1000, 0), (1001, 1), (3000, 2), (3001, None)])
def test_the_first_record_at_a_time_is_the_first_that_is_not_earlier(kafka, at_ms, offset):
    topic = kafka.create()
    for timestamp_ms in (1000, 2000, 3000):
        kafka.produce(topic, 1, timestamp_ms=timestamp_ms)
    assert KafkaBroker(kafka.bootstrap, {}).first_at([(topic, 0)], at_ms) == {(topic, 0): offset}


def test_servers_win_over_those_of_the_configuration_and_are_shown_without_secrets():
    broker = KafkaBroker("127.0.0.1:2", {"kafka.bootstrap.servers": "127.0.0.1:1"})
    assert broker.location == "kafka:127.0.0.1:2"
    with pytest.raises(StoreError, match="no Kafka broker was given"):
        KafkaBroker("", {})


class Moving:
    """A client whose partitions have a new leader that it does not know yet, a number of times."""

    def __init__(self, client: object, times: int) -> None:
        self.client, self.times = client, times

    def list_offsets(self, wanted: dict, **more: object) -> dict:
        from confluent_kafka import KafkaError, KafkaException

        answered = dict(self.client.list_offsets(wanted, **more))  # the client goes on to fill its own
        if self.times:
            self.times -= 1
            moved: Future = Future()
            moved.set_exception(KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)))
            answered[min(answered)] = moved
        return answered

    def poll(self, _: float) -> None: ...


@pytest.mark.parametrize(("times", "timeout_ms"), [(2, 60_000), (1_000, 500)])
def test_a_partition_whose_leader_has_moved_is_asked_for_again(kafka, monkeypatch, times, timeout_ms):
    topic = kafka.create(2)
    kafka.produce(topic, 3)
    config = {"bootstrap.servers": kafka.bootstrap, "client.id": topic, "socket.timeout.ms": timeout_ms}
    broker = KafkaBroker("", config)
    with connected(config) as connection:
        monkeypatch.setattr(connection, "client", Moving(connection.client, times))
        if times == 2:
            assert broker.latest([(topic, 0), (topic, 1)]) == {(topic, 0): 3, (topic, 1): 0}
            assert broker.requests == 3
        else:
            with pytest.raises(StoreUnavailableError, match="did not answer"):
                broker.latest([(topic, 0)])
        monkeypatch.undo()


def test_a_question_takes_as_long_as_the_configuration_says():
    assert KafkaBroker("127.0.0.1:1", {}).timeout_s == 15
    assert KafkaBroker("127.0.0.1:1", {"kafka.socket.timeout.ms": "2500"}).timeout_s == 2.5


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"sasl.mechanism": "OAUTHBEARER"}, "no way to get a token for OAUTHBEARER"),
        ({"sasl.mechanisms": "OAUTHBEARER", "sasl.oauthbearer.method": "default"}, "no way to get a token"),
        (
            {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": "my.module.token"},
            "the name of a function, and not a function",
        ),
    ],
)
def test_tokens_that_nobody_would_give_are_refused_at_once(config, said):
    with pytest.raises(StoreError, match=said) as refused:
        KafkaBroker("127.0.0.1:1", {"security.protocol": "SASL_PLAINTEXT", **config})
    assert "sasl.oauthbearer.method=oidc" in refused.value.hint


def test_callbacks_of_others_are_left_alone():
    callbacks = dict.fromkeys(("error_cb", "log_cb", "stats_cb", "throttle_cb", "on_commit"), "my.module.callback")
    KafkaBroker("127.0.0.1:1", callbacks)


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
