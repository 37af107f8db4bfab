"""What all sources of a query say together, and that a source that nobody was asked about is named."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.query.source import parse_source
from airflow_provider_ckpt.sources.delta import judge as judge_delta
from airflow_provider_ckpt.sources.judge_sources import can_lose, judge_sources
from airflow_provider_ckpt.sources.kafka import ask_brokers
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.kafka.loss import Losses
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.table_loss import TableLosses
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch, plan_batch, write_initial_offset

DELTA = '{"sourceVersion":1,"reservoirId":"a","reservoirVersion":3,"index":-1,"isStartingVersion":false}'


def declared(sources):
    return {source_id: parse_source(text or "", source_id) for source_id, text in sources.items()}


@pytest.fixture
def judge(tmp_path, monkeypatch):
    """What the sources of a query of a topic and a table say; the table keeps seven milliseconds."""
    monkeypatch.setattr(ask_brokers, "KafkaBroker", lambda servers, _: servers)
    monkeypatch.setattr(ask_brokers, "read_extent", lambda *_: Extent({"t": "new"}, {("t", 0): 20}, {("t", 0): 30}))
    monkeypatch.setattr(ask_brokers.Brokers, "firsts", lambda *_: {("t", 0): None})
    table = TableLosses(unknown=("source options",), expires_ms=7)
    monkeypatch.setattr(judge_delta, "judge", lambda at, declared, access: table)
    commit_batch(tmp_path, 0, {"t": {0: 10}}, DELTA)

    def ask(sources: dict[str, str | None], config: dict[str, str] | None = None, **known_ids: str) -> Losses:
        store = Store.open(str(tmp_path))
        access = Access(Store.open, store, config or {})
        brokers = ask_brokers.Brokers(access.kafka_config)
        ids = {f"0/{name}": topic_id for name, topic_id in known_ids.items()}
        return judge_sources(observe(store), declared(sources), {}, access, brokers, 0, known_ids=ids)

    return ask


def test_findings_what_was_not_judged_ids_and_expiry_of_all_are_taken_together(judge):
    lost = judge({"0": "kafka:a:1/t", "1": "delta:/t"})
    assert [finding.code for finding in lost.findings] == ["CKPT250"]
    assert (lost.unknown, lost.topic_ids, lost.expires_ms) == (("topic ids", "source options"), {"0/t": "new"}, 7)


@pytest.mark.parametrize("sources", [{"0": "delta:/t"}, {"1": "kafka:a:1/t"}])
def test_a_source_whose_offsets_are_of_another_type_is_not_asked(judge, sources):
    lost = judge(sources)
    assert not lost.findings and {f"data loss of source {name}" for name in sources} <= set(lost.unknown)


def test_a_topic_is_known_by_the_id_that_it_had(judge):
    lost = judge({"0": "kafka:a:1/t", "1": "rate"}, t="old")
    assert "CKPT253" in [finding.code for finding in lost.findings]
    assert lost.unknown == ()


@pytest.mark.parametrize(("sources", "unasked"), [
    ({"0": "kafka", "1": "kafka"}, ["0", "1"]),
    ({"0": "kafka:", "1": "Delta:"}, ["0", "1"]),
    ({"0": "delta", "1": "iceberg"}, ["0", "1"]),
    ({"0": "file", "1": None}, ["0", "1"]),
    ({"0": "rate", "1": "kinesis"}, []),
    ({"0": "kafka:a:1/t"}, ["1"]),
    ({"1": "delta:/t"}, ["0"]),
    ({}, ["0", "1"]),
])  # fmt: skip
def test_whose_loss_nobody_was_asked_about_is_named(judge, sources, unasked):
    named = [name for name in judge(sources).unknown if name.startswith("data loss of source")]
    assert named == [f"data loss of source {name}" for name in unasked]


@pytest.mark.parametrize("key", ["bootstrap.servers", "kafka.bootstrap.servers"])
def test_the_brokers_may_be_those_of_the_client(judge, key):
    lost = judge({"0": "kafka", "1": "rate"}, {key: "a:1"})
    assert [finding.code for finding in lost.findings] == ["CKPT250"]


def test_a_query_without_a_position_has_nothing_to_lose(tmp_path):
    write_initial_offset(tmp_path, "1", {"t": {0: 0}})
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    sources = declared({"0": "kafka", "1": "kafka", "2": "delta"})
    assert can_lose(observe(Store.open(str(tmp_path))), sources) == ("1",), "it has written down where it begins"
    plan_batch(tmp_path, 0, "{}", "{}", "{}", "{}")
    assert can_lose(observe(Store.open(str(tmp_path))), sources) == ("0", "1", "2", "3")
