"""Brokers that are slow, that break off, that never answer, and that die: an answer, or an error within the timeout."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.errors import StoreUnavailableError
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker, read_extent
from airflow_provider_ckpt.sources.kafka.publication import Publication
from airflow_provider_ckpt.sources.kafka.publish import ConsumerGroup, publish_all
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import ToEarliest
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_query import KafkaQuery
from tests.slow_proxy import SlowProxy, proxied

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def topic(kafka) -> str:
    """Two records in one of two partitions."""
    topic = kafka.create(2)
    kafka.produce(topic, 2)
    return topic


@pytest.fixture
def proxy(kafka) -> Iterator[SlowProxy]:
    """In front of the broker, which sends its clients there as well."""
    with proxied(kafka.proxy, kafka.at("PROXIED")) as proxy:
        yield proxy


def broker_at(bootstrap: str, timeout_ms: int = 1_500) -> KafkaBroker:
    return KafkaBroker(bootstrap, {"socket.timeout.ms": timeout_ms, "client.id": f"slow-{time.monotonic_ns()}"})


def test_a_slow_broker_is_waited_for(proxy, topic):
    proxy.delay_s = 0.2
    extent = read_extent(broker_at(proxy.bootstrap, 30_000), [topic])
    assert extent.latest == {(topic, 0): 2, (topic, 1): 0}


QUESTIONS = {
    "topics": lambda broker, topic: broker.topics([topic]),
    "retention": lambda broker, topic: broker.retention([topic]),
    "latest": lambda broker, topic: broker.latest([(topic, 0)]),
    "first at a time": lambda broker, topic: broker.first_at([(topic, 0)], 0),
    "members": lambda broker, topic: ConsumerGroup(broker, f"slow-{topic}").members(),
    "committed": lambda broker, topic: ConsumerGroup(broker, f"slow-{topic}").committed(),
    "commit": lambda broker, topic: ConsumerGroup(broker, f"slow-{topic}").commit({(topic, 0): 1}, ""),
}


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(question, id=name, marks=[] if name in ("latest", "commit") else [pytest.mark.exhaustive])
        for name, question in QUESTIONS.items()
    ],
)
def test_a_broker_that_is_too_slow_is_not(proxy, topic, question):
    """Its answers would come; an offset of -1001, which the client makes of none, is no answer."""
    broker = broker_at(proxy.bootstrap)
    QUESTIONS["latest"](broker, topic)
    proxy.delay_s = 5
    with pytest.raises(StoreUnavailableError, match="the broker did not answer .asked for 1.5 s."):
        question(broker, topic)
    proxy.delay_s = 0
    assert broker_at(proxy.bootstrap, 30_000).latest([(topic, 0)]) == {(topic, 0): 2}


def test_a_broker_that_takes_what_is_asked_and_never_answers(proxy, topic):
    proxy.holds = True
    with pytest.raises(StoreUnavailableError, match=f"topic {topic}: the broker did not answer"):
        broker_at(proxy.bootstrap).topics([topic])
    assert proxy.asked


def test_a_broker_that_hangs_does_not_hold_up_the_next_question(proxy, topic):
    broker = broker_at(proxy.bootstrap)
    proxy.holds = True
    with pytest.raises(StoreUnavailableError):
        broker.topics([topic])
    proxy.holds = False
    assert broker.topics([topic])[topic].partitions == (0, 1), "a new connection"


@pytest.mark.parametrize(
    "cut", [0, 4, 40, pytest.param(150, marks=pytest.mark.exhaustive), pytest.param(300, marks=pytest.mark.exhaustive)]
)
def test_a_connection_that_breaks_in_the_middle_of_an_answer(proxy, topic, cut):
    proxy.cuts_after = cut
    with pytest.raises(StoreUnavailableError) as failed:
        broker_at(proxy.bootstrap).topics([topic])
    assert failed.value.location == f"kafka:{proxy.bootstrap}"
    proxy.cuts_after = None
    assert topic in broker_at(proxy.bootstrap).topics([topic])


@pytest.mark.parametrize(
    ("bootstrap", "said"),
    [
        ("127.0.0.1:1", "Connection refused. Check that it runs, and bootstrap.servers"),
        ("no-such-host.invalid:9092", "its host is not known .asked for 1.5 s.: Failed to resolve"),
    ],
)
def test_nobody_is_there(bootstrap, said):
    with pytest.raises(StoreUnavailableError, match=said) as failed:
        broker_at(bootstrap).topics(["orders"])
    assert failed.value.location == f"kafka:{bootstrap}"


def test_one_of_two_bootstrap_servers_is_enough(kafka, topic):
    broker = broker_at(f"127.0.0.1:1,{kafka.bootstrap}", 30_000)
    assert broker.latest([(topic, 0)]) == {(topic, 0): 2}


@pytest.mark.parametrize("is_forwarded", [False, True], ids=["before it arrives", "before it is answered"])
def test_a_publication_that_is_cut_off_is_an_error_and_is_done_again(
    kafka, proxy, topic, tmp_path, monkeypatch, is_forwarded
):
    """What was asked for before that has changed nothing; of what was sent, the whole or nothing arrived."""
    query, group = KafkaQuery(tmp_path / "orders"), f"cut-{topic}"
    query.commit({topic: {"0": 1, "1": 0}})
    stores, broker, commit = [Store.open(str(query.checkpoint))], broker_at(proxy.bootstrap), ConsumerGroup.commit

    def cut_off(*given: object) -> object:
        proxy.holds, proxy.delay_s = not is_forwarded, 5
        return commit(*given)

    publish_all(stores, broker, f"warm-{topic}")  # the first group of a broker takes long
    monkeypatch.setattr(ConsumerGroup, "commit", cut_off)
    (outcome,) = publish_all(stores, broker, group)
    assert isinstance(outcome, StoreUnavailableError)
    assert (outcome.exit_code, outcome.location) == (5, stores[0].location)
    assert f"{broker.location}: consumer group {group}: the broker did not answer" in outcome.message
    committed = ConsumerGroup(KafkaBroker(kafka.bootstrap, {}), group).committed()
    assert len(committed) in ({0, 2} if is_forwarded else {0})

    monkeypatch.undo()
    proxy.holds, proxy.delay_s = False, 0
    (outcome,) = publish_all(stores, broker_at(proxy.bootstrap, 30_000), group)
    assert isinstance(outcome, Publication)
    committed = ConsumerGroup(KafkaBroker(kafka.bootstrap, {}), group).committed()
    assert {at: item.offset for at, item in committed.items()} == {(topic, 0): 1, (topic, 1): 0}


def test_a_reset_whose_broker_goes_while_it_is_asked_has_no_plan(proxy, topic, tmp_path, monkeypatch):
    query = KafkaQuery(tmp_path / "orders")
    query.commit({topic: {"0": 1, "1": 0}})
    query.commit({topic: {"0": 2, "1": 0}})
    before = {path: path.read_bytes() for path in query.checkpoint.rglob("*") if path.is_file()}
    broker, earliest = broker_at(proxy.bootstrap), KafkaBroker.earliest

    def goes(*given: object) -> object:
        found = earliest(*given)
        proxy.holds = True
        return found

    monkeypatch.setattr(KafkaBroker, "earliest", goes)
    with pytest.raises(StoreUnavailableError, match="the broker did not answer"):
        make_reset(Stores(Store.open(str(query.checkpoint))), "0", KafkaAim(broker, ToEarliest()))
    assert {path: path.read_bytes() for path in query.checkpoint.rglob("*") if path.is_file()} == before
