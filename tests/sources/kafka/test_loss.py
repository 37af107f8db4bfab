"""Each row of the table of data loss: what is found, and what Spark stops with at either setting of failOnDataLoss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from airflow_provider_ckpt.query.source_options import SourceOptions
from airflow_provider_ckpt.sources.kafka.extent import Extent, Partition
from airflow_provider_ckpt.sources.kafka.loss import KafkaSource, losses

GONE, CHANGED = "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE", "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED"
DELETED = "KAFKA_DATA_LOSS.PARTITIONS_DELETED"
NOT_FOUND = "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS"
NOT_ZERO = "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO"
TIMEOUT = "TimeoutException"
UNKNOWN = "UnknownTopicOrPartitionException"


@dataclass(frozen=True)
class Case:
    """Ranges of a topic t by partition, from the first offset to the end; the query is at 10 in partition 0."""

    ranges: Mapping[int, tuple[int, int]] | None
    stops: str | None = None
    stops_at_false: str | None = None
    code: str | None = None
    position: Mapping[int, int] = field(default_factory=lambda: {0: 10})
    planned: Mapping[int, int] | None = None
    topics: tuple[str, ...] = ()
    known_id: str | None = "first"
    is_pattern: bool | None = None
    with_another_topic: bool = False
    assigned: frozenset[Partition] | None = None
    has_group_id: bool = False

    def source(self, fails: bool | None) -> KafkaSource:
        ranges = {("t", number): ends for number, ends in (self.ranges or {}).items()}
        ids = {} if self.ranges is None else {"t": "first"}
        if self.with_another_topic:
            ranges["other", 0] = (0, 5)
            ids["other"] = "other"
        return KafkaSource(
            "0",
            7,
            "offsets/7",
            {("t", number): offset for number, offset in self.position.items()},
            None if self.planned is None else {("t", number): offset for number, offset in self.planned.items()},
            Extent(ids, {at: first for at, (first, _) in ranges.items()}, {at: end for at, (_, end) in ranges.items()}),
            self.topics,
            {} if self.known_id is None else {"t": self.known_id},
            SourceOptions(
                fails_on_data_loss=fails,
                is_pattern=self.is_pattern,
                assigned=self.assigned,
                has_group_id=self.has_group_id,
            ),
        )


CASES = {
    "nothing is wrong": Case({0: (0, 30)}),
    "caught up": Case({0: (0, 10)}),
    "only consumed records are gone": Case({0: (10, 30)}),
    "all consumed records are gone, and there are no others": Case({0: (10, 10)}),
    "unread records are gone": Case({0: (15, 30)}, GONE, code="CKPT250"),
    "all unread records are gone": Case({0: (30, 30)}, GONE, code="CKPT250"),
    "the topic is deleted": Case(None, UNKNOWN, UNKNOWN, "CKPT251"),
    "one of two topics is deleted": Case(None, UNKNOWN, UNKNOWN, "CKPT251", with_another_topic=True),
    "one topic of a pattern is deleted": Case(None, DELETED, None, "CKPT251", is_pattern=True, with_another_topic=True),
    "created again, and shorter": Case({0: (0, 4)}, CHANGED, code="CKPT252", known_id=None),
    "created again, and longer": Case({0: (0, 25)}, code="CKPT253", known_id="before"),
    "created again, and longer, without memory": Case({0: (0, 25)}, known_id=None),
    "created again, and nobody had read of it": Case({0: (0, 25)}, known_id="before", position={0: 0}),
    "created again with fewer partitions": Case(
        {0: (0, 25)}, DELETED, code="CKPT251", position={0: 10, 1: 3}, known_id=None
    ),
    "created again with fewer partitions, and the query sets a group id": Case(
        {0: (0, 25)},
        f"{DELETED}_AND_GROUP_ID_CONFIG_PRESENT",
        code="CKPT251",
        position={0: 10, 1: 3},
        known_id=None,
        has_group_id=True,
    ),
    "planned, then records are gone": Case({0: (15, 30)}, GONE, code="CKPT250", planned={0: 30}),
    "planned without these, which are gone": Case(
        {0: (15, 30), 1: (0, 9)}, GONE, code="CKPT250", position={0: 10, 1: 3}, planned={0: 10, 1: 9}
    ),
    "planned, then the end went back": Case({0: (0, 15)}, GONE, code="CKPT252", planned={0: 30}),
    "planned by a start that has failed": Case({0: (0, 24)}, CHANGED, code="CKPT252", planned={0: 4}, known_id=None),
    "a new partition begins at 0": Case({0: (0, 30), 1: (0, 5)}),
    "a new partition does not begin at 0": Case({0: (0, 30), 4: (5, 9)}, NOT_ZERO, code="CKPT254"),
    "a new partition does not begin at 0, and a batch is in flight": Case(
        {0: (0, 30), 4: (5, 9)}, NOT_ZERO, code="CKPT254", planned={0: 30}
    ),
    "the batch in flight has a new partition, whose first records are gone": Case(
        {0: (0, 30), 4: (5, 9)}, NOT_ZERO, code="CKPT254", planned={0: 30, 4: 9}
    ),
    "the batch in flight has a new partition, which is gone": Case(
        {0: (0, 30)}, NOT_FOUND, code="CKPT251", planned={0: 30, 1: 5}
    ),
    "the batch in flight lacks a partition, which is there again": Case(
        {0: (0, 30), 1: (0, 9)}, DELETED, code="CKPT251", position={0: 10, 1: 3}, planned={0: 30}
    ),
    "planned, then the topic is deleted": Case(None, TIMEOUT, TIMEOUT, "CKPT251", planned={0: 30}),
    "planned, then one topic of a pattern is deleted": Case(
        None, TIMEOUT, TIMEOUT, "CKPT251", planned={0: 30}, is_pattern=True, with_another_topic=True
    ),
    "planned, then created again with fewer partitions": Case(
        {0: (0, 25)}, TIMEOUT, TIMEOUT, code="CKPT251", position={0: 10, 1: 3}, planned={0: 12, 1: 4}, known_id=None
    ),
    "a partition is not assigned any more": Case(
        {0: (0, 30)}, DELETED, code="CKPT251", position={0: 10, 1: 3}, assigned=frozenset([("t", 0)])
    ),
    "a topic is taken out of the subscription": Case(
        {0: (0, 30)}, DELETED, code="CKPT251", topics=("other",), with_another_topic=True
    ),
    "a topic is added to the subscription": Case({0: (0, 30)}, topics=("t", "other"), with_another_topic=True),
}


@pytest.mark.parametrize("name", CASES)
def test_what_spark_stops_with(name):
    case = CASES[name]
    for fails in (True, None):
        found = list(losses(case.source(fails)))
        assert [finding.code for finding in found] == ([case.code] if case.code else [])
        assert [finding.spark_error for finding in found] == ([case.stops] if case.code else [])
    found = list(losses(case.source(False)))
    assert [finding.code for finding in found] == ([case.code] if case.code else []), "the loss is the same"
    assert [finding.spark_error for finding in found] == ([case.stops_at_false] if case.code else [])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.code])
def test_a_finding_can_be_read_alone(name):
    for fails in (True, False):
        for finding in losses(CASES[name].source(fails)):
            assert (finding.severity, finding.batch_id, finding.name) == ("error", 7, "offsets/7")
            assert "source 0" in finding.message or "topic" in finding.message
            assert "Spark" in finding.message
            assert finding.hint


GOALS = {
    "unread records are gone": "--to-current",
    "created again, and shorter": "--to-current",
    "created again, and longer": "--to-earliest --topic t",
    "created again with fewer partitions": "--to-current",
    "planned, then the end went back": "--to-current",
    "planned by a start that has failed": "--to-current",
    "planned, then the topic is deleted": "--to-current",
    "a new partition does not begin at 0": "--to-earliest --topic t:4",
    "the batch in flight has a new partition, which is gone": "--to-current",
    "the batch in flight lacks a partition, which is there again": "--to-current",
    "the topic is deleted": None,
    "a partition is not assigned any more": None,
}


@pytest.mark.parametrize(("name", "goal"), GOALS.items())
def test_a_finding_names_the_command_that_moves_the_query(name, goal):
    """To stay at the position is no remedy where the records before it were never read."""
    source = replace(CASES[name].source(True), checkpoint="/c d", servers="a:9092,b:9092")
    (finding,) = losses(source)
    command = f"ckpt reset-offsets '/c d' --source 0=kafka:a:9092,b:9092 {goal} --sink TYPE[:URI]"
    assert finding.commands == (() if goal is None else (command,))
    (before_a_commit,) = losses(replace(source, batch_id=None))
    assert before_a_commit.commands == (), "there is no position that could be moved"


def test_many_partitions_are_counted():
    case = Case(dict.fromkeys(range(9), (15, 30)), position=dict.fromkeys(range(9), 10))
    (finding,) = losses(case.source(True))
    assert "at most 45 records" in finding.message
    assert "t-0, t-1, t-2 and 6 more" in finding.message


def test_a_topic_that_has_gone_is_not_taken_for_one_that_was_created_again():
    gone = CASES["the topic is deleted"].source(True)
    assert replace(gone, known_ids={"t": "before"}).recreated == ()


@pytest.mark.parametrize("fails", [True, False, None])
def test_a_batch_in_flight_that_the_sink_has_is_not_read_so_spark_starts(fails):
    """Measured on Spark 4.3: the batch is committed, and the next one reads from where it ends."""
    source = Case({0: (0, 24)}, planned={0: 4}, known_id=None).source(fails)
    assert [bool(item.spark_error) for item in losses(source)] == [fails is not False]
    (item,) = losses(replace(source, skipped=True))
    assert (item.code, item.severity, item.spark_error) == ("CKPT252", "error", None)
    assert "goes on from 4. The records from there to 10 are read again" in item.message
