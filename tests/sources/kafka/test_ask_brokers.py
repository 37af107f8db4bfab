"""Several queries that are asked for together: who gets an answer, and how many requests that takes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import StoreError, StoreUnavailableError
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.sources.kafka import ask_brokers
from airflow_provider_ckpt.sources.kafka.ask import AT_A_TIME, KafkaBroker, batched
from airflow_provider_ckpt.sources.kafka.ask_brokers import STEP, Brokers, find_ages
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.read_lag import LagQuestion, read_ahead, read_lag
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch
from tests.kafka_lab import Broker, until

pytestmark = pytest.mark.timeout(900)
NOW_MS = 1_767_225_600_000
#: Topics, partitions of each, queries that share the topics; in `make exhaustive` as many as a large company has.
TOPICS, PARTITIONS, QUERIES = (200, 50, 20) if os.environ.get("CKPT_EXHAUSTIVE") else (10, 110, 5)


# --- requests --------------------------------------------------------------------------------------------------------


class Counted:
    """Brokers whose client tells which requests it has sent, in its statistics."""

    def __init__(self, bootstrap: str) -> None:
        self._told: list[dict[str, int]] = []
        self.brokers = Brokers({"statistics.interval.ms": 100, "stats_cb": self._keep})
        self._broker = self.brokers.at(bootstrap)

    def _keep(self, text: str) -> None:
        brokers = json.loads(text)["brokers"].values()
        sums = {kind: sum(item["req"].get(kind, 0) for item in brokers) for kind in ("ListOffsets", "Metadata")}
        self._told.append(sums)

    def sent(self) -> dict[str, int]:
        """Requests up to now, by type."""
        enough, deadline = len(self._told) + 2, time.monotonic() + 60  # the first may have been made before
        while len(self._told) < enough:
            self._broker.ask(lambda client: (client.poll(0.1) and {}) or {})
            assert time.monotonic() < deadline, "the client tells no statistics"
        return self._told[-1]


@pytest.fixture(scope="module")
def large(kafka, tmp_path_factory):
    """A broker for many partitions, which in `make exhaustive` need more memory than the broker of all tests has."""
    if TOPICS * PARTITIONS <= 2_000:
        yield kafka
        return
    broker = Broker(tmp_path_factory.mktemp("large"), memory="1g")
    yield broker
    broker.stop()


@pytest.fixture(scope="module")
def topics(large) -> list[str]:
    """Topics with one record in the first partition of three of them."""
    names = [f"many-{os.getpid()}-{number:03d}" for number in range(TOPICS)]
    broker = KafkaBroker(large.bootstrap, {})
    for some in batched(names, 10):  # a broker refuses to make thousands of partitions at once
        made = large.admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in some], request_timeout=120)
        for future in made.values():
            future.result(120)
        until(
            lambda some=some: all(
                topic and len(topic.partitions) == PARTITIONS for topic in broker.topics(some).values()
            )
        )
        # A broker moves the partitions of new topics for a while; a question about them is asked again until it does not.
        until(lambda some=some: _has_settled(broker, some))
    for name in names[:3]:
        large.produce(name, 1, timestamp_ms=NOW_MS - 60_000)
    return names


def _has_settled(broker: KafkaBroker, names: Sequence[str]) -> bool:
    try:
        broker.latest((name, number) for name in names for number in range(PARTITIONS))
    except StoreError:
        return False
    return True


def query_of(checkpoint: Path, topics: list[str], bootstrap: str):
    commit_batch(checkpoint, 5, {topic: dict.fromkeys(range(PARTITIONS), 0) for topic in topics})
    return observe(Store.open(str(checkpoint))), LagQuestion(parse_by_id({"0": f"kafka:{bootstrap}"}))


def test_one_query_of_many_topics(large, topics, tmp_path):
    counted, (view, question) = Counted(large.bootstrap), query_of(tmp_path, topics, large.bootstrap)
    began = time.monotonic()
    (lag,) = read_lag(view, question, Access(Store.open), NOW_MS, counted.brokers)
    took_s = time.monotonic() - began
    assert (lag.total, len(lag.partitions)) == (3, TOPICS * PARTITIONS)
    assert lag.next_batch.batch.offsets == 3
    _check(counted, f"one query, {took_s:.2f} s")


def test_a_fleet_over_as_many_topics(large, topics, tmp_path):
    counted, each = Counted(large.bootstrap), TOPICS // QUERIES
    queries = [
        query_of(tmp_path / str(number), topics[number * each : (number + 1) * each], large.bootstrap)
        for number in range(QUERIES)
    ]
    began = time.monotonic()
    read_ahead(queries, counted.brokers, NOW_MS)
    lags = [read_lag(*query, Access(Store.open), NOW_MS, counted.brokers)[0] for query in queries]
    took_s = time.monotonic() - began
    assert sum(lag.total for lag in lags) == 3
    assert sum(len(lag.partitions) for lag in lags) == TOPICS * PARTITIONS
    _check(counted, f"{QUERIES} queries, {took_s:.2f} s")


def _check(counted: Counted, what: str) -> None:
    partitions, brokers = TOPICS * PARTITIONS, 1
    most = brokers * 2 * -(-partitions // AT_A_TIME)
    sent = counted.sent()
    print(f"{what}: {partitions} partitions, {sent['ListOffsets']} of at most {most} ListOffsets, {sent}")
    assert sent["ListOffsets"] == counted.brokers.requests <= most


def test_ages_are_asked_for_together_and_a_partition_that_two_queries_read_for_both(kafka, tmp_path):
    topic = kafka.create(3)
    for partition, age_ms in enumerate((60_000, 3_600_000)):
        kafka.produce(topic, 2, partition, timestamp_ms=NOW_MS - age_ms)
    kafka.produce(topic, 1, timestamp_ms=NOW_MS - 5_000)
    question = LagQuestion(parse_by_id({"0": f"kafka:{kafka.bootstrap}"}), ages=True)
    queries = []
    for name, first in (("a", 0), ("b", 2), ("c", 2)):
        commit_batch(tmp_path / name, 0, {topic: {0: first, 1: 1, 2: 0}})
        queries.append((observe(Store.open(str(tmp_path / name))), question))
    counted = Counted(kafka.bootstrap)
    read_ahead(queries, counted.brokers, NOW_MS)
    before = counted.sent()["ListOffsets"]
    lags = [read_lag(*query, Access(Store.open), NOW_MS, counted.brokers)[0] for query in queries]
    assert [[part.age_ms is not None for part in lag.partitions] for lag in lags] == [[True, True, False]] * 3
    assert lags[0].partitions[0].age_ms > 60_000 > lags[1].partitions[0].age_ms >= 5_000
    assert lags[1].partitions == lags[2].partitions
    assert counted.sent()["ListOffsets"] == before <= 2 + 2 * 9, "two offsets of one partition take two rounds"


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """A broker that refuses the topic `secret`, is silent at `down:1`, lets nobody in at `shut:1`; what it was asked."""
    asked: list[tuple[str, tuple[str, ...]]] = []

    def read(servers: str, names: list[str]) -> Extent:
        asked.append((servers, tuple(names)))
        if servers == "down:1":
            raise StoreUnavailableError("no answer", location=f"kafka:{servers}")
        if servers == "shut:1":
            raise StoreError("wrong password", location=f"kafka:{servers}", hint="Check it.")
        if "secret" in names:
            raise StoreError("not authorized", location=servers)
        there = [name for name in names if name != "absent"]
        return Extent({name: f"id of {name}" for name in there}, {(n, 0): 0 for n in there}, {(n, 0): 9 for n in there})

    class Servers(str):
        @property
        def lets_nobody_in(self) -> bool:
            return self == "shut:1"

    monkeypatch.setattr(ask_brokers, "KafkaBroker", lambda servers, _: Servers(servers))
    monkeypatch.setattr(ask_brokers, "read_extent", read)
    return asked


def test_a_topic_is_asked_about_once(asked):
    brokers = Brokers({})
    brokers.ask([("up:1", ["a", "b"]), ("up:1", ["b", "absent"]), ("up:2", ["a"])])
    assert asked == [("up:1", ("a", "absent", "b")), ("up:2", ("a",))]
    assert brokers.extent("up:1", ["b", "absent"]) == Extent({"b": "id of b"}, {("b", 0): 0}, {("b", 0): 9})
    assert brokers.extent("up:1", ["a", "b"]).partitions == (("a", 0), ("b", 0))
    assert len(asked) == 2


def test_a_refused_topic_keeps_no_other_query_back(asked):
    brokers = Brokers({})
    brokers.ask([("up:1", ["a"]), ("up:1", ["secret"])])
    assert brokers.extent("up:1", ["a"]).topic_ids == {"a": "id of a"}
    with pytest.raises(StoreError, match="not authorized"):
        brokers.extent("up:1", ["secret"])


def test_a_silent_broker_is_asked_once(asked):
    brokers = Brokers({})
    brokers.ask([("down:1", ["a"]), ("down:1", ["b"])])
    for topic in "ab":
        with pytest.raises(StoreUnavailableError, match="kafka:down:1: no answer"):
            brokers.extent("down:1", [topic])
    assert asked == [("down:1", ("a", "b"))]


def test_a_broker_that_refuses_the_credentials_is_asked_once(asked):
    """A password that is wrong for one query is wrong for all; to try it for each of them may lock the account."""
    brokers = Brokers({})
    brokers.ask([("shut:1", ["a"]), ("shut:1", ["b"])])
    for topic in "ab":
        with pytest.raises(StoreError, match="kafka:shut:1: wrong password. Check it.") as refused:
            brokers.extent("shut:1", [topic])
        assert not refused.value.retryable
    assert asked == [("shut:1", ("a", "b"))]


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


def test_each_cluster_has_its_own_configuration_and_connections_can_be_kept():
    brokers = Brokers({"client.id": "a"}, configs={"b1:9092": {"client.id": "b", "socket.timeout.ms": "9000"}})
    assert brokers.at("b1:9092").timeout_s == 9 and brokers.at("b2:9092").timeout_s == 15
    again = Brokers({}, brokers.connections)
    assert again.at("b1:9092") is brokers.at("b1:9092")
