"""Real queries that start from a checkpoint that ckpt has made: Kafka, and a file sink that another query has filled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from airflow_provider_ckpt.cli import run
from tests.kafka_lab import read_stream, session_of

pytestmark = [pytest.mark.timeout(300), pytest.mark.spark]


def write_files(stream: Any, checkpoint: Path, out: Path) -> None:
    """Write what there is to JSON files, and stop."""
    writer = stream.writeStream.format("json").option("path", str(out)).option("checkpointLocation", str(checkpoint))
    assert writer.trigger(availableNow=True).start().awaitTermination(300)


@pytest.fixture
def lab(kafka, spark, tmp_path):
    """A session, a topic of 10 records, and a sink in which they are, written by batches 0 and 1; 5 records more."""
    session, topic = session_of(spark), kafka.create()
    kafka.produce(topic, 10)
    write_files(read_stream(session, kafka, topic, maxOffsetsPerTrigger="5"), tmp_path / "old", tmp_path / "out")
    kafka.produce(topic, 5)
    seeding = ("--source", "0=kafka", "--sink", f"file:{tmp_path}/out", "--execute")
    assert run(["seed", str(tmp_path / "new"), "--from", str(tmp_path / "old"), *seeding]) == 0
    return session, topic


def test_the_new_query_goes_on_where_the_old_one_ended(kafka, lab, tmp_path):
    session, topic = lab
    write_files(read_stream(session, kafka, topic), tmp_path / "new", tmp_path / "out")
    written = session.read.json(str(tmp_path / "out")).collect()
    assert sorted(row.offset for row in written) == list(range(15)), "none lost, none twice"
    assert (tmp_path / "out/_spark_metadata/2").exists()
    assert not (tmp_path / "new/sources").exists()
    kafka.produce(topic, 1)
    write_files(read_stream(session, kafka, topic), tmp_path / "new", tmp_path / "out")
    assert session.read.json(str(tmp_path / "out")).count() == 16, "and once more after a restart"


@pytest.mark.exhaustive
def test_a_stateful_query_does_not_start(kafka, lab, tmp_path):
    session, topic = lab
    counts = read_stream(session, kafka, topic).groupBy("partition").count()
    writer = (
        counts.writeStream.outputMode("complete").format("noop").option("checkpointLocation", str(tmp_path / "new"))
    )
    with pytest.raises((PySparkException, Py4JError)):
        writer.trigger(availableNow=True).start().awaitTermination(300)
    assert not (tmp_path / "new/commits/2").exists()
