"""A moved query of real Spark starts, and its first batch reads exactly from there.

The connector is Spark's own (see ``tests/kafka_lab.py``); what is expected is worked out from what the broker holds.
"""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.undo.make import make_undo
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.positions.strategies import ShiftBy, ToCurrent, ToDatetime, ToEarliest
from tests.fake_query import read_all
from tests.kafka_lab import session_of
from tests.reset.kafka_cases import FIRST_MS, MINUTE_MS, Case, MovedQuery, random_case, rows_from

SAMPLE = {
    "a batch in flight": Case(((6, 9),), 3, 2, 1, True, ShiftBy(-5)),
    "the second of two sources, by time": Case(((4,), (8, 0)), 3, 0, 2, False, ToDatetime(FIRST_MS + MINUTE_MS), 1, (0,)),
}  # fmt: skip
RANDOM = {f"case {seed}": random_case(seed) for seed in range(60)}


def check(spark, kafka, case: Case, root) -> MovedQuery:
    """Move the query of a case, start it, and compare what its next batch reads."""
    query = MovedQuery(session_of(spark), kafka, case, root)
    query.prepare()
    before, extent, committed = query.positions(), query.extent(), observe(query.store).latest_committed
    query.reset()
    after = query.positions()
    for at, (old, new) in enumerate(zip(before, after, strict=True)):
        assert at == case.source or new == old, "another source has moved"
        moved = {number for (_, number), offset in new.items() if old[query.topics[at], number] != offset}
        assert not case.partitions or moved <= set(case.partitions), "another partition has moved"
    stay_lost = any(offset < extent.earliest[at] for position in after for at, offset in position.items())
    if not stay_lost:  # one that was left where its records are gone stops the query, as it would have done before
        assert query.run() == rows_from(after, extent)
        now = observe(query.store)
        assert now.in_flight is None and now.latest_committed in (committed, (committed or 0) + 1)
    return query


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.parametrize("case", SAMPLE.values(), ids=SAMPLE)
def test_the_first_batch_reads_from_there(spark, kafka, tmp_path, case):
    check(spark, kafka, case, tmp_path)


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.exhaustive
@pytest.mark.parametrize("case", RANDOM.values(), ids=RANDOM)
def test_so_it_does_in_random_cases(spark, kafka, tmp_path, case):
    check(spark, kafka, case, tmp_path)


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.exhaustive
def test_an_undo_makes_it_go_on_from_where_it_was(spark, kafka, tmp_path):
    case = Case(((6, 9),), 3, 0, 1, True, ToEarliest())
    query = MovedQuery(session_of(spark), kafka, case, tmp_path)
    query.prepare()
    before, files = query.positions(), read_all(query.store)
    query.reset()
    stores = Stores(query.store)
    apply(make_undo(stores), stores, query_is_stopped=True, quiet_s=0, accept_sink="duplicated skipped unknown")
    assert read_all(query.store) == files
    assert query.run() == rows_from(before, query.extent())


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.exhaustive
@pytest.mark.parametrize("strategy", [ToEarliest(), ToCurrent()])
def test_a_failed_start_is_healed_by_one_command_and_no_record_is_lost(spark, kafka, tmp_path, strategy):
    """A topic was created again, a start has planned a batch that goes back, and the topic has grown past the position."""
    query = MovedQuery(session_of(spark), kafka, Case(((10,),), 0, 0, 1, False, strategy), tmp_path)
    query.prepare()
    (topic,) = query.topics
    kafka.recreate(topic)
    for more in (4, 20):
        kafka.produce(topic, more)
        query.run(fails="offset was changed from 10 to 4")
        assert observe(query.store).in_flight == 1
    query.reset()
    assert query.run() == [(topic, 0, offset) for offset in range(24)]
