"""The clients of a process that ask Kafka brokers: one for each configuration, as long as it is answered."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from typing import Any, TypeVar

from airflow_provider_ckpt.sources.kafka.causes import TIMED_OUT, Complaint, is_final, plain

Key = TypeVar("Key")
#: A result, or why there is none.
Answer = tuple[Any, tuple[Complaint, ...]]
#: Between two looks at what the client tells on the side, seconds. A client serves its callbacks at a look.
_LOOK_S = 0.1
#: By so much the client may miss its own time, seconds.
_GRACE_S = 1.0
#: The same client can tell so many different things; more say no more.
_MOST = 20
_LOG = logging.getLogger(__name__)
_CONNECTIONS: dict[tuple[Any, ...], Connection] = {}
#: Held while a client is looked up, made or counted, so that two threads never make two of which one would be given up.
_MAKING = threading.Lock()


class _Told:
    """Side messages of a client, each once: its errors, and the lines of its log.

    The lines are logged for those who debug: why a question fails is in its error.
    """

    def __init__(self) -> None:
        self.complaints: dict[Complaint, None] = {}

    def error(self, error: Any) -> None:
        """Take an error (``error_cb``)."""
        self._keep(complaint_of(error))

    def log(self, level: int, message: str, *arguments: Any) -> None:
        """Take a line of the log, as a ``logging.Logger`` does."""
        _LOG.debug(message, *arguments)
        if arguments[:1] == ("FAIL",):
            self._keep(Complaint("", plain(str(arguments[-1]))))

    def _keep(self, complaint: Complaint) -> None:
        if len(self.complaints) < _MOST:
            self.complaints[complaint] = None


class Connection:
    """A client that all questions with one configuration share.

    Attributes:
        client: An ``AdminClient``.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        from confluent_kafka.admin import AdminClient

        self.users = 0
        self.has_failed = False
        self._told = _Told()
        #: Once it was answered, what is told between two questions is not why the next one fails. Before, it may be:
        #: a wrong password is told as soon as the client connects.
        self._has_answered = False
        self.client = AdminClient({**config, "error_cb": self._told.error}, logger=self._told)

    def ask(
        self,
        question: Callable[[Any], Mapping[Key, Future[Any]]],
        within_s: float,
        is_answer: Callable[[Any], bool] | None = None,
    ) -> dict[Key, Answer]:
        """Ask, and wait for the answers.

        Args:
            question: Asks the client, and has an answer to come for each part of what was asked.
            within_s: How long that may take in all, seconds.
            is_answer: Tells if a result is one; another counts as if no answer had come in time.
        """
        self.client.poll(0)
        if self._has_answered or self.has_failed:
            self._told.complaints.clear()
        asked, deadline = question(self.client), time.monotonic() + within_s + _GRACE_S
        answers = {key: self._answer(future, deadline) for key, future in asked.items()}
        if is_answer is None:
            return answers
        return {key: answer if answer[1] or is_answer(answer[0]) else self._none() for key, answer in answers.items()}

    def _none(self) -> Answer:
        """No answer in time, whose connection is not waited for any more."""
        self.has_failed = True
        return None, (Complaint(TIMED_OUT, ""), *self._told.complaints)

    def _answer(self, future: Future[Any], deadline: float) -> Answer:
        from confluent_kafka import KafkaException

        while True:
            try:
                result = future.result(_LOOK_S)
            except FutureTimeoutError:
                self.client.poll(0)
                told = tuple(self._told.complaints)  # other threads add to them
                if is_final(told) or time.monotonic() >= deadline:
                    return self._none()
            except KafkaException as exception:
                self.client.poll(0)  # why it does not answer, is told on the side
                own = complaint_of(exception.args[0])
                self.has_failed |= own.is_local
                return None, (own, *(self._told.complaints if own.is_local else ()))
            else:
                self._has_answered = True
                return result, ()

    def close(self) -> None:
        """End the client: no thread of it goes on to knock at a broker."""
        self.client.__exit__(None, None, None)


@contextmanager
def connected(config: Mapping[str, Any]) -> Iterator[Connection]:
    """The client with a configuration. One that was not answered is closed when nobody asks it any more.

    Otherwise it would try to connect once a second as long as the process lives, with a password that is wrong, too.
    A client that is answered is kept. Python's garbage collector may run in a thread of the client, and librdkafka
    aborts the process when a client is destroyed there (confluent-kafka-python, pull requests 2129 and 2131), so
    none is left to it; a confluent-kafka that cannot close a client keeps also those that were not answered.

    Raises KafkaException, TypeError or ValueError for a configuration that the client refuses.
    """
    # A client does not survive a fork, which the executors of Airflow make.
    key = os.getpid(), *sorted((name, str(value)) for name, value in config.items())
    with _MAKING:
        connection = _CONNECTIONS.get(key) or Connection(config)
        _CONNECTIONS[key] = connection
        connection.users += 1
    try:
        yield connection
    finally:
        with _MAKING:
            connection.users -= 1
            gives_up = connection.has_failed and hasattr(connection.client, "__exit__")
            if gives_up and _CONNECTIONS.get(key) is connection:
                del _CONNECTIONS[key]
            is_unused = connection.users == 0
        if gives_up and is_unused:
            connection.close()


def consumer_of(config: Mapping[str, Any]) -> Any:
    """A consumer; what it tells on the side is logged for those who debug."""
    from confluent_kafka import Consumer

    told = _Told()
    return Consumer({**config, "error_cb": told.error}, logger=told)


def complaint_of(error: Any) -> Complaint:
    """A ``KafkaError`` in our words; with its name where its text ends in a colon: the broker said nothing."""
    text = plain(str(error.str()))
    return Complaint(str(error.name()), f"{text} {error.name()}" if text.endswith(":") else text)
