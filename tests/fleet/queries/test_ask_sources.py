"""The sources of one query: one that does not answer does not silence the others."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.fleet.queries.ask_sources import NO_PLACE, ask_sources
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.read_lag import LagQuestion
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch


@pytest.fixture
def ask(tmp_path):
    """Ask the sources of a query that has read nothing of a directory with one file, and a bit of a topic."""
    commit_batch(tmp_path / "c", 3, '{"logOffset":-1}', {"t": {0: 5}})
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a").write_bytes(b"12345")
    store = Store.open(str(tmp_path / "c"))

    def call(late: dict[str, str] | None = None, **declared: str):
        question = LagQuestion(parse_by_id({name.lstrip("s"): text for name, text in declared.items()}))
        access = Access(Store.open, store)
        return ask_sources(observe(store), question, access, 1_767_225_700_000, Brokers({}), late or {})

    call.files = f"file:{tmp_path}/in"
    return call


def test_a_broker_that_was_late_is_not_asked_again(ask):
    answer = ask({"b:9092": "kafka:b:9092 did not answer"}, s0=ask.files, s1="kafka:b:9092/t")
    files, kafka = answer.sources
    assert (files.source_id, files.total) == ("0", 1)
    assert not kafka.is_known and kafka.notes == ("kafka:b:9092 did not answer",)
    assert answer.error == "kafka:b:9092 did not answer"


def test_one_that_fails_is_named_and_the_others_are_counted(ask):
    answer = ask(s0=f"{ask.files}/nowhere", s1="rate")
    assert answer.error is not None and not answer.sources[0].is_known
    assert answer.sources[1].source_type == "rate"


def test_a_type_without_a_place_is_not_known_and_no_error(ask):
    answer = ask(s0="file", s1="kafka")
    assert [source.notes for source in answer.sources] == [(NO_PLACE,), (NO_PLACE,)]
    assert answer.error is None


def test_one_that_the_query_does_not_have_is_an_error_and_one_that_is_not_declared_is_not_known(ask):
    answer = ask(s0=ask.files, s7="rate")
    found = {source.source_id: source for source in answer.sources}
    assert found["0"].total == 1 and found["1"].source_type is None
    assert "the query has no source '7'" in answer.error
