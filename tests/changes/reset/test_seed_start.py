"""Real queries that start from a checkpoint that ckpt has made: Kafka, and a file sink that another query has filled."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from airflow_provider_ckpt.change.plan.actions import Create
from airflow_provider_ckpt.changes.seed.make import make_seed, positions_of
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_lab import read_stream, run_query, session_of

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


# --- logs of both versions, several sources, topics that grew --------------------------------------------------------


class Queries:
    """An old query over some topics with a file sink, and a new one that a seed begins."""

    def __init__(self, spark: Any, kafka: Any, root: Path, version: int, sources: int) -> None:
        self.session, self.kafka, self.root = session_of(spark), kafka, root
        self.session.conf.set("spark.sql.streaming.offsetLog.formatVersion", str(version))
        self.topics = [kafka.create() for _ in range(sources)]

    def produce(self, count: int) -> None:
        for topic in self.topics:
            self.kafka.produce(topic, count)

    def run(self, name: str, **options: str) -> None:
        """Read what there is."""
        frames = [read_stream(self.session, self.kafka, topic, **options) for topic in self.topics]
        rows = frames[0] if len(frames) == 1 else frames[0].union(frames[1])
        write_files(rows, self.root / name, self.root / "out")

    def written(self) -> list[tuple[str, int, int]]:
        """What is in the sink."""
        schema = "topic string, partition int, offset bigint"
        return sorted(tuple(row) for row in self.session.read.schema(schema).json(str(self.root / "out")).collect())

    def all(self) -> list[tuple[str, int, int]]:
        """What is in the topics."""
        rows = []
        for topic in self.topics:
            options = {"kafka.bootstrap.servers": self.kafka.bootstrap, "subscribe": topic}
            found = self.session.read.format("kafka").options(**options).load().select("topic", "partition", "offset")
            rows += [tuple(row) for row in found.collect()]
        return sorted(rows)

    def seed(self, *more: str) -> None:
        types = [word for at in range(len(self.topics)) for word in ("--source", f"{at}=kafka")]
        origin = ["--from", str(self.root / "old"), "--sink", f"file:{self.root}/out"]
        assert run(["seed", str(self.root / "new"), *origin, *types, *more, "--execute"]) == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("sources", [1, 2])
@pytest.mark.parametrize("version", [1, 2])
def test_each_record_is_in_the_sink_once(kafka, spark, tmp_path, version, sources):
    queries = Queries(spark, kafka, tmp_path, version, sources)
    queries.produce(10)
    queries.run("old", maxOffsetsPerTrigger="4")
    queries.produce(5)
    queries.seed()
    assert sorted(path.name for path in (tmp_path / "new/offsets").glob("[0-9]*")) == ["1", "2"]
    queries.run("new")
    queries.produce(1)
    queries.run("new")
    assert queries.written() == queries.all()
    assert not (tmp_path / "new/sources").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize("batches", [1, 3], ids=["the sink has batch 0 alone", "the sink has three batches"])
@pytest.mark.parametrize("version", [1, 2])
def test_a_seed_that_was_killed_loses_nothing_and_repeats_nothing(kafka, spark, tmp_path, version, batches):
    """Every prefix of what it writes is started: Spark refuses it, or goes on where the old query ended.

    The exception is the location before its first file: nobody tells it from that of a new query.
    """
    queries = Queries(spark, kafka, tmp_path, version, 1)
    queries.produce(4 * batches)
    queries.run("old", maxOffsetsPerTrigger="4")
    queries.produce(5)
    sinks = [(parse_sink(f"file:{tmp_path}/out"), Store.open(str(tmp_path / "out")))]
    before = queries.written()
    shutil.copytree(tmp_path / "out", tmp_path / "kept")  # the log of the sink names its files absolutely
    for written in range(1, 5 if batches > 1 else 4):
        for name in ("new", "out"):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
        shutil.copytree(tmp_path / "kept", tmp_path / "out")
        target = Store.open(str(tmp_path / "new"))
        plan = make_seed(target, positions_of(Store.open(str(tmp_path / "old"))), {"0": "kafka"}, sinks=sinks)
        actions = [action for action in plan.actions if isinstance(action, Create)]
        for action in actions[:written]:
            target.create(action.name, action.data.encode())
        is_whole = written == len(actions)
        try:
            queries.run("new")
        except Exception as error:
            refusals = ("STREAMING_CHECKPOINT_MISSING_METADATA_FILE", f"batch {batches - 2} doesn't exist")
            assert not is_whole and refusals[written > 1] in str(error), f"{written}: {error}"
            assert queries.written() == before, f"after {written} files"
        else:
            assert is_whole or batches == 1, f"started after {written} files"
            assert queries.written() == queries.all(), f"after {written} files"


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", [1, 2])
def test_partitions_that_came_are_read_from_their_beginning(kafka, spark, tmp_path, version):
    queries = Queries(spark, kafka, tmp_path, version, 1)
    queries.produce(10)
    queries.run("old")
    kafka.grow(queries.topics[0], 3)
    queries.produce(2)
    kafka.produce(queries.topics[0], 7, 2)
    queries.seed()
    queries.run("new")
    assert queries.written() == queries.all()


@pytest.mark.exhaustive
def test_a_seed_above_what_the_sink_has_is_refused_for_a_file_sink(kafka, spark, tmp_path, capsys):
    """Its log would have a hole, at which Spark stops at the next compaction."""
    queries = Queries(spark, kafka, tmp_path, 1, 1)
    queries.produce(4)
    queries.run("old")
    words = ["seed", str(tmp_path / "new"), "--from", str(tmp_path / "old"), "--source", "0=kafka"]
    assert run([*words, "--sink", f"file:{tmp_path}/out", "--after-batch", "7", "--execute"]) == 4
    assert "the log would lack the batches in between" in " ".join(capsys.readouterr().err.split())
    assert run([*words, "--sink", "kafka", "--after-batch", "7", "--execute"]) == 0
    assert sorted(path.name for path in (tmp_path / "new/offsets").glob("[0-9]*")) == ["6", "7"]
    queries.produce(3)
    assert run_query(queries.session, kafka, queries.topics[0], tmp_path / "new") == queries.all()[4:]
    assert (tmp_path / "new/commits/8").exists()
