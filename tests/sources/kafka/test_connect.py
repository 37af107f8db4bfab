"""The clients of a process: one for each configuration, and none that goes on after it has failed."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection

from airflow_provider_ckpt.sources.kafka import connect as connect_kafka
from airflow_provider_ckpt.sources.kafka.connect import Connection, connected

#: Nobody listens there.
NOBODY = {"bootstrap.servers": "127.0.0.1:1"}


class Watched(dict):
    """The clients of a process, with whether the lock was held at each look and at each change."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[bool] = []

    def get(self, key: object, default: object = None) -> object:
        self.held.append(connect_kafka._MAKING.locked())
        return super().get(key, default)

    def __setitem__(self, key: object, client: object) -> None:
        self.held.append(connect_kafka._MAKING.locked())
        super().__setitem__(key, client)


@pytest.fixture
def connections(monkeypatch) -> Watched:
    """No client yet; those of the test are closed at its end."""
    found = Watched()
    monkeypatch.setattr(connect_kafka, "_CONNECTIONS", found)
    yield found
    for connection in found.values():
        connection.close()


def is_closed(connection: Connection) -> bool:
    """Whether the client has ended, its threads with it: librdkafka waits for them."""
    try:
        connection.client.poll(0)
    except RuntimeError as error:
        return "closed" in str(error)
    return False


def topics(client: object) -> object:
    return client.describe_topics(TopicCollection(["t"]), request_timeout=0.3)


def test_one_configuration_has_one_client_and_no_thread_can_make_another(connections):
    with (
        connected(NOBODY) as first,
        connected(dict(NOBODY)) as second,
        connected({**NOBODY, "client.id": "b"}) as other,
    ):
        assert first is second is not other
    with connected(NOBODY) as again:
        assert again is first, "it was not asked, so it has not failed"
    assert set(connections.held) == {True}
    assert not connect_kafka._MAKING.locked()


def test_a_client_that_was_not_answered_ends(connections):
    for _ in range(3):
        with connected(NOBODY) as connection:
            ((result, complaints),) = connection.ask(topics, 0.3).values()
            assert result is None
            assert complaints[0].name == "_TIMED_OUT"
            assert any("Connection refused" in complaint.text for complaint in complaints)
            assert len(complaints) < 5, "each once"
        assert connections == {}
        assert is_closed(connection)


def test_it_ends_when_the_last_who_asks_has_its_answer(connections):
    with connected(NOBODY) as connection:
        with connected(NOBODY) as other:
            other.ask(topics, 0.3)
        assert connections == {}, "the next one gets another client"
        assert not is_closed(connection)
    assert is_closed(connection)


def test_threads_that_ask_together_share_a_client_that_fails(connections):
    found, used = [], []

    def ask() -> None:
        with connected(NOBODY) as connection:
            used.append(connection)
            found.extend(connection.ask(topics, 0.3).values())

    asking = [threading.Thread(target=ask) for _ in range(20)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert [result for result, _ in found] == [None] * 20
    assert connections == {}
    assert all(map(is_closed, used))


class Answering:
    """A client of whose questions some are answered, and the others run out of time."""

    def __init__(self, answers: list[bool]) -> None:
        self.answers = answers

    def ask(self) -> dict:
        future: Future = Future()
        if self.answers.pop(0):
            future.set_result(SimpleNamespace())
        else:
            future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        return {"t": future}

    def poll(self, _: float) -> None: ...


@pytest.mark.parametrize(
    ("answers", "counts"), [([True, False], False), ([False], True)], ids=["after an answer", "before any"]
)
def test_what_is_told_between_two_questions_is_not_why_the_second_fails(monkeypatch, answers, counts):
    connection = Connection(NOBODY)
    closes = connection.client
    monkeypatch.setattr(connection, "client", Answering(answers))
    for _ in answers[1:]:
        connection.ask(Answering.ask, 1)
    connection._told.error(KafkaError(KafkaError._AUTHENTICATION))
    ((_, complaints),) = connection.ask(Answering.ask, 1).values()
    assert ("_AUTHENTICATION" in [complaint.name for complaint in complaints]) == counts
    closes.__exit__(None, None, None)


def test_a_client_that_nothing_stops_telling_keeps_what_it_said_first():
    told = connect_kafka._Told()
    for number in range(1_000):
        told.log(
            20, "%s [%s] %s", "FAIL", "rdkafka#producer-1", f"[thrd:a:1/bootstrap]: a:1/bootstrap: reason {number}"
        )
        told.log(20, "%s [%s] %s", "CONFWARN", "rdkafka#producer-1", "a line that says no reason")
    assert [complaint.text for complaint in told.complaints] == [f"reason {number}" for number in range(20)]
