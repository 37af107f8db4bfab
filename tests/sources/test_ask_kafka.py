"""Questions to a real broker."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from airflow_provider_ckpt.errors import StoreError, StoreUnavailableError
from airflow_provider_ckpt.sources import ask_kafka
from airflow_provider_ckpt.sources.ask_kafka import KafkaBroker

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


def test_a_partition_whose_leader_has_moved_is_asked_for_again(kafka, monkeypatch):
    topic = kafka.create(2)
    kafka.produce(topic, 3)
    broker = KafkaBroker(kafka.bootstrap, {})
    monkeypatch.setattr(broker, "client", Moving(broker.client, 2))
    assert broker.latest([(topic, 0), (topic, 1)]) == {(topic, 0): 3, (topic, 1): 0}
    assert broker.requests == 3
    monkeypatch.setattr(ask_kafka, "TIMEOUT_S", 1.0)
    monkeypatch.setattr(broker, "client", Moving(broker.client, 1_000))
    with pytest.raises(StoreUnavailableError, match="did not answer"):
        broker.latest([(topic, 0)])


class Watched(dict):
    """The clients of a process, with whether the lock was held at each look and at each change."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[bool] = []

    def __contains__(self, key: object) -> bool:
        self.held.append(ask_kafka._MAKING.locked())
        return super().__contains__(key)

    def __setitem__(self, key: object, client: object) -> None:
        self.held.append(ask_kafka._MAKING.locked())
        super().__setitem__(key, client)


def test_one_configuration_has_one_client_and_no_thread_can_make_another(monkeypatch):
    clients, kept = Watched(), ask_kafka._CLIENTS
    monkeypatch.setattr(ask_kafka, "_CLIENTS", clients)
    first, second = (KafkaBroker("127.0.0.1:1", {"client.id": "watched"}) for _ in range(2))
    kept.update(clients)  # no client is destroyed before the end
    assert first.client is second.client
    assert clients.held == [True, True, True], "a look, the change, and another look"
    assert not ask_kafka._MAKING.locked()


class Answering:
    """A client of whose questions some are answered, and the others run out of time."""

    def __init__(self, answers: list[bool]) -> None:
        self.answers = answers

    def describe_topics(self, topics: object, **_: object) -> dict:
        from confluent_kafka import KafkaError, KafkaException

        future: Future = Future()
        if self.answers.pop(0):
            future.set_result(SimpleNamespace(topic_id="1", partitions=[]))
        else:
            future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        return {"t": future}

    def poll(self, _: float) -> None: ...


@pytest.mark.parametrize(
    ("answers", "is_unavailable"), [([True, False], True), ([False], False)], ids=["after an answer", "before any"]
)
def test_an_old_complaint_is_not_why_a_question_fails(monkeypatch, answers, is_unavailable):
    from confluent_kafka import KafkaError

    broker = KafkaBroker("127.0.0.1:1", {"client.id": f"answers-{len(answers)}"})
    complaints = broker._shared.complaints
    monkeypatch.setattr(broker, "client", Answering(answers))
    for _ in answers[1:]:
        broker.topics(["t"])
    complaints.append(KafkaError(KafkaError._AUTHENTICATION))
    with pytest.raises(StoreError) as raised:
        broker.topics(["t"])
    assert isinstance(raised.value, StoreUnavailableError) == is_unavailable
