"""Which unread data is deleted before a deploy has read it, and of which nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import StoreError, StoreUnavailableError
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.query.source_options import QueryOptions
from airflow_provider_ckpt.sources import foresee_expiry as module
from airflow_provider_ckpt.sources.foresee_expiry import expiring, foresee_expiry
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.loss import Losses
from airflow_provider_ckpt.sources.lag import PartitionLag, SourceLag
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch

NOW_MS, MINUTE_MS = 1_767_225_600_000, 60_000


def partition(number: int, unread: int = 5, age_ms: int | None = 1, expires_ms: int | None = None) -> PartitionLag:
    return PartitionLag("orders", number, 0, unread, unread, 0, age_ms, expires_ms)


@pytest.mark.parametrize(
    ("parts", "messages", "unknown"),
    [
        (
            [partition(0, expires_ms=90 * MINUTE_MS), partition(1, expires_ms=28 * MINUTE_MS)],
            ["unread records of source 0 (orders-1) may be deleted in 28 min, at 2026-01-01T00:28:00.000Z"],
            (),
        ),
        ([partition(0, expires_ms=0)], ["unread records of source 0 (orders-0) may be deleted at any time now"], ()),
        ([partition(0, expires_ms=61 * MINUTE_MS)], [], ()),
        ([partition(0)], [], ()),  # the topic keeps its records for ever
        ([partition(0, unread=0, age_ms=None)], [], ()),
        ([partition(0, age_ms=None)], [], ("expiry of source 0",)),
    ],
)
def test_a_source_that_deletes_within_the_time_is_an_error(parts, messages, unknown):
    found = expiring(4, Losses(), [SourceLag("0", "kafka", partitions=tuple(parts))], NOW_MS, 60 * MINUTE_MS)
    assert [(finding.code, finding.severity, finding.message) for finding in found.findings] == [
        ("CKPT266", "error", message) for message in messages
    ]
    assert found.unknown == unknown


@pytest.mark.parametrize(("left_ms", "count"), [(60_000, 1), (60_001, 0), (None, 0)])
def test_a_table_has_said_when_it_deletes(left_ms, count):
    found = expiring(None, Losses(unknown=("topic ids",), expires_ms=left_ms), (), NOW_MS, 60_000)
    assert (len(found.findings), found.unknown) == (count, ("topic ids",))


def foresee(place: Any, sources: Mapping[str, str]) -> Losses:
    store, brokers = Store.open(str(place)), Brokers({})
    access = Access(Store.open, store)
    return foresee_expiry(
        observe(store),
        parse_by_id(sources),
        QueryOptions(),
        access,
        brokers,
        NOW_MS,
        lost=Losses(),
        within_ms=MINUTE_MS,
    )


def test_who_may_not_read_the_retention_does_not_know_it(tmp_path, monkeypatch):
    commit_batch(tmp_path, 0, {"orders": {0: 10}}, "7")
    asked: list[str] = []

    def refuse(_view: Any, question: Any, *_: Any) -> Any:
        asked.extend(question.sources)
        raise StoreError("the configuration of topic orders is not for this user")

    monkeypatch.setattr(module, "read_lag", refuse)
    sources = {"0": "kafka:broker:9092", "1": "rate", "9": "kafka:broker:9092"}
    assert foresee(tmp_path, sources).unknown == ("expiry of source 0",)
    assert asked == ["0"], "neither a source without brokers nor one that is new"


def test_a_broker_that_does_not_answer_is_asked_again_by_the_task(tmp_path, monkeypatch):
    commit_batch(tmp_path, 0, {"orders": {0: 10}})

    def be_silent(*_: Any) -> Any:
        raise StoreUnavailableError("no answer")

    monkeypatch.setattr(module, "read_lag", be_silent)
    with pytest.raises(StoreUnavailableError):
        foresee(tmp_path, {"0": "kafka:broker:9092"})


@pytest.mark.timeout(180)
def test_the_gate_blocks_a_query_whose_records_expire(kafka, tmp_path, capsys):
    day_ms = 86_400_000
    topic = kafka.create(1, retention_ms=str(100_000 * day_ms))
    kafka.produce(topic, 30, timestamp_ms=NOW_MS)
    commit_batch(tmp_path / "checkpoint", 0, {topic: {0: 10}})
    gate = ["gate", str(tmp_path / "checkpoint"), "--source", f"0=kafka:{kafka.bootstrap}/{topic}"]
    assert run(gate) == 0
    assert "CKPT266" not in capsys.readouterr().out
    assert run([*gate, "--will-lose-data-within", "1d"]) == 0
    assert "expiry" not in capsys.readouterr().out
    assert run([*gate, "--will-lose-data-within", "100000d"]) == 1
    said = capsys.readouterr().out
    assert "BLOCK" in said and f"unread records of source 0 ({topic}-0) may be deleted in" in said
