"""What a restart would lose, from a checkpoint and a real broker; ``test_loss.py`` has every case."""

from __future__ import annotations

import json
import shutil

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.codec.offsets.delta import DeltaOffset
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.sources.kafka import ask_brokers
from airflow_provider_ckpt.sources.kafka import read_losses as module
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.kafka.read_losses import read_losses
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import BEGAN_MS, commit_batch, plan_batch, write_initial_offset

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def gate(kafka, tmp_path, capsys):
    """What the gate says of the sources, with the topic ids that it remembers."""

    def ask(topic: str, *options: str) -> tuple[dict[str, str | None], list[str], int]:
        places = (str(tmp_path / "checkpoint"), "--source", f"0=kafka:{kafka.bootstrap}/{topic}", "--json", "--quick")
        code = run(["gate", *places, "--topic-ids", str(tmp_path / "ids.json"), *options])
        document = json.loads(capsys.readouterr().out)
        found = {item["code"]: item["spark_error"] for item in document["findings"] if item["code"] >= "CKPT25"}
        return found, document["unknown"], code

    return ask


def test_the_gate_asks_the_broker(kafka, tmp_path, gate):
    topic = kafka.create(2)
    kafka.produce(topic, 30)
    commit_batch(tmp_path / "checkpoint", 0, {topic: {0: 10, 1: 0}})
    found, unknown, code = gate(topic)
    assert found == {}
    assert "topic ids" in unknown, "nobody has remembered them yet"
    found, unknown, code = gate(topic)
    assert (found, code) == ({}, 0)
    assert "topic ids" not in unknown

    kafka.delete_before(topic, 15)
    lost = "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"
    assert gate(topic)[::2] == ({"CKPT250": lost}, 1)
    assert gate(topic, "--spark-version", "3.5")[0] == {"CKPT250": "IllegalStateException"}
    assert gate(topic, "--source-option", "0.failOnDataLoss=false")[::2] == ({"CKPT250": None}, 1)


def test_an_explanation_of_lost_records_asks_the_broker_what_is_left(kafka, tmp_path, capsys):
    topic, checkpoint = kafka.create(2), tmp_path / "checkpoint"
    kafka.produce(topic, 30)
    commit_batch(checkpoint, 0, {topic: {0: 10, 1: 0}})
    text = f"Could not read records in offset [10, 30) for topic partition {topic}-0"

    def explained() -> tuple[dict[str, str | None], str]:
        places = (str(checkpoint), "--source", f"0=kafka:{kafka.bootstrap}/{topic}", "--json")
        assert run(["explain", text, *places]) in (0, 1)
        (item,) = json.loads(capsys.readouterr().out)["explanations"]
        return {found["code"]: found["message"] for found in item["evidence"]["findings"]}, " ".join(item["commands"])

    found, _ = explained()
    assert "CKPT250" not in found, "all is there that the query reads next"
    kafka.delete_before(topic, 15)
    found, commands = explained()
    assert "5" in found["CKPT250"]
    assert kafka.bootstrap in commands, "and no address of an example"


def test_a_topic_that_was_created_again_is_told_by_its_id(kafka, tmp_path, gate):
    topic = kafka.create()
    commit_batch(tmp_path / "checkpoint", 0, {topic: {0: 10}})
    gate(topic)
    kafka.recreate(topic)
    kafka.produce(topic, 4)
    assert gate(topic)[0] == {"CKPT252": "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED"}
    plan_batch(tmp_path / "checkpoint", 1, {topic: {0: 4}})  # as a failed start leaves it
    kafka.produce(topic, 20)
    found, _, code = gate(topic)
    assert found == {"CKPT252": "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED", "CKPT253": None}
    assert code == 1
    kafka.delete(topic)
    assert gate(topic)[0].keys() >= {"CKPT251"}


FIRSTS = {
    "a record of before the commit": ({("t", 0): BEGAN_MS - 1}, True),
    "one of after it": ({("t", 0): BEGAN_MS + 1_001}, False),
    "one partition of two": ({("t", 0): BEGAN_MS - 1, ("t", 1): BEGAN_MS + 1_001}, False),
    "a record without a time": ({("t", 0): -1}, False),
    "no record": ({("t", 0): None}, False),
}


@pytest.mark.parametrize(("firsts", "is_judged"), FIRSTS.values(), ids=FIRSTS)
def test_a_first_reading_of_the_ids_that_agrees_with_the_checkpoint_is_a_judgement(
    tmp_path, monkeypatch, firsts, is_judged
):
    """A topic that was created again has no record of before the commit."""
    partitions = dict.fromkeys(firsts, 0)
    extent = Extent({"t": "id"}, partitions, dict.fromkeys(firsts, 30))
    monkeypatch.setattr(ask_brokers, "read_extent", lambda *_: extent)
    monkeypatch.setattr(ask_brokers.Brokers, "firsts", lambda _, servers, asked: {at: firsts[at] for at in asked})
    commit_batch(tmp_path, 1, {"t": {number: 10 for _, number in firsts}})
    lost = module.read_losses(
        observe(Store.open(str(tmp_path))), parse_by_id({"0": "kafka:a:1/t"}), {}, {}, ask_brokers.Brokers({})
    )
    assert (lost.unknown == ()) == is_judged


def test_where_nothing_of_a_topic_was_read_nothing_of_it_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(ask_brokers, "read_extent", lambda *_: Extent({"t": "id"}, {("t", 0): 0}, {("t", 0): 30}))
    commit_batch(tmp_path, 1, {"t": {0: 0}})
    lost = module.read_losses(
        observe(Store.open(str(tmp_path))), parse_by_id({"0": "kafka:a:1/t"}), {}, {}, ask_brokers.Brokers({})
    )
    assert lost.unknown == ()


def test_the_broker_says_whether_a_topic_is_the_one_that_was_read(kafka, tmp_path, gate):
    topic = kafka.create()
    kafka.produce(topic, 30, timestamp_ms=BEGAN_MS - 60_000)
    commit_batch(tmp_path / "checkpoint", 0, {topic: {0: 10}})
    assert "topic ids" not in gate(topic)[1], "the first time, with nothing remembered"
    kafka.recreate(topic)
    kafka.produce(topic, 30)
    (tmp_path / "ids.json").unlink()
    assert "topic ids" in gate(topic)[1], "all of its records are later than the commit"


def test_topics_of_one_name_in_two_clusters_are_two_topics(tmp_path, monkeypatch):
    ids = {"a:1": "first", "b:1": "second"}
    monkeypatch.setattr(ask_brokers, "KafkaBroker", lambda servers, _: servers)
    monkeypatch.setattr(
        ask_brokers, "read_extent", lambda servers, _: Extent({"t": ids[servers]}, {("t", 0): 0}, {("t", 0): 30})
    )
    commit_batch(tmp_path, 0, {"t": {0: 10}}, {"t": {0: 10}})
    view = observe(Store.open(str(tmp_path)))

    def lost(known: dict[str, str]) -> module.Losses:
        return module.read_losses(
            view, parse_by_id({"0": "kafka:a:1/t", "1": "kafka:b:1/t"}), {}, known, ask_brokers.Brokers({})
        )

    monkeypatch.setattr(ask_brokers.Brokers, "firsts", lambda *_: {("t", 0): None})
    seen = lost({})
    assert seen.topic_ids == {"0/t": "first", "1/t": "second"}
    assert seen.unknown == (module.TOPIC_IDS,)
    again = lost(dict(seen.topic_ids))
    assert (again.findings, again.unknown) == ((), ())
    ids["b:1"] = "third"
    (finding,) = lost(dict(seen.topic_ids)).findings
    assert finding.code == "CKPT253"
    assert "source 1" in finding.message


def test_before_the_first_commit_the_initial_offsets_are_the_position(kafka, tmp_path, gate):
    """Spark takes them until batch 0 is committed, with and without an entry of that batch."""
    topic = kafka.create()
    kafka.produce(topic, 10)
    write_initial_offset(tmp_path / "checkpoint", "0", {topic: {0: 0}})
    (tmp_path / "checkpoint" / "offsets").mkdir()
    assert gate(topic)[0] == {}
    kafka.delete_before(topic, 4)
    lost = {"CKPT250": "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"}
    assert gate(topic)[0] == lost
    plan_batch(tmp_path / "checkpoint", 0, {topic: {0: 10}})
    assert gate(topic)[0] == lost


def test_an_offset_that_is_none_of_kafkas_is_an_error_that_names_the_checkpoint(tmp_path):
    commit_batch(tmp_path / "checkpoint", 0, '{"logOffset":3}')
    view = observe(Store.open(str(tmp_path / "checkpoint")))
    with pytest.raises(CheckpointError, match=f"{tmp_path}/checkpoint: source 0 is not a Kafka source"):
        read_losses(view, parse_by_id({"0": "kafka:h:1/orders"}), {}, {}, Brokers({}))


def test_a_source_that_nobody_was_asked_about_is_named(kafka, tmp_path, gate):
    topic = kafka.create()
    commit_batch(tmp_path / "checkpoint", 0, {topic: {0: 0}}, {"other": {0: 10}})
    assert "data loss of source 1" in gate(topic, "--source", "1=kafka")[1]
    shutil.rmtree(tmp_path / "checkpoint")
    plan_batch(tmp_path / "checkpoint", 0, {topic: {0: 10}})
    assert "data loss of source 0" in gate(topic)[1], "it has no position"


def test_a_gate_that_asks_nobody_is_no_pass(tmp_path, capsys):
    commit_batch(tmp_path, 0, {"t": {0: 0}}, DeltaOffset("t", 5).json, "7")
    declared = ("--source", "0=kafka", "--source", "1=delta", "--source", "2=rate")
    assert run(["gate", str(tmp_path), *declared, "--json", "--fail-on", "warn"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["decision"] == "warn"
    assert document["unknown"][-2:] == ["data loss of source 0", "data loss of source 1"]


def test_a_query_that_assigns_partitions_does_not_read_the_others(kafka, tmp_path, gate):
    topic = kafka.create(2)
    kafka.produce(topic, 30, partition=1)
    kafka.delete_before(topic, 5, 1)
    commit_batch(tmp_path / "checkpoint", 0, {topic: {0: 0}})
    assert gate(topic)[0].keys() == {"CKPT254"}
    assert gate(topic, "--source-option", f'0.assign={{"{topic}":[0]}}')[0] == {}
