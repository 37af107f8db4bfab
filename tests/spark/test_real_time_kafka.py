"""Real-time mode from Kafka to Kafka: what the forecast says of it, and what a reset of such a query does."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.changes.reset.make import make_reset
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.codec.offsets.kafka import offsets_of
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source_options import Limits
from airflow_provider_ckpt.query.trigger import REAL_TIME
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker, read_extent
from airflow_provider_ckpt.sources.kafka.coming import coming_batch
from airflow_provider_ckpt.sources.kafka.extent import Extent
from airflow_provider_ckpt.sources.kafka.resolve_goal import KafkaAim
from airflow_provider_ckpt.sources.kafka.strategies import ShiftBy, ToCurrent
from airflow_provider_ckpt.storage.store import Store
from tests.spark_lab import settle

pytestmark = [pytest.mark.spark, pytest.mark.exhaustive, pytest.mark.timeout(900)]
KAFKA = parse_sink("kafka")


class Relay:
    """A query in real-time mode that copies a topic to another one."""

    def __init__(self, spark: Any, kafka: Any, checkpoint: Path) -> None:
        self.session = spark.newSession()
        self.session.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")
        self.kafka, self.checkpoint = kafka, checkpoint
        self.source, self.sink = kafka.create(), kafka.create()

    def start(self, duration: str = "1 second", **options: str) -> Any:
        source = {"kafka.bootstrap.servers": self.kafka.bootstrap, "startingOffsets": "earliest"}
        records = self.session.readStream.format("kafka").options(subscribe=self.source, **source, **options).load()
        writer = records.selectExpr("value").writeStream.format("kafka").outputMode("update")
        writer = writer.option("kafka.bootstrap.servers", self.kafka.bootstrap).option("topic", self.sink)
        return writer.option("checkpointLocation", str(self.checkpoint)).trigger(realTime=duration).start()

    def run_until(self, holds: Callable[[], bool], duration: str = "1 second") -> None:
        """Run until something holds; with batches that end, until all that was written is in a committed one."""
        query = self.start(duration)
        try:
            until(holds, query)
            if duration == "1 second":
                written = list(self.extent().latest.values())
                until(lambda: self.position() == written, query)
        finally:
            query.stop()
        settle(self.checkpoint)

    def committed(self) -> int:
        names = (path.name for path in self.checkpoint.glob("commits/*"))
        return max((int(name) for name in names if re.fullmatch(r"\d+", name)), default=-1)

    def extent(self) -> Extent:
        return read_extent(KafkaBroker(self.kafka.bootstrap, {}), [self.source])

    def position(self) -> list[int]:
        """Where the newest committed batch ended. Its commit may come late, after the next batch has begun."""
        view = observe(Store.open(str(self.checkpoint)))
        newest = None if view.latest_committed is None else view.offset_seq(view.latest_committed).offset("0")
        return list(offsets_of(newest).values())

    def read(self) -> Counter[bytes]:
        """What the sink has, and how often."""
        return Counter(values(self.kafka, self.sink))


def values(kafka: Any, topic: str) -> Iterator[bytes]:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "test", "enable.auto.commit": False})
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0))
    consumer.assign([TopicPartition(topic, 0, 0)])
    for _ in range(end):
        message = consumer.poll(30)
        assert message is not None and message.error() is None, message
        yield message.value()
    consumer.close()


def until(holds: Callable[[], bool], query: Any) -> None:
    deadline = time.monotonic() + 300
    while not holds():
        assert query.isActive and time.monotonic() < deadline, query.exception()
        time.sleep(0.1)


def times(read: Counter[bytes]) -> list[int]:
    """How often the sink has each record, in order."""
    return [read[b"%d" % number] for number in range(max(map(int, read)) + 1)]


def test_a_reset_moves_a_query_in_real_time_mode(spark, kafka, tmp_path):
    relay = Relay(spark, kafka, tmp_path / "checkpoint")
    kafka.produce(relay.source, 10)
    relay.run_until(lambda: len(relay.read()) == 10)
    assert times(relay.read()) == [1] * 10

    stores, broker = Stores(Store.open(str(relay.checkpoint))), KafkaBroker(kafka.bootstrap, {})
    coming = coming_batch({(relay.source, 0): 10}, None, relay.extent(), Limits(trigger=REAL_TIME))
    assert coming.batch.offsets == 0 and coming.outlook.at_least == 0
    plan = make_reset(stores, "0", KafkaAim(broker, ShiftBy(-3)), sink=KAFKA, trigger=REAL_TIME)
    assert (plan.trigger, plan.sink_effect) == (REAL_TIME, "duplicated")
    apply(plan, stores, query_is_stopped=True, quiet_s=0, accept_sink="duplicated")
    relay.run_until(lambda: sum(relay.read().values()) >= 13)
    assert times(relay.read()) == [*[1] * 7, *[2] * 3], "exactly from the new offset on"


def test_a_batch_that_was_stopped_is_in_no_log_so_even_a_reset_to_where_it_is_duplicates(spark, kafka, tmp_path):
    """Why the effect of a reset is never exact in real-time mode."""
    relay = Relay(spark, kafka, tmp_path / "checkpoint")
    kafka.produce(relay.source, 10)
    relay.run_until(lambda: len(relay.read()) == 10)
    done = relay.committed()
    for number in range(5):
        kafka.produce(relay.source, 1, timestamp_ms=number)
    relay.run_until(lambda: sum(relay.read().values()) > 10, "1 hour")
    assert relay.committed() == done, "rows of a batch that no log has"
    before = sum(relay.read().values())

    stores, aim = Stores(Store.open(str(relay.checkpoint))), KafkaAim(KafkaBroker(kafka.bootstrap, {}), ToCurrent())
    said_nothing, said = (make_reset(stores, "0", aim, sink=KAFKA, trigger=trigger) for trigger in (None, REAL_TIME))
    assert (said_nothing.sink_effect, said.sink_effect) == ("exact", "duplicated")
    relay.run_until(lambda: sum(relay.read().values()) >= before + 5)
    assert sum(relay.read().values()) == before + 5, "all that came after the newest batch of the log, once more"


def test_a_planned_batch_is_dropped_and_planned_anew(spark, kafka, tmp_path):
    """As a query leaves it that ran with another trigger before, and was killed."""
    relay = Relay(spark, kafka, tmp_path / "checkpoint")
    kafka.produce(relay.source, 10)
    relay.run_until(lambda: len(relay.read()) == 10)
    newest = relay.committed()
    entry = (relay.checkpoint / f"offsets/{newest}").read_text()
    kafka.produce(relay.source, 5)
    planned = relay.checkpoint / f"offsets/{newest + 1}"
    planned.write_text(entry.replace('{"0":10}', '{"0":12}'))
    assert planned.read_text() != entry

    coming = coming_batch(
        {(relay.source, 0): 10},
        {(relay.source, 0): 12},
        relay.extent(),
        Limits(trigger=REAL_TIME),
    )
    assert not coming.planned and coming.batch.ends == {(relay.source, 0): 15}
    relay.run_until(lambda: sum(relay.read().values()) >= 15)
    assert sum(relay.read().values()) == 15
    assert '{"0":15}' in planned.read_text()


@pytest.mark.parametrize("option", ["maxOffsetsPerTrigger", "minOffsetsPerTrigger"])
def test_spark_refuses_limits_in_real_time_mode_as_the_gate_says(spark, kafka, tmp_path, option):
    relay = Relay(spark, kafka, tmp_path / "checkpoint")
    query = relay.start(**{option: "5"})
    with pytest.raises(Exception, match=f"{option} is not compatible with real time mode"):
        query.awaitTermination(300)
    with pytest.raises(ValueError, match="refuses in real-time mode"):
        Limits(**{"maxOffsetsPerTrigger": {"most": 5}, "minOffsetsPerTrigger": {"least": 5}}[option], trigger=REAL_TIME)
