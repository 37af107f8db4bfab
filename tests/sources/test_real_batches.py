"""The next batches of real queries, with Spark's own connector and a real broker: foretold, then run."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.codec.offsets.kafka import offsets_of
from airflow_provider_ckpt.query.source import parse_by_id
from airflow_provider_ckpt.query.source_options import Limits, parse_options
from airflow_provider_ckpt.query.trigger import AVAILABLE_NOW, ONCE
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker, read_extent
from airflow_provider_ckpt.sources.kafka.coming import Coming, coming_batch
from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition
from airflow_provider_ckpt.sources.kafka.foresee_wait import WaitForesight
from airflow_provider_ckpt.sources.kafka.next_batch import next_batch
from airflow_provider_ckpt.sources.open_end import Access, DeclaredEnds
from airflow_provider_ckpt.storage.store import Store
from airflow_provider_ckpt.waiting import SourceEndReached
from airflow_provider_ckpt.waiting.foreseen import ENDED_MS
from airflow_provider_ckpt.waiting.poll import poll_progress
from airflow_provider_ckpt.waiting.wait import Lost, Pending, Reached, Waiting

pytestmark = pytest.mark.timeout(3600)

EXHAUSTIVE = bool(os.environ.get("CKPT_EXHAUSTIVE"))
#: Batches that are foretold and then run.
BATCHES = 200 if EXHAUSTIVE else 4
SIZES = (0, 0, 1, 2, 9, 10, 100, 333, 1000)
VERSION = "spark.sql.streaming.offsetLog.formatVersion"


@pytest.fixture(scope="module")
def session(spark) -> Any:
    from tests.kafka_lab import session_of

    return session_of(spark)


@dataclass
class Query:
    """A query of one source or of two, each with a topic and limits of its own, and what is foretold of it."""

    session: Any
    kafka: Any
    checkpoint: Path
    topics: list[str]
    #: Of the offset log of a new checkpoint.
    version: int = 1

    def writer(self, limits: list[Limits], **options: str) -> Any:
        self.session.conf.set(VERSION, str(self.version))
        streams = [self._stream(topic, own, **options) for topic, own in zip(self.topics, limits, strict=True)]
        writer = reduce(lambda first, second: first.union(second), streams).writeStream.format("noop")
        return writer.option("checkpointLocation", str(self.checkpoint))

    def _stream(self, topic: str, limits: Limits, **options: str) -> Any:
        said = {"maxOffsetsPerTrigger": limits.most, "minOffsetsPerTrigger": limits.least}
        source = {"kafka.bootstrap.servers": self.kafka.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
        own = {option: str(value) for option, value in said.items() if value is not None}
        # a partition that was added, and has lost its first records, is read from its earliest offset
        return (
            self.session.readStream.format("kafka").options(**source, failOnDataLoss="false", **own, **options).load()
        )

    def batch_ids(self, log: str) -> list[int]:
        return sorted(int(path.name) for path in (self.checkpoint / log).glob("[0-9]*"))

    def ends(self, batch_id: int) -> list[Mapping[Partition, int]]:
        entry = observe(Store.open(str(self.checkpoint)), batch_id=batch_id).offset_seq(batch_id)
        return [offsets_of(offset) for _, offset in sorted(entry.offsets)]

    def uncommit(self) -> None:
        """Make the newest batch a planned one, as a query that was killed leaves it."""
        newest = self.batch_ids("commits")[-1]
        (self.checkpoint / f"commits/{newest}").unlink()
        (self.checkpoint / f"commits/.{newest}.crc").unlink(missing_ok=True)

    def extents(self) -> list[Extent]:
        broker = KafkaBroker(self.kafka.bootstrap, {})
        return [read_extent(broker, [topic]) for topic in self.topics]

    def foretold(self, limits: list[Limits]) -> list[Coming]:
        """The next batch of each source. A new query begins with the earliest offsets."""
        committed, planned = (self.batch_ids(log) for log in ("commits", "offsets"))
        ahead = self.ends(planned[-1]) if planned != committed else [None] * len(self.topics)
        at = self.ends(committed[-1]) if committed else [extent.earliest for extent in self.extents()]
        return [coming_batch(*each) for each in zip(at, ahead, self.extents(), limits, strict=True)]

    def run(self, limits: list[Limits]) -> list[int]:
        """Run what a trigger that ends by itself reads; the batches that ran."""
        before = self.batch_ids("commits")
        writer = self.writer(limits)
        trigger = {"once": True} if limits[0].trigger == ONCE else {"availableNow": True}
        assert writer.trigger(**trigger).start().awaitTermination(600), "the query did not end in 600 s"
        return [batch_id for batch_id in self.batch_ids("commits") if batch_id not in before]

    def foretell_and_run(self, limits: list[Limits]) -> int:
        """Foretell every batch of a run, then run it; how many batches there were."""
        coming, extents, is_new = self.foretold(limits), self.extents(), not self.batch_ids("offsets")
        ran = self.run(limits)
        expected = [each.batch for each in coming]
        for number, batch_id in enumerate(ran):
            at = self.ends(batch_id)
            assert at == [each.ends for each in expected], (limits, batch_id, extents)
            is_first = number == 0 and coming[0].planned  # what follows a planned batch is the first that is cut
            expected = [next_batch(*each, is_first=is_first) for each in zip(at, extents, limits, strict=True)]
        unread = [
            sum(end - at_end.get(at, extent.earliest[at]) for at, end in extent.latest.items())
            for at_end, extent in zip(self.ends(self.batch_ids("commits")[-1]), extents, strict=True)
        ]
        for left, each in zip(unread, coming, strict=True):
            assert (left <= 0) == each.outlook.is_reached
            assert left <= each.outlook.unread
        if all(each.outlook.is_reached for each in coming):
            longest = max(each.outlook.at_least for each in coming)
            assert len(ran) == (longest or int(is_new)), "a new query begins with a batch, if need be with an empty one"
        return len(ran)


def produce_anew(kafka: Any, topic: str, partitions: int, rng: random.Random) -> None:
    """Records in some partitions."""
    for number in range(partitions):
        if size := rng.choice(SIZES):
            kafka.produce(topic, size, partition=number)


def limits_of(rng: random.Random, trigger: str) -> Limits:
    """Limits that a run of some batches ends with."""
    most = rng.choice((None, 333, 700, 1344, 5000))
    least = rng.choice((None, None, 1, 150, 300))
    return Limits(most, least, trigger=trigger)


def test_the_next_batches_end_where_they_were_foretold(session, kafka, tmp_path):
    """Queries of one source and of two, v1 and v2, with partitions that are empty, new, or without their first records.

    Each is run three times: new; after the topics have grown; and with a batch in flight.
    """
    rng, batches, number = random.Random(12), 0, 0
    while batches < BATCHES:
        number += 1
        partitions = rng.randint(2, 5)
        topics = [kafka.create(partitions) for _ in range(1 + number % 2)]
        query = Query(session, kafka, tmp_path / str(number), topics, 1 + number // 2 % 2)

        def run_once_more(query: Query = query) -> int:
            trigger = rng.choice((AVAILABLE_NOW, AVAILABLE_NOW, ONCE))
            return query.foretell_and_run([limits_of(rng, trigger) for _ in query.topics])

        for topic in topics:
            produce_anew(kafka, topic, partitions, rng)
        batches += run_once_more()
        for topic in topics:
            kafka.grow(topic, partitions + 1)
            kafka.produce(topic, 7, partition=partitions)
            produce_anew(kafka, topic, partitions, rng)
            if rng.random() < 0.5:
                kafka.delete_before(topic, 4, partition=partitions)
        batches += run_once_more()
        query.uncommit()
        for topic in topics:
            produce_anew(kafka, topic, partitions + 1, rng)
        batches += run_once_more()


def commit_of(query: Query, batch_id: int) -> Callable[[], bool]:
    return lambda: batch_id in query.batch_ids("commits")


def until(holds: Callable[[], bool], running: Any) -> None:
    deadline = time.monotonic() + 600
    while not holds():
        assert running.isActive and time.monotonic() < deadline, running.exception()
        time.sleep(0.05)


@pytest.mark.exhaustive
@pytest.mark.parametrize("delay", ["1h", "3s"])
def test_a_running_query_waits_for_its_minimum_or_for_its_delay(session, kafka, tmp_path, delay):
    """Records come at once, by a transaction, so that no poll of the query sees some of them."""
    query = Query(session, kafka, tmp_path / "checkpoint", [kafka.create()])
    limits = Limits(least=20)
    more = {"kafka.isolation.level": "read_committed", "maxTriggerDelay": delay}

    def expect(batch_id: int, *, is_first: bool) -> None:
        broker = KafkaBroker(kafka.bootstrap, {"isolation.level": "read_committed"})
        extent = read_extent(broker, query.topics)
        at = query.ends(batch_id - 1)[0] if batch_id else extent.earliest
        expected = next_batch(at, extent, limits, is_first=is_first)
        if expected.waits_ms is not None:
            assert delay == "3s", "foretold to be held back"
            expected = next_batch(at, extent, limits)
        until(commit_of(query, batch_id), running)
        assert query.ends(batch_id)[0] == expected.ends

    kafka.produce_in_transaction(query.topics[0], 5, commit=True)
    running = query.writer([limits], **more).trigger(processingTime="0 seconds").start()
    try:
        expect(0, is_first=True)
        kafka.produce_in_transaction(query.topics[0], 6, commit=True)
        if delay == "1h":
            kafka.produce_in_transaction(query.topics[0], 30, commit=True)
        expect(1, is_first=False)
    finally:
        running.stop()


# --- a wait beside it -------------------------------------------------------------------------------------------------


def test_a_wait_beside_a_query_that_leaves_a_tail_says_so_and_ends(session, kafka, tmp_path):
    """30 records, of which a run reads 25, because the last five are fewer than its minimum."""
    query = Query(session, kafka, tmp_path / "checkpoint", [kafka.create()])
    kafka.produce(query.topics[0], 30)
    limits = Limits(25, 20, trigger=AVAILABLE_NOW)
    sources = parse_by_id({"0": f"kafka:{kafka.bootstrap}/{query.topics[0]}"})
    said = parse_options([("0.minOffsetsPerTrigger", "20"), ("0.maxOffsetsPerTrigger", "25")], AVAILABLE_NOW)
    access = Access(lambda location: Store.open(location))
    foresight, ends = WaitForesight(sources, said, access), DeclaredEnds(sources, access)
    store = Store.open(str(query.checkpoint))

    def poll(waiting: Waiting, later_ms: int = 0) -> Any:
        found = poll_progress(store, waiting.needs)
        if later_ms:
            found = replace(found, polled_at_ms=found.polled_at_ms + later_ms, planned=found.batch_id)
        return waiting.step(found, 0)

    waiting = Waiting(store.location, SourceEndReached(), ends=ends, foresee=foresight)
    assert isinstance(poll(waiting), Pending)
    query.run([limits])
    step = poll(waiting)
    assert isinstance(step, Pending), "another batch might come"
    assert "ends with at most 5 offsets of source 0 unread, until its next start" in step.text
    over = poll(waiting, later_ms=2 * ENDED_MS)
    assert isinstance(over, Lost) and "has ended with batch 0, before the condition was met" in str(over.error)

    again = Waiting(store.location, waiting.condition, ends=ends, foresee=foresight)
    assert isinstance(poll(again, later_ms=2 * ENDED_MS), Pending), "a next start would read it"
    query.run([limits])
    assert isinstance(poll(again), Reached)
