"""The data loss of real queries, with Spark's own connector and a real broker: foretold, then run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.positions.ask_brokers import Brokers
from airflow_provider_ckpt.positions.read_losses import read_losses
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
    "KAFKA_DATA_LOSS.PARTITIONS_DELETED": r"Partitions .* have been deleted",
    "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO": r"Added partition .* starts from \d+ instead of 0",
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

    def restart(self, fails: bool, **options: str) -> tuple[str | None, str | None]:
        """What is foretold, and what Spark stops with."""
        pattern = {"0.subscribePattern": self.subscribes} if "*" in self.subscribes else {}
        said = {"0.failOnDataLoss": str(fails).lower(), **pattern}
        place = self.kafka.bootstrap + ("" if pattern else f"/{self.subscribes}")
        view = observe(Store.open(str(self.checkpoint)))
        found = read_losses(view, {"0": place}, said, {}, Brokers({})).findings
        told = next((finding.spark_error for finding in found if finding.spark_error), None)
        subscription = "subscribePattern" if pattern else "subscribe"
        wanted = {subscription: self.subscribes, "failOnDataLoss": str(fails).lower(), **options}
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
    "planned, then records are gone": plan_then_delete,
    "planned, then the end went back": plan_then_shrink,
    "a failed start, then grown": fail_then_grow,
    "a new partition without its first records": grow_and_delete,
    "taken out of the subscription": unsubscribe,
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
    if row == "created again with fewer partitions":
        kafka.grow(topic, 2)
    ROWS[row](loss)
    told, stopped = loss.restart(fails, **{"kafkaConsumer.pollTimeoutMs": "2000"})
    assert told == stopped
