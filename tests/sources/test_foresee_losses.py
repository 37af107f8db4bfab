"""When unread records are lost, by a real broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.sources.foresee_losses import LossForecast, foresee_losses
from airflow_provider_ckpt.sources.open_end import Access
from airflow_provider_ckpt.sources.read_lag import LagQuestion
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch, plan_batch

pytestmark = pytest.mark.timeout(180)
NOW_MS = 1_767_225_600_000
#: Long enough that the broker deletes nothing meanwhile, and counted from the year of NOW_MS.
DAY_MS = 86_400_000


def foresee(checkpoint: Path, **sources: str) -> LossForecast:
    store = Store.open(str(checkpoint))
    question = LagQuestion(parse_by_id({name.removeprefix("s"): text for name, text in sources.items()}))
    return foresee_losses(observe(store), question, {}, Access(Store.open, store), NOW_MS)


def test_records_expire_after_the_retention_of_their_topic(kafka, tmp_path):
    topic = kafka.create(2, retention_ms=str(100_000 * DAY_MS))
    kafka.produce(topic, 30, timestamp_ms=NOW_MS - DAY_MS)
    commit_batch(tmp_path / "checkpoint", 0, {topic: {0: 10, 1: 0}}, "7")
    place = f"kafka:{kafka.bootstrap}/{topic}"
    foreseen = foresee(tmp_path / "checkpoint", s0=place, s1="rate")
    assert [source.source_id for source in foreseen.sources] == ["0"]
    assert foreseen.unknown == (), "the topic has records of before the commit, so it is the one that was read"
    assert 0.93 * DAY_MS < 100_000 * DAY_MS - foreseen.expires_ms < 1.06 * DAY_MS
    assert not foreseen.is_within(90_000 * DAY_MS)
    assert foreseen.is_within(100_000 * DAY_MS)

    commit_batch(tmp_path / "checkpoint", 1, {topic: {0: 30, 1: 0}}, "8")
    assert foresee(tmp_path / "checkpoint", s0=place, s1="rate").expires_ms is None, "nothing is unread"


def test_what_is_lost_already_is_within_any_time(kafka, tmp_path):
    topic = kafka.create()
    kafka.produce(topic, 30, timestamp_ms=NOW_MS)
    kafka.delete_before(topic, 15)
    commit_batch(tmp_path / "checkpoint", 0, {topic: {0: 10}})
    foreseen = foresee(tmp_path / "checkpoint", s0=f"kafka:{kafka.bootstrap}/{topic}")
    assert [finding.code for finding in foreseen.findings] == ["CKPT250"]
    assert foreseen.is_within(0)
    assert foreseen.expires_ms is None, "the broker of the tests keeps records for ever"


def test_a_source_that_nobody_was_asked_about_is_named(kafka, tmp_path):
    topic = kafka.create()
    kafka.produce(topic, 5, timestamp_ms=NOW_MS)
    place = f"kafka:{kafka.bootstrap}/{topic}"
    commit_batch(tmp_path / "one", 0, {topic: {0: 5}}, "7", "7")
    assert foresee(tmp_path / "one", s0=place, s1="delta").unknown == (
        *("topic ids", "data loss of source 1", "data loss of source 2"),
    )
    plan_batch(tmp_path / "two", 0, {topic: {0: 5}})
    assert foresee(tmp_path / "two", s0=place).unknown == ("data loss of source 0", "topic ids"), "it has no position"


def test_without_a_kafka_source_nobody_can_be_asked(tmp_path):
    commit_batch(tmp_path / "checkpoint", 0, "7")
    with pytest.raises(CheckpointError, match="no source was declared that can be asked"):
        foresee(tmp_path / "checkpoint", s0="rate")
