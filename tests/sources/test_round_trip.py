"""What was exported starts another reader exactly where the query was: Spark's own connector, Kafka's own tool."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.cli import run
from tests.kafka_lab import consumer_groups, run_query, session_of

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def export(capsys):
    """The text that ``ckpt export`` prints."""

    def call(checkpoint: object, *options: str) -> str:
        capsys.readouterr()
        assert run(["export", str(checkpoint), *options]) == 0
        return capsys.readouterr().out.removesuffix("\n")

    return call


@pytest.mark.spark
def test_a_new_query_reads_what_the_other_has_not(kafka, spark, export, tmp_path):
    session, topic, old = session_of(spark), kafka.create(2), tmp_path / "old"
    kafka.produce(topic, 6, partition=0)
    kafka.produce(topic, 2, partition=1)
    run_query(session, kafka, topic, old, limit=4)  # 3 of the one partition, 1 of the other
    rest = run_query(session, kafka, topic, old)
    after_batch_0 = export(old, "--as", "startingOffsets", "--batch", "0")
    assert run_query(session, kafka, topic, tmp_path / "new", startingOffsets=after_batch_0) == rest
    assert len(rest) == 4

    after_all = export(old, "--as", "startingOffsets")
    assert json.loads(after_all) == {topic: {"0": 6, "1": 2}}
    kafka.produce(topic, 1, partition=1)
    assert run_query(session, kafka, topic, tmp_path / "newer", startingOffsets=after_all) == [(topic, 1, 2)]


@pytest.mark.spark
@pytest.mark.exhaustive
def test_kafkas_own_tool_reads_the_lines(kafka, spark, export, tmp_path):
    topic, checkpoint, file = kafka.create(3), tmp_path / "checkpoint", tmp_path / "positions.csv"
    for partition, count in enumerate((5, 3)):
        kafka.produce(topic, count, partition=partition)
    run_query(session_of(spark), kafka, topic, checkpoint)
    file.write_text(export(checkpoint, "--as", "csv"))
    group = f"from-{topic}"
    consumer_groups(kafka, "--group", group, "--reset-offsets", "--from-file", str(file), "--execute")
    said = consumer_groups(
        kafka, "--group", group, "--reset-offsets", "--all-topics", "--to-current", "--export", "--dry-run"
    )
    assert sorted(said.split()) == [f"{topic},0,5", f"{topic},1,3", f"{topic},2,0"]
