"""Resets that are refused, and why: the state, the source, an edited plan, a query that has run since."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.change.apply import apply
from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.errors import PlanError, StalePlanError
from airflow_provider_ckpt.sources.kafka.strategies import ToCurrent, ToEarliest, ToOffsets
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_query import ForgedBroker, KafkaQuery
from tests.changes.reset.of_kafka import LAST, STOPPED, plan_of, query_at
from tests.fake_query import read_all


def test_a_query_with_state_needs_a_word_when_rows_come_again(tmp_path):
    query = query_at(tmp_path, stateful=True)
    with pytest.raises(PlanError, match="at most 80 offsets of source 0 a second time") as refused:
        plan_of(query, ToEarliest())
    assert "--state-will-see-rows-again" in refused.value.hint
    plan = plan_of(query, ToEarliest(), state_sees_rows_again=True)
    assert "The state of the query is not moved: it counts at most 80 offsets" in plan.warnings[1]
    ahead = plan_of(query, ToOffsets(99))
    assert "it never gets at most 118 offsets" in ahead.warnings[1]


@pytest.mark.parametrize(("of_the_batch", "of_the_next"), [(1_700_000_000_000, 0), (0, 1_700_000_000_000)])
def test_with_a_watermark_it_is_not_said_that_all_rows_come_again(tmp_path, of_the_batch, of_the_next):
    """Older rows are dropped as late, and who had deleted the earlier ones from the sink would have none."""
    query = query_at(tmp_path, stateful=True)
    entry, commit = query.files[f"offsets/{LAST}"], query.files[f"commits/{LAST}"]
    query.store.write(f"offsets/{LAST}", entry.replace(b'Ms": 0', b'Ms": %d' % of_the_batch, 1))
    query.store.write(f"commits/{LAST}", commit.replace(b'Ms":0', b'Ms":%d' % of_the_next, 1))
    with pytest.raises(PlanError, match="before its watermark .2023-11-14.*, which it would drop as late"):
        plan_of(query, ToEarliest())
    plan = plan_of(query, ToEarliest(), state_sees_rows_again=True)
    (effect,) = plan.effects
    assert effect.effect == "unknown" and "goes on with its watermark, 2023-11-14T22:13:20" in effect.reason
    assert effect.remedy.startswith("Delete nothing from the sink") and "ckpt rollback" in effect.remedy
    assert "before the watermark (2023-11-14T22:13:20" in plan.warnings[1]
    assert apply(plan, Stores(query.store), **STOPPED).status == "applied"


def test_the_state_of_a_batch_that_was_not_committed_goes_with_it(tmp_path):
    query = query_at(tmp_path, stateful=True)
    query.commit(LAST + 1)
    query.store.delete(f"commits/{LAST + 1}")
    plan = plan_of(query, ToCurrent())
    assert {"state/0/0/5.delta", "state/0/1/5.delta", "offsets/4"} == plan.deletes()


REFUSED = {
    "a source that there is not": ({"source_id": "7"}, "source '7' does not exist in batch 3; the sources of the query are 0"),
    "a topic that the broker does not have": ({"broker": ForgedBroker({})}, "the topic orders does not exist"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_found_is_refused(tmp_path, options, problem):
    query = query_at(tmp_path)
    with pytest.raises(PlanError, match=problem):
        plan_of(query, ToEarliest(), **options)


def test_a_source_of_another_type_is_refused(tmp_path):
    query = query_at(tmp_path)
    query.store.write(f"offsets/{LAST}", b"v1\n{}\n17")
    with pytest.raises(PlanError, match="source 0 is not a Kafka source") as refused:
        plan_of(query, ToEarliest())
    assert refused.value.location == query.store.location


def test_before_the_first_commit_there_is_no_position(tmp_path):
    query = KafkaQuery(Store.open(str(tmp_path / "orders")))
    query.plan(0)
    with pytest.raises(PlanError, match="no batch is committed, so there is no position to move"):
        plan_of(query, ToEarliest())


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (("v1", "v7"), "it replaces offsets/3 by no offset entry"),
        (('{"orders":{"0":0,"1":0}}', "17"), "it gives source 0 an offset that no reset gives it"),
        (('{"orders":{"0":0,"1":0}}', "-"), "it gives source 0 an offset that no reset gives it"),
        (('"spark.sql.shuffle.partitions": "2"', '"spark.sql.shuffle.partitions": "3"'), "step 1 of the plan"),
    ],
)
def test_a_plan_that_somebody_has_written_into_is_not_carried_out(tmp_path, edit, problem):
    query = query_at(tmp_path)
    fields = plan_of(query, ToEarliest()).to_dict()
    fields["actions"][0]["data"] = fields["actions"][0]["data"].replace(*edit)
    with pytest.raises(PlanError, match=problem):
        apply(plan_from_dict(fields), Stores(query.store), **STOPPED)
    assert read_all(query.store) == query.files


def test_a_plan_is_stale_when_the_query_has_run(tmp_path):
    query = query_at(tmp_path)
    plan = plan_of(query, ToEarliest())
    query.commit(LAST + 1)
    with pytest.raises(StalePlanError, match="the newest committed batch: expected 3, found 4"):
        apply(plan, Stores(query.store), **STOPPED)
