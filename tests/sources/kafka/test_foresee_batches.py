"""What the gate says that the next batch reads of a real broker, and what it says when it cannot."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.documents.findings import GateDocument
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.query.source_options import parse_options
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.foresee_batches import foresee_batches
from airflow_provider_ckpt.sources.kafka.next_batch import Outlook
from airflow_provider_ckpt.storage.store import Store
from tests.json_documents import problems
from tests.kafka_checkpoint import commit_batch, plan_batch

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def topic(kafka) -> str:
    """Two partitions, of 30 and of 5 records."""
    topic = kafka.create(2)
    kafka.produce(topic, 30)
    kafka.produce(topic, 5, partition=1)
    return topic


@pytest.fixture
def foresee(kafka, tmp_path):
    """What is foretold of the checkpoint."""

    def of(declared, options=(), trigger=None):
        view = observe(Store.open(str(tmp_path)))
        return foresee_batches(view, parse_by_id(declared), parse_options(options, trigger), Brokers({}))

    return of


def test_each_source_has_its_own_limits_and_the_planned_batch_runs_first(kafka, topic, tmp_path, foresee):
    other = kafka.create()
    kafka.produce(other, 9)
    commit_batch(tmp_path, 0, {topic: {0: 10, 1: 5}}, {other: {0: 0}})
    place = f"kafka:{kafka.bootstrap}/{topic}", f"kafka:{kafka.bootstrap}"
    limit = [("1.maxOffsetsPerTrigger", "4")]
    coming = foresee({"0": place[0], "1": place[1]}, limit).coming
    assert (coming["0"].batch.offsets, coming["0"].outlook) == (20, Outlook(1, 1))
    assert (coming["1"].batch.ends, coming["1"].outlook) == ({(other, 0): 4}, Outlook(3, 3))

    plan_batch(tmp_path, 1, {topic: {0: 12, 1: 5}}, {other: {0: 0}})
    coming = foresee({"0": place[0], "1": place[1]}, limit).coming
    assert (coming["0"].planned, coming["0"].batch.ends[topic, 0], coming["0"].outlook) == (True, 12, Outlook(2, 2))
    assert (coming["1"].batch.offsets, coming["1"].outlook) == (0, Outlook(4, 4))


def test_what_was_not_declared_is_named(kafka, topic, tmp_path, foresee):
    commit_batch(tmp_path, 0, {topic: {0: 10, 1: 5}}, '{"logOffset":3}', "5")
    found = foresee({"0": "kafka", "1": "file:/in"})
    assert found.coming == {}
    assert {name: said.partition(",")[0].partition(" such")[0] for name, said in found.missing.items()} == {
        "0": "Declare the brokers",
        "1": "What a source of the type file reads next is not foretold.",
        "2": "Declare what the source reads from",
    }


def test_before_the_first_commit_the_starting_offsets_decide(kafka, topic, tmp_path, foresee):
    plan_batch(tmp_path, 0, {topic: {0: 10, 1: 5}})
    assert "startingOffsets" in foresee({"0": f"kafka:{kafka.bootstrap}"}).missing["0"]


def test_the_gate_says_what_the_next_batch_reads(kafka, topic, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    commit_batch(tmp_path, 0, {topic: {0: 10, 1: 5}})
    gate = ["gate", str(tmp_path), "--source", f"0=kafka:{kafka.bootstrap}/{topic}", "--trigger", "availableNow"]
    limits = ["--source-option", "0.maxOffsetsPerTrigger=15", "--source-option", "0.minOffsetsPerTrigger=10"]
    assert run([*gate, *limits]) == 0
    said = capsys.readouterr().out
    for words in ("15 offsets; leaves at most 5 offsets unread", f"{topic}-0 to 25", "needs 10 offsets"):
        assert words in said
    run([*gate, *limits, "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert list(problems(answer, GateDocument)) == []
    assert answer["not_foretold"] == {}
    assert answer["next_batches"]["0"]["ends"] == {f"{topic}-0": 25, f"{topic}-1": 5}


def test_the_gate_says_what_is_missing_to_say_it(topic, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    commit_batch(tmp_path, 0, {topic: {0: 10, 1: 5}})
    assert run(["gate", str(tmp_path), "--source", "0=kafka"]) == 0
    assert "Declare the brokers, such as 0=kafka:host:9092/orders." in capsys.readouterr().out


def test_the_gate_blocks_limits_in_real_time_mode(kafka, topic, tmp_path, capsys):
    commit_batch(tmp_path, 0, {topic: {0: 10, 1: 5}})
    gate = ["gate", str(tmp_path), "--source", f"0=kafka:{kafka.bootstrap}/{topic}", "--trigger", "realTime"]
    run([*gate, "--source-option", "0.minOffsetsPerTrigger=10", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert "minOffsetsPerTrigger" in next(item["message"] for item in answer["findings"] if item["spark_error"])
