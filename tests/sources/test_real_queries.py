"""The data loss of real queries, with Spark's own connector and a real broker: foretold, then run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.sources.kafka.ask_brokers import Brokers
from airflow_provider_ckpt.sources.kafka.read_losses import read_losses
from airflow_provider_ckpt.storage.store import Store
from tests.kafka_checkpoint import commit_batch, plan_batch

pytestmark = pytest.mark.timeout(3600)


@pytest.fixture(scope="module")
def session(spark) -> Any:
    from tests.kafka_lab import session_of

    return session_of(spark)


def read_all(session: Any, kafka: Any, checkpoint: Path, **options: str) -> str | None:
    """Read what there is into nowhere, and stop; what Spark stops with, or None."""
    from pyspark.errors import StreamingQueryException

    source = {"kafka.bootstrap.servers": kafka.bootstrap, "startingOffsets": "earliest", **options}
    records = session.readStream.format("kafka").options(**source).load()
    writer = records.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(600), "the query did not end in 600 s"
    except StreamingQueryException as stopped:
        return str(stopped)
    return None


# --- data loss ------------------------------------------------------------------------------------------------------

#: What Spark says, by the condition that it stops with.
REASONS = {
    "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE": r"Could not read records in offset \[",
    "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED": r"offset was changed from \d+ to \d+",
    "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS": r"Cannot find initial offsets for partitions",
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT": r"have been deleted\.\s+Kafka option 'kafka.group.id'",
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED": r"Partitions .* have been deleted",
    "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO": r"Added partition .* starts from \d+ instead of 0",
    "TimeoutException": r"Timeout of \d+ms expired before the position for partition",
    "UnknownTopicOrPartitionException": r"UnknownTopicOrPartitionException",
}
Lab = Any


@dataclass
class Loss:
    """A query that is at offset 10 of partition 0 of its topic, which has 30 records, and what happens to it."""

    kafka: Lab
    session: Any
    checkpoint: Path
    topic: str
    #: What the deploy subscribes to; a pattern when it has a star.
    subscribes: str
    #: More options of the query, and those of its client, of which nobody tells us.
    options: dict[str, str] = field(default_factory=dict)
    client: dict[str, str] = field(default_factory=dict)

    def restart(self, fails: bool, **options: str) -> tuple[str | None, str | None]:
        """What is foretold, and what Spark stops with."""
        pattern = {"0.subscribePattern": self.subscribes} if "*" in self.subscribes else {}
        own = {f"0.{name}": value for name, value in self.options.items()}
        said = {"0.failOnDataLoss": str(fails).lower(), **pattern, **own}
        place = self.kafka.bootstrap + ("" if pattern else f"/{self.subscribes}")
        view = observe(Store.open(str(self.checkpoint)))
        found = read_losses(view, {"0": Source("0", "kafka", place)}, said, {}, Brokers({})).findings
        told = next((finding.spark_error for finding in found if finding.spark_error), None)
        subscription = "subscribePattern" if pattern else "subscribe"
        wanted = {
            subscription: self.subscribes,
            "failOnDataLoss": str(fails).lower(),
            **self.options,
            **self.client,
            **options,
        }
        said_by_spark = read_all(self.session, self.kafka, self.checkpoint, **wanted)
        return told, None if said_by_spark is None else condition_of(said_by_spark)


def condition_of(said: str) -> str:
    """The condition that Spark's words are of."""
    return next((condition for condition, words in REASONS.items() if re.search(words, said)), said[:2_000])


def delete_15(loss: Loss) -> None:
    loss.kafka.delete_before(loss.topic, 15)


def delete_all(loss: Loss) -> None:
    loss.kafka.delete_before(loss.topic, 30)


def delete_consumed(loss: Loss) -> None:
    loss.kafka.delete_before(loss.topic, 10)


def delete_topic(loss: Loss) -> None:
    loss.kafka.delete(loss.topic)


def delete_topic_of_pattern(loss: Loss) -> None:
    other = loss.kafka.create()
    commit_batch(loss.checkpoint, 0, {loss.topic: {0: 10}, other: {0: 0}})
    loss.kafka.delete(loss.topic)
    loss.subscribes = f"({loss.topic}|{other}).*"


def recreate(records: int, partitions: int = 1) -> Callable[[Loss], None]:
    def do(loss: Loss) -> None:
        loss.kafka.recreate(loss.topic, partitions)
        loss.kafka.produce(loss.topic, records)

    return do


def recreate_with_fewer(loss: Loss) -> None:
    commit_batch(loss.checkpoint, 0, {loss.topic: {0: 10, 1: 3}})
    recreate(25)(loss)


def recreate_with_fewer_and_a_group_id(loss: Loss) -> None:
    recreate_with_fewer(loss)
    loss.options["kafka.group.id"] = f"group-of-{loss.topic}"


def plan_then_delete(loss: Loss) -> None:
    plan_batch(loss.checkpoint, 1, {loss.topic: {0: 30}})
    delete_15(loss)


def plan_then_shrink(loss: Loss) -> None:
    plan_batch(loss.checkpoint, 1, {loss.topic: {0: 30}})
    recreate(15)(loss)


def fail_then_grow(loss: Loss) -> None:
    recreate(4)(loss)
    assert loss.restart(True)[1] == "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED"
    loss.kafka.produce(loss.topic, 20)


def grow_and_delete(loss: Loss) -> None:
    loss.kafka.grow(loss.topic, 2)
    loss.kafka.produce(loss.topic, 9, partition=1)
    loss.kafka.delete_before(loss.topic, 5, partition=1)


def plan_a_partition_that_goes(loss: Loss) -> None:
    plan_batch(loss.checkpoint, 1, {loss.topic: {0: 30, 1: 5}})


def plan_without_a_partition(loss: Loss) -> None:
    commit_batch(loss.checkpoint, 0, {loss.topic: {0: 10, 1: 3}})
    plan_batch(loss.checkpoint, 1, {loss.topic: {0: 30}})
    loss.kafka.grow(loss.topic, 2)
    loss.kafka.produce(loss.topic, 9, partition=1)


def plan_then_recreate_with_fewer(loss: Loss) -> None:
    commit_batch(loss.checkpoint, 0, {loss.topic: {0: 10, 1: 3}})
    plan_batch(loss.checkpoint, 1, {loss.topic: {0: 12, 1: 4}})
    recreate(25)(loss)


def plan_then_recreate_shorter(loss: Loss) -> None:
    plan_batch(loss.checkpoint, 1, {loss.topic: {0: 30}})
    recreate(5)(loss)


def plan_then_delete_topic(loss: Loss) -> None:
    plan_batch(loss.checkpoint, 1, {loss.topic: {0: 30}})
    delete_topic(loss)
    loss.client["kafka.allow.auto.create.topics"] = "false"  # this broker would


def unsubscribe(loss: Loss) -> None:
    other = loss.kafka.create()
    commit_batch(loss.checkpoint, 0, {loss.topic: {0: 10}, other: {0: 0}})
    loss.subscribes = other


ROWS: Mapping[str, Callable[[Loss], None]] = {
    "nothing": lambda loss: None,
    "unread records are gone": delete_15,
    "all of them are gone": delete_all,
    "only consumed records are gone": delete_consumed,
    "topic deleted": delete_topic,
    "topic of a pattern deleted": delete_topic_of_pattern,
    "created again, shorter": recreate(4),
    "created again, longer": recreate(25),
    "created again with fewer partitions": recreate_with_fewer,
    "with a group id, created again with fewer partitions": recreate_with_fewer_and_a_group_id,
    "planned, then records are gone": plan_then_delete,
    "planned, then the end went back": plan_then_shrink,
    "a failed start, then grown": fail_then_grow,
    "a new partition without its first records": grow_and_delete,
    "taken out of the subscription": unsubscribe,
    "planned, then created again with fewer partitions": plan_then_recreate_with_fewer,
    "planned, then created again, shorter than the position": plan_then_recreate_shorter,
    "planned, then the topic is deleted": plan_then_delete_topic,
    "planned with a partition that is gone": plan_a_partition_that_goes,
    "planned without a partition that is there": plan_without_a_partition,
}
#: In `make test`; the others take long, or are of the same kind.
SAMPLE = ("unread records are gone", "created again, shorter")


@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize(
    "row", [row if row in SAMPLE else pytest.param(row, marks=pytest.mark.exhaustive) for row in ROWS]
)
def test_what_a_restart_stops_with_was_foretold(session, kafka, tmp_path, row, fails):
    topic = kafka.create()
    kafka.produce(topic, 30)
    loss = Loss(kafka, session, tmp_path / "checkpoint", topic, topic)
    commit_batch(loss.checkpoint, 0, {topic: {0: 10}})
    if row.endswith("created again with fewer partitions"):
        kafka.grow(topic, 2)
    ROWS[row](loss)
    told, stopped = loss.restart(fails, **{"kafkaConsumer.pollTimeoutMs": "2000"})
    assert told == stopped


@pytest.mark.exhaustive
@pytest.mark.parametrize("has_it", [True, False])
def test_a_batch_in_flight_that_goes_back_stops_unless_the_file_sink_has_it(session, kafka, tmp_path, has_it):
    from pyspark.errors import StreamingQueryException

    topic, checkpoint, out = kafka.create(), tmp_path / "checkpoint", tmp_path / "out"
    records = session.readStream.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap)
    records = records.option("subscribe", topic).option("startingOffsets", "earliest").load().selectExpr("value")
    writer = records.writeStream.format("parquet").option("path", str(out)).trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(checkpoint))
    for count in (10, 5):
        kafka.produce(topic, count)
        writer.start().awaitTermination(600)
    for name in ("commits/1", "commits/.1.crc", "offsets/.1.crc"):
        (checkpoint / name).unlink()
    entry = checkpoint / "offsets/1"
    entry.write_text(entry.read_text().replace(':{"0":15}', ':{"0":4}'))
    for name in () if has_it else ("1", ".1.crc"):
        (out / "_spark_metadata" / name).unlink()
    view = examine(Store.open(str(checkpoint)), sink=Store.open(str(out)))
    source = Source("0", "kafka", f"{kafka.bootstrap}/{topic}")
    (found,) = read_losses(view, {"0": source}, {}, {}, Brokers({})).findings
    try:
        writer.start().awaitTermination(600)
    except StreamingQueryException as stopped:
        assert condition_of(str(stopped)) == found.spark_error and not has_it
    else:
        assert found.spark_error is None and has_it
        assert session.read.parquet(str(out)).count() == 15 + (15 - 4)


# --- what happens while a query runs --------------------------------------------------------------------------------

#: What happens after the first batch of a run that has fixed its end before, and what Spark says, whatever
#: failOnDataLoss is: the condition of KafkaExceptions in the words of its template.
WHILE_IT_RUNS: Mapping[str, tuple[Callable[[Loss], None], str]] = {
    "created again, shorter": (recreate(5), "report available offset which is less than end offset during running query"),
    "created again with fewer partitions": (recreate(50), "have been lost during running query with Trigger.AvailableNow"),
}  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("row", WHILE_IT_RUNS)
def test_a_loss_in_a_run_of_available_now_leaves_a_batch_whose_end_is_foretold(session, kafka, tmp_path, row, fails):
    from pyspark.errors import StreamingQueryException

    topic = kafka.create(2 if "fewer" in row else 1)
    for partition in (0, 1)[: 2 if "fewer" in row else 1]:
        kafka.produce(topic, 30, partition)
    loss = Loss(kafka, session, tmp_path / "checkpoint", topic, topic)
    happens, says = WHILE_IT_RUNS[row]

    def once(batch: Any, batch_id: int) -> None:
        happens(loss)

    options = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    options |= {"failOnDataLoss": str(fails).lower(), "maxOffsetsPerTrigger": "10"}
    records = session.readStream.format("kafka").options(**options).load()
    writer = records.writeStream.foreachBatch(once).option("checkpointLocation", str(loss.checkpoint))
    with pytest.raises(StreamingQueryException, match=says):
        writer.trigger(availableNow=True).start().awaitTermination(600)
    assert observe(Store.open(str(loss.checkpoint))).in_flight == 1
    told, stopped = loss.restart(fails, **{"kafkaConsumer.pollTimeoutMs": "2000"})
    assert told == stopped
