"""A real broker that loses what a query has not read, and the new checkpoints that begin where an old one was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.explain.produced.lab import Query, rows
from tests.kafka_lab import until

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(900)]


def topic_of(kafka, *topics: str, home: Path, **options: str) -> Query:
    """A query that copies topics; its rows are topic-partition and offset."""
    subscribed = {"subscribe": ",".join(topics)} if not options.keys() & {"subscribePattern"} else {}
    given = {"kafka.bootstrap.servers": kafka.bootstrap, "startingOffsets": "earliest", **subscribed, **options}
    return Query(home, sources=({"format": "kafka", "options": given},))


def offsets(ran) -> list[int]:
    return sorted(int(row[1]) for row in ran.rows)


def at(kafka, *topics: str) -> str:
    return f"0=kafka:{kafka.bootstrap}/{','.join(topics)}"


def test_unread_records_were_deleted(spark, kafka, proof, tmp_path):
    proof = proof(3, "deleted-records")
    topic = kafka.create()
    kafka.produce(topic, 5)
    query = topic_of(kafka, topic, home=tmp_path / "q")
    assert offsets(spark.run(query)) == [0, 1, 2, 3, 4]
    kafka.produce(topic, 10)
    kafka.delete_before(topic, 9)
    stopped = spark.run(query)
    assert stopped.error
    proof.explains(spark, stopped)
    command = proof.confirms(query.checkpoint, "CKPT250", source=at(kafka, topic), sink="kafka")
    proof.carries_out(command, ("skipped", "unknown", "duplicated"), sink="kafka")
    after = spark.run(query)
    assert after.error is None, after.log[-3000:]
    assert offsets(after) == list(range(9, 15)), (
        "all that is there, each once; the plan has named the four that are not"
    )
    proof.ends(rows="skipped: 4 of 10, as the plan says")


def test_the_topic_was_created_again(spark, kafka, proof, tmp_path):
    proof = proof(3, "created-again")
    topic = kafka.create()
    kafka.produce(topic, 5)
    query = topic_of(kafka, topic, home=tmp_path / "q")
    spark.run(query)
    kafka.recreate(topic)
    kafka.produce(topic, 3)
    stopped = spark.run(query)
    assert stopped.error
    proof.explains(spark, stopped)
    command = proof.confirms(query.checkpoint, "CKPT252", source=at(kafka, topic), sink="kafka")
    proof.carries_out(command, ("skipped", "unknown", "duplicated"), sink="kafka")
    after = spark.run(query)
    assert after.error is None, after.log[-3000:]
    assert offsets(after) == [0, 1, 2]
    proof.ends()


def test_a_topic_is_gone(spark, kafka, proof, tmp_path):
    proof = proof(3, "topic-gone")
    kept, gone = kafka.create(), kafka.create()
    kafka.produce(kept, 3)
    kafka.produce(gone, 2)
    query = topic_of(kafka, home=tmp_path / "q", subscribePattern=f"{kept}|{gone}")
    assert len(spark.run(query).rows) == 5
    kafka.delete(gone)
    kafka.produce(kept, 2)
    stopped = spark.run(query)
    assert stopped.error
    proof.explains(spark, stopped)
    option = f"0.subscribePattern={kept}|{gone}"
    proof.confirms(query.checkpoint, "CKPT251", source=f"0=kafka:{kafka.bootstrap}", source_option=option)
    lenient = topic_of(kafka, home=query.home, subscribePattern=f"{kept}|{gone}", failOnDataLoss="false")
    assert offsets(spark.run(lenient)) == [3, 4]
    kafka.produce(kept, 1)
    assert offsets(spark.run(query)) == [5]
    proof.ends("one start with failOnDataLoss=false", "exact for the topic that is there")


def test_a_new_partition_has_lost_its_first_records(spark, kafka, proof, tmp_path):
    proof = proof(3, "new-partition")
    topic = kafka.create()
    kafka.produce(topic, 2)
    query = topic_of(kafka, topic, home=tmp_path / "q")
    assert offsets(spark.run(query)) == [0, 1]
    kafka.grow(topic, 2)
    until(lambda: len(kafka.admin.list_topics(topic, timeout=30).topics[topic].partitions) == 2)
    kafka.produce(topic, 5, partition=1)
    kafka.delete_before(topic, 3, partition=1)
    stopped = spark.run(query)
    assert stopped.error
    proof.explains(spark, stopped)
    proof.confirms(query.checkpoint, "CKPT254", source=at(kafka, topic), sink="kafka")
    lenient = topic_of(kafka, topic, home=query.home, failOnDataLoss="false")
    after = spark.run(lenient)
    assert after.rows == [(f"{topic}-1", "3"), (f"{topic}-1", "4")], after.log[-3000:]
    kafka.produce(topic, 1)
    assert offsets(spark.run(query)) == [2]
    proof.ends("one start with failOnDataLoss=false", "skipped: 3 records that Kafka had deleted")


def test_a_query_begins_anew_where_it_was(spark, kafka, proof, tmp_path):
    """With a sink that remembers no batches: `ckpt export`."""
    proof = proof(24, "export")
    topic = kafka.create(2)
    kafka.produce(topic, 4)
    kafka.produce(topic, 3, partition=1)
    query = topic_of(kafka, topic, home=tmp_path / "q")
    first = spark.run(query)
    kafka.produce(topic, 2)
    proof.explains(spark, "how do I restart a structured streaming query from the last written offset")
    _, told = proof.ckpt("export", str(query.checkpoint), "--as", "startingOffsets", "--source", "0", "--json")
    changed = replace(topic_of(kafka, topic, home=tmp_path / "new", startingOffsets=told["text"]))
    second = spark.run(changed)
    assert second.error is None
    assert sorted([*first.rows, *second.rows]) == sorted(
        [(f"{topic}-0", str(number)) for number in range(6)] + [(f"{topic}-1", str(number)) for number in range(3)]
    )
    proof.ends("`ckpt export`", "exact")


def test_a_seed_goes_on_over_a_sink_that_remembers_batches(spark, kafka, proof, tmp_path):
    """An empty checkpoint would lose its first batches here; and a seed may have one source more."""
    proof = proof(24, "seed")
    topic, more = kafka.create(), kafka.create()
    kafka.produce(topic, 4)
    kafka.produce(more, 2)
    query = replace(topic_of(kafka, topic, home=tmp_path / "q"), to=("parquet", str(tmp_path / "out")))
    assert spark.run(query).error is None
    kafka.produce(topic, 3)
    assert spark.run(query).error is None
    kafka.produce(topic, 1)
    proof.explains(spark, "restart the query from the last committed offsets")
    seed = f"ckpt seed {tmp_path}/seeded --from {query.checkpoint} --source 0=kafka --sink TYPE[:URI]"
    code, done = proof.ckpt(*seed.replace("TYPE[:URI]", f"file:{tmp_path}/out").split()[1:], "--execute", "--json")
    assert (code, done.get("sink_effect")) == (0, "exact"), done
    assert spark.run(query, tmp_path / "seeded").error is None
    assert rows(spark, query) == [(f"{topic}-0", str(number)) for number in range(8)]
    proof.ends("`ckpt seed`", "exact")


def test_one_source_more_by_a_seed(spark, kafka, proof, tmp_path):
    """A stateless query of Kafka sources gets another source in a new checkpoint, at the positions of the old one."""
    proof = proof(1, "kafka-seed")
    topic, more = kafka.create(), kafka.create()
    kafka.produce(topic, 4)
    kafka.produce(more, 2)
    query = topic_of(kafka, topic, home=tmp_path / "q")
    assert spark.run(query).error is None
    kafka.produce(topic, 3)
    wanted = replace(query, sources=(*query.sources, topic_of(kafka, more, home=query.home).sources[0]))
    proof.stops(spark, wanted, "AssertionError")
    positions = json.dumps({"0": {topic: {"0": 4}}, "1": {more: {"0": 0}}})
    _, told = proof.ckpt("export", str(query.checkpoint), "--as", "startingOffsets", "--source", "0", "--json")
    assert json.loads(told["text"]) == json.loads(positions)["0"]
    words = ["seed", str(tmp_path / "seeded"), "--source", "0=kafka", "--source", "1=kafka", "--offsets", positions]
    words += ["--sink", "kafka", "--execute", "--accept-sink", "unknown"]
    code, done = proof.ckpt(*words, "--json")
    assert (code, done.get("sink_effect")) == (0, "unknown"), done
    after = spark.run(wanted, tmp_path / "seeded")
    assert after.error is None
    expected = [(f"{topic}-0", str(number)) for number in (4, 5, 6)] + [(f"{more}-0", str(number)) for number in (0, 1)]
    assert after.rows == sorted(expected)
    proof.ends("`ckpt seed`, stateless Kafka queries", "exact")


def test_real_time_mode_over_a_checkpoint_of_batches(spark, kafka, proof, tmp_path):
    proof = proof(26, "format-1")
    topic, out = kafka.create(), kafka.create()
    kafka.produce(topic, 3)
    to_kafka = {"kafka.bootstrap.servers": kafka.bootstrap, "topic": out}
    query = replace(topic_of(kafka, topic, home=tmp_path / "q"), to=("kafka", ""), does="values", options=to_kafka)
    assert spark.run(query).error is None
    kafka.produce(topic, 2)
    switched = replace(query, trigger={"realTime": "5 seconds"}, mode="update")
    stopped = spark.run(switched)
    assert stopped.error, "the checkpoint has state format 1"
    proof.explains(spark, stopped)
    proof.confirms(query.checkpoint, "CKPT232", trigger="realTime", sink="kafka")
    assert spark.run(query).error is None, "with the trigger that it had"
    copied = topic_of(kafka, out, home=tmp_path / "read")
    assert offsets(spark.run(copied)) == [0, 1, 2, 3, 4]
    proof.ends("the earlier trigger", "exact")
