"""A start that has failed leaves a planned batch, at which every further start fails: one reset heals it for good.

Real Spark fails, and starts again after the reset; every record that the topics hold now reaches the sink. Beside the
source that is in trouble there may be another one, which has got new records as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.sources.kafka.strategies import Strategy, ToCurrent, ToEarliest
from tests.changes.reset.kafka_cases import Case, Row
from tests.changes.reset.moved_query import MovedQuery
from tests.kafka_lab import session_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.exhaustive, pytest.mark.timeout(600)]
#: Records of the source in trouble that were read, and what the other source has read and has got since.
READ, OTHER, MORE = 10, 5, 3


@dataclass(frozen=True)
class Trouble:
    """What happens, what Spark says, and what heals it.

    Args:
        happens: What happens to the topic before the start that fails.
        says: In the error of that start, and of every further one.
        later: What happens to it then, which is no help.
        heals: The strategies of which each heals it.
        reads: The offsets that are read then, by partition.
        partitions: Those that the reset names; none for all that the query knows.
    """

    happens: Callable[[MovedQuery, str], None]
    says: str
    later: Callable[[MovedQuery, str], None]
    heals: tuple[Strategy, ...]
    reads: dict[int, range]
    partitions: tuple[int, ...] = ()


def produce(count: int, partition: int = 0) -> Callable[[MovedQuery, str], None]:
    return lambda query, topic: query.broker.produce(topic, count, partition)


def recreate(count: int, partitions: int = 1) -> Callable[[MovedQuery, str], None]:
    def happens(query: MovedQuery, topic: str) -> None:
        query.broker.recreate(topic, partitions)
        query.broker.produce(topic, count)

    return happens


def recreate_smaller(query: MovedQuery, topic: str) -> None:
    query.broker.grow(topic, 2)
    query.broker.produce(topic, 4, 1)
    query.run()  # knows both partitions
    recreate(3)(query, topic)


def grow_and_delete(query: MovedQuery, topic: str) -> None:
    query.broker.grow(topic, 2)
    query.broker.produce(topic, 9, 1)
    query.broker.delete_before(topic, 5, 1)


def delete_unread(query: MovedQuery, topic: str) -> None:
    query.broker.produce(topic, 8)
    query.broker.delete_before(topic, READ + 3)


def nothing(query: MovedQuery, topic: str) -> None:
    """Nothing."""


TROUBLES = {
    "created again": Trouble(
        recreate(4), "offset was changed from 10 to 4", produce(20), (ToEarliest(), ToCurrent()), {0: range(24)}
    ),
    "created again and empty": Trouble(
        recreate(0), "offset was changed from 10 to 0", produce(30), (ToEarliest(), ToCurrent()), {0: range(30)}
    ),
    "created again with fewer partitions": Trouble(
        recreate_smaller, "have been deleted", produce(2), (ToEarliest(), ToCurrent()), {0: range(5)}
    ),
    "a new partition without its first records": Trouble(
        grow_and_delete,
        "starts from 5 instead of 0",
        produce(2, 1),
        (ToEarliest(),),
        {1: range(5, 11)},
        partitions=(1,),
    ),
    "unread records are gone": Trouble(
        delete_unread,
        "Could not read records in offset [10, 18)",
        produce(2),
        (ToEarliest(), ToCurrent()),
        {0: range(13, 20)},
    ),
}


@pytest.mark.parametrize(("version", "sources"), [(1, 1), (2, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize(
    ("trouble", "strategy"),
    [pytest.param(trouble, strategy, id=f"{name}, {type(strategy).__name__}")
     for name, trouble in TROUBLES.items() for strategy in trouble.heals],
)  # fmt: skip
def test_one_reset_heals_it_and_no_record_is_lost(spark, kafka, tmp_path, trouble, strategy, version, sources):
    read = ((READ,), (OTHER,))[:sources]
    case = Case(read, 0, 0, version, "", strategy, partitions=trouble.partitions)
    query = MovedQuery(session_of(spark), kafka, case, tmp_path)
    query.prepare()
    topic, expected = query.topics[0], list[Row]()
    for other in query.topics[1:]:
        kafka.produce(other, MORE)
        expected = [(other, 0, offset) for offset in range(OTHER, OTHER + MORE)]
    trouble.happens(query, topic)
    before = query.in_sink()
    committed = observe(query.store).latest_committed or 0
    if trouble.happens is recreate_smaller:
        expected = []  # the other source was read on the way
    for step in (nothing, trouble.later):
        step(query, topic)
        query.run(fails=trouble.says)
        assert observe(query.store).in_flight == committed + 1
    query.reset()
    assert query.in_sink() == before, "a reset touches no sink"
    expected += [(topic, number, offset) for number, offsets in trouble.reads.items() for offset in offsets]
    assert query.run() == sorted(expected)
    kafka.produce(topic, 1)
    assert len(query.run()) == 1, "and goes on"


@pytest.mark.parametrize("version", [1, 2])
def test_a_topic_that_was_taken_out_for_one_start_goes_on_where_it_was(spark, kafka, tmp_path, version):
    """The start without it has failed and has planned a batch without it: putting it back alone does not help."""
    query = MovedQuery(session_of(spark), kafka, Case(((READ,),), 0, 0, version, "", ToCurrent()), tmp_path)
    (first,) = query.topics
    second = kafka.create()
    kafka.produce(second, OTHER)
    query.subscribed = [f"{first},{second}"]
    query.prepare()
    for topic in (first, second):
        kafka.produce(topic, MORE)
    query.subscribed = [first]
    query.run(fails="have been deleted")
    query.subscribed = [f"{first},{second}"]
    query.run(fails="have been deleted")
    query.reset()
    left = {first: range(READ, READ + MORE), second: range(OTHER, OTHER + MORE)}
    assert query.run() == sorted((topic, 0, offset) for topic, offsets in left.items() for offset in offsets)
