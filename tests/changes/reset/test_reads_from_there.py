"""A moved query of real Spark starts, and its first batch reads exactly from there.

The connector is Spark's own (see ``tests/kafka_lab.py``); what is expected is worked out from what the broker holds.
"""

from __future__ import annotations

from collections import Counter

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.plan.plan import Plan
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.sources.kafka.extent import Partition
from airflow_provider_ckpt.sources.kafka.strategies import ShiftBy, ToDatetime, ToEarliest
from tests.changes.reset.kafka_cases import (
    FAILED,
    FIRST_MS,
    IN_THE_SINK,
    MINUTE_MS,
    SINKS,
    Case,
    Row,
    random_case,
    rows_from,
)
from tests.changes.reset.moved_query import ACCEPTED, MovedQuery
from tests.fake_query import read_all
from tests.kafka_lab import session_of

SAMPLE = {
    "a batch in flight": Case(((6, 9),), 3, 2, 1, FAILED, ShiftBy(-5)),
    "the second of two sources, by time": Case(((4,), (8, 0)), 3, 0, 2, "", ToDatetime(FIRST_MS + MINUTE_MS), 1, (0,)),
}  # fmt: skip
#: With each sink, with state and without, and a batch in flight of either kind.
CHOSEN = {
    f"{sink}, {'stateful' if stateful else 'stateless'}, v{version}, {in_flight}": Case(
        ((6, 9), (3,)), 3, 0, version, in_flight, ShiftBy(-4), 0, sink=sink, stateful=stateful, grown=2
    )
    for sink in SINKS
    for stateful in (False, True)
    for version, in_flight in ((1, FAILED), (2, IN_THE_SINK))
}
RANDOM = {f"case {seed}": random_case(seed) for seed in range(60)}


def check(spark, kafka, case: Case, root) -> MovedQuery:
    """Move the query of a case, start it, and compare what its next batch reads, and what becomes of its sink."""
    query = MovedQuery(session_of(spark), kafka, case, root)
    query.prepare()
    before, extent, committed = query.positions(), query.extent(), observe(query.store).latest_committed or 0
    plan = query.reset()
    after = query.positions()
    for at, (old, new) in enumerate(zip(before, after, strict=True)):
        assert at == case.source or new == old, "another source has moved"
        moved = {number for (_, number), offset in new.items() if old[query.topics[at], number] != offset}
        assert not case.partitions or moved <= set(case.partitions), "another partition has moved"
    stay_lost = any(offset < extent.earliest[at] for position in after for at, offset in position.items())
    if stay_lost:  # one that was left where its records are gone stops the query, as it would have done before
        query.run(fails="Could not read records in offset [")
        return query
    expected = rows_from(after, extent)
    read = query.run()
    if case.sink == "file" and case.in_flight == IN_THE_SINK and case.more and expected:
        assert read == [], "the sink takes the next batch for the one that it has"
        assert "skipped" in plan.to_accept
    else:
        assert read == in_the_sink(case, expected, before)
    now = observe(query.store)
    assert now.in_flight is None and now.latest_committed == committed + bool(expected)
    assert_said(plan, query)
    return query


def in_the_sink(case: Case, read: list[Row], before: list[dict[Partition, int]]) -> list[Row]:
    """What the sink gets of the records that are read: with state, how often each was counted, or none a second time.

    The state has what was committed before the reset, and nothing of the batch in flight.
    """
    if not case.stateful:
        return read
    ends = {at: offset for position in before for at, offset in position.items()}
    known = {row for row in read if row[2] < ends.get(row[:2], 0)}
    if case.sink == "file":
        return [row for row in read if row not in known]
    return [(*row, 2 if row in known else 1) for row in read]


def assert_said(plan: Plan, query: MovedQuery) -> None:
    """What became of the sink was in the plan."""
    told = {effect.effect for effect in plan.effects}
    in_sink = Counter(row[:3] for row in query.in_sink())
    there = {
        (*at, offset) for at, end in query.extent().latest.items() for offset in range(query.extent().earliest[at], end)
    }
    if there - in_sink.keys():
        assert told & {"skipped", "unknown"}, "rows are missing, and nobody has said it"
    if max(in_sink.values(), default=0) > 1:
        assert told & {"duplicated", "unknown"}, "rows are there twice, and nobody has said it"


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.parametrize("case", SAMPLE.values(), ids=SAMPLE)
def test_the_first_batch_reads_from_there(spark, kafka, tmp_path, case):
    check(spark, kafka, case, tmp_path)


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.exhaustive
@pytest.mark.parametrize("case", {**CHOSEN, **RANDOM}.values(), ids={**CHOSEN, **RANDOM})
def test_so_it_does_with_each_sink_and_in_random_cases(spark, kafka, tmp_path, case):
    check(spark, kafka, case, tmp_path)


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.exhaustive
def test_an_undo_makes_it_go_on_from_where_it_was(spark, kafka, tmp_path):
    case = Case(((6, 9),), 3, 0, 1, FAILED, ToEarliest())
    query = MovedQuery(session_of(spark), kafka, case, tmp_path)
    query.prepare()
    before, files = query.positions(), read_all(query.store)
    query.reset()
    apply(make_undo(query.stores), query.stores, query_is_stopped=True, quiet_s=0, accept_sink=ACCEPTED)
    assert read_all(query.store) == files
    assert query.run() == rows_from(before, query.extent())
