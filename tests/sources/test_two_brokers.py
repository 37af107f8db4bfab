"""A cluster of two brokers: what is asked of each, and what happens when one of them is slow, hands over, or dies."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.sources.kafka.ask import AT_A_TIME, KafkaBroker, read_extent
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from tests.kafka_cluster import Cluster
from tests.kafka_lab import until
from tests.slow_proxy import SlowProxy, proxied

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]
PARTITIONS = 1_200


@pytest.fixture(scope="module")
def proxy_and_cluster(tmp_path_factory) -> Iterator[tuple[SlowProxy, Cluster]]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    with proxied(cluster.proxy, cluster.second) as proxy:
        cluster.wait()
        yield proxy, cluster
    cluster.stop()


@pytest.fixture
def cluster(proxy_and_cluster) -> Cluster:
    return proxy_and_cluster[1]


@pytest.fixture
def proxy(proxy_and_cluster) -> Iterator[SlowProxy]:
    """In front of the second broker."""
    proxy, _ = proxy_and_cluster
    yield proxy
    proxy.delay_s, proxy.holds, proxy.cuts_after = 0.0, False, None


class Counted:
    """Counts the requests that a client sends, by its statistics: of all brokers together."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def __call__(self, text: str) -> None:
        brokers = json.loads(text)["brokers"].values()
        self.told.append(sum(item["req"].get("ListOffsets", 0) for item in brokers))


def partitions_of(topic: str, count: int) -> list[tuple[str, int]]:
    return [(topic, number) for number in range(count)]


@pytest.mark.parametrize("delay_s", [0.0, 0.3], ids=["quick", "one is slow"])
def test_each_broker_is_asked_twice_for_a_thousand_partitions(cluster, proxy, delay_s):
    topic, counted = cluster.create(PARTITIONS), Counted()
    assert set(cluster.leaders(topic)) == {1, 2}
    read_extent(KafkaBroker(cluster.bootstrap, {"socket.timeout.ms": 60_000}), [topic])  # until new ones have leaders
    proxy.delay_s = delay_s
    config = {"statistics.interval.ms": 100, "stats_cb": counted, "socket.timeout.ms": 60_000}
    brokers, began = Brokers(config), time.monotonic()
    extent = brokers.extent(cluster.bootstrap, [topic])
    took_s = time.monotonic() - began
    assert extent.latest == dict.fromkeys(partitions_of(topic, PARTITIONS), 0)
    proxy.delay_s = 0.0
    enough = len(counted.told) + 2
    broker = brokers.at(cluster.bootstrap)
    until(
        lambda: bool(
            broker.ask(lambda client: dict.fromkeys(range(0 * client.poll(0.1)))) or len(counted.told) >= enough
        )
    )
    most = 2 * 2 * -(-PARTITIONS // AT_A_TIME)
    print(f"{PARTITIONS} partitions of 2 brokers in {took_s:.2f} s: {counted.told[-1]} of at most {most} requests")
    assert brokers.requests == 2 * -(-PARTITIONS // AT_A_TIME)
    assert counted.told[-1] <= most


def test_a_leader_that_never_answers_is_an_error_within_the_timeout(cluster, proxy):
    topic = cluster.create(4)
    led = dict(zip(partitions_of(topic, 4), cluster.leaders(topic), strict=True))
    broker = KafkaBroker(cluster.bootstrap, {"socket.timeout.ms": 2_000})
    assert set(broker.latest(led).values()) == {0}
    proxy.holds = True
    hung = {at for at, leader in led.items() if leader == 2}
    with pytest.raises(StoreUnavailableError, match="did not answer") as failed:
        broker.latest(led)
    assert any(f"partition {name}-{number}" in str(failed.value) for name, number in hung)
    others = [at for at in led if at not in hung]
    assert set(KafkaBroker(cluster.bootstrap, {"socket.timeout.ms": 30_000}).latest(others).values()) == {0}


@pytest.mark.parametrize("suddenly", [False, True], ids=["hands over", "dies"])
def test_a_broker_leaves_while_it_is_asked_for_copies(cluster, proxy, suddenly):
    """Its partitions have copies, so each question is answered, or is an error that another try mends."""
    topic = cluster.create(6, copies=2)
    broker = KafkaBroker(cluster.bootstrap, {"socket.timeout.ms": 5_000})
    expected, answers = dict.fromkeys(partitions_of(topic, 6), 0), []

    def is_answered() -> bool:
        began = time.monotonic()
        try:
            answers.append(broker.latest(expected))
        except StoreUnavailableError:
            assert time.monotonic() - began < 60
            return False
        return True

    until(is_answered)
    cluster.end_second(suddenly=suddenly)
    try:
        until(is_answered)
        assert answers == [expected, expected], "never another offset"
        assert set(cluster.leaders(topic)) == {1}
    finally:
        cluster.start_second()


def test_a_partition_without_a_leader_is_no_answer(cluster, proxy):
    topic = cluster.create(4)
    led = dict(zip(partitions_of(topic, 4), cluster.leaders(topic), strict=True))
    cluster.end_second(suddenly=True)
    try:
        until(lambda: -1 in cluster.leaders(topic))
        with pytest.raises(StoreUnavailableError, match=f"partition {topic}-"):
            KafkaBroker(cluster.bootstrap, {"socket.timeout.ms": 3_000}).latest(led)
    finally:
        cluster.start_second()
    assert set(KafkaBroker(cluster.bootstrap, {"socket.timeout.ms": 60_000}).latest(led).values()) == {0}
