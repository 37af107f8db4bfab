"""Lags, from a checkpoint and a real broker."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import CheckpointError, StoreError
from airflow_provider_ckpt.query.deploy import DeploySpec, declare
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.query.source_options import parse_options
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.read_lag import LagQuestion, SourceLag, question_of, read_lag
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch, plan_batch

pytestmark = pytest.mark.timeout(180)
NOW_MS = 1_767_225_600_000


@pytest.fixture
def lag(tmp_path):
    """The lag of each source of the checkpoint, by its id."""

    def ask(options: tuple[tuple[str, str], ...] = (), *, ages: bool = False, **sources: str) -> dict[str, SourceLag]:
        store = Store.open(str(tmp_path / "checkpoint"))
        declared = {name.removeprefix("s"): text for name, text in sources.items()}
        question = LagQuestion(parse_by_id(declared), parse_options(options), ages)
        found = read_lag(observe(store), question, Access(Store.open, store), NOW_MS)
        return {source.source_id: source for source in found}

    return ask


def test_a_query_of_two_sources(kafka, tmp_path, lag):
    first, second = kafka.create(2, retention_ms="90000000000000"), kafka.create()
    kafka.produce(first, 20, timestamp_ms=NOW_MS - 60_000)
    kafka.produce(first, 5, partition=1, timestamp_ms=NOW_MS - 60_000)
    kafka.produce(second, 4)
    commit_batch(tmp_path / "checkpoint", 6, {first: {0: 8}}, "17")
    plan_batch(tmp_path / "checkpoint", 7, {first: {0: 10, 1: 0}}, "19")
    place = f"kafka:{kafka.bootstrap}"
    found = lag((("0.maxOffsetsPerTrigger", "5"),), ages=True, s0=f"{place}/{first},{second}", s1="rate")
    assert [(part.position, part.end, part.unread) for part in found["0"].partitions if part.topic == first] == [
        (8, 20, 12),
        (None, 5, 5),
    ]
    assert found["0"].total == 12 + 5 + 4
    assert found["0"].age_ms > 60_000
    assert found["0"].expires_ms == 90_000_000_000_000 - max(
        part.age_ms for part in found["0"].partitions if part.topic == first
    )
    assert found["0"].next_batch.planned
    assert found["0"].next_batch.batch.offsets == 2
    assert "no end that can be asked for" in found["1"].notes[0]
    assert found["1"].total is None
    undeclared = lag(s1="rate")["0"]
    assert "was not declared" in undeclared.notes[0]
    assert lag(s0=place)["0"].total == 17, "without a declared topic those count that it has read"


def test_what_cannot_be_asked_is_an_error(kafka, tmp_path, lag):
    commit_batch(tmp_path / "checkpoint", 0, '{"logOffset":3}')
    odd = lag(s0=f"kafka:{kafka.bootstrap}/orders")["0"]
    assert not odd.is_known and "not an offset of the source type kafka" in odd.notes[0]
    with pytest.raises(CheckpointError, match="has no source '5'"):
        lag(s5=f"kafka:{kafka.bootstrap}/orders")
    commit_batch(tmp_path / "checkpoint", 1, "{}")
    with pytest.raises(CheckpointError, match="topics of the source are not known"):
        lag(s0=f"kafka:{kafka.bootstrap}")
    with pytest.raises(StoreError, match="no Kafka broker was given"):
        lag(s0="kafka")


DEPLOY = declare(
    DeploySpec(),
    {
        "sources": {"0": "kafka:b:9092/t", "1": "rate", "2": "delta:/lake/t", "3": ""},
        "source_options": {"0.maxOffsetsPerTrigger": 5},
        "trigger": "once",
    },
)


def test_the_question_has_every_source_whose_type_is_declared():
    question = question_of(DEPLOY, ages=True)
    texts = {source_id: source.text for source_id, source in question.sources.items()}
    assert texts == {"0": "kafka:b:9092/t", "1": "rate", "2": "delta:/lake/t"}
    assert question.options == parse_options([("0.maxOffsetsPerTrigger", "5")], "once")
    assert question.ages


def test_a_number_of_sources_asks_nobody():
    assert question_of(declare(DeploySpec(), {"sources": 2})).sources == {}
    assert question_of(DeploySpec()).sources == {}
