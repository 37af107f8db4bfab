"""Planning a seed: from another checkpoint, or from given positions."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.change.option import fields_of
from airflow_provider_ckpt.change.plan.plan import plan_from_dict
from airflow_provider_ckpt.changes.seed.make import Given, SeedRequest, given_positions, make_seed, positions_of
from airflow_provider_ckpt.changes.seed.plan import MOST_BATCHES, Positions
from airflow_provider_ckpt.changes.seed.write import write_seed
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.codec.offsets.iceberg import START, IcebergOffset
from airflow_provider_ckpt.codec.source_offset import SourceOffset
from airflow_provider_ckpt.errors import BatchNotRestorableError, MalformedEntryError, PlanError
from airflow_provider_ckpt.query.sink import parse_sink

KAFKA = {"0": "kafka"}


def test_batches_after_the_position_come_again(query, old, target):
    query.plan({"t": {"0": 40}})
    for batch, again in ((None, "batch 3"), (0, "batches 1 to 3")):
        plan = make_seed(target, positions_of(old, batch), KAFKA, sinks=[(parse_sink("kafka"), None)])
        assert plan.batch_id == 3, "the id of the planned batch is used, too"
        assert plan.to_accept == ("duplicated",)
        assert f"it may have the rows of {again}, which" in plan.effects[0].reason


def test_more_than_ten_sources_are_in_the_order_of_their_numbers(target):
    numbers = [str(number) for number in range(11)]
    given = given_positions(dict.fromkeys(reversed(numbers), '{"t":{"0":7}}'))
    assert [source_id for source_id, _ in given.positions.offsets] == numbers
    assert make_seed(target, given, dict.fromkeys(numbers, "kafka")).actions


@pytest.mark.parametrize("after", [MOST_BATCHES + 1, 10**18, 10**25])
def test_it_begins_where_spark_has_batch_ids_left(target, after):
    given = given_positions({"0": '{"t":{"0":7}}'})
    assert make_seed(target, given, KAFKA, after_batch=MOST_BATCHES).batch_id == MOST_BATCHES
    with pytest.raises(PlanError, match=f"after batch {after}, and a new one begins after batch {MOST_BATCHES} at the"):
        make_seed(target, given, KAFKA, after_batch=after)


@pytest.mark.parametrize("after", [-1, 1.5, "7", True, None])
def test_what_is_no_id_of_a_batch_is_refused(target, after):
    with pytest.raises(PlanError, match="after_batch is the id of a batch, a number from 0 on, not"):
        make_seed(target, given_positions({"0": '{"t":{"0":7}}'}), KAFKA, after_batch=after)


def test_a_sink_that_was_not_declared_is_unknown(old, target):
    assert make_seed(target, positions_of(old), KAFKA).to_accept == ("unknown",)


def test_positions_that_another_checkpoint_does_not_have_are_refused(query, old):
    with pytest.raises(BatchNotRestorableError, match="batch 7 is not committed"):
        positions_of(old, 7)
    entry = query.checkpoint / "offsets/2"
    entry.write_text(entry.read_text().rpartition("\n")[0] + "\n-")
    with pytest.raises(PlanError, match="a source had no offset yet when batch 2 was committed"):
        positions_of(old)


def test_a_query_with_state_is_refused(old):
    old.write("state/0/0/1.delta", b"state")
    with pytest.raises(PlanError, match="the query has state, and a seed has none"):
        positions_of(old)


def test_the_confs_of_the_other_query_come_along(query, old, target):
    entry = query.checkpoint / "offsets/2"
    entry.write_text(entry.read_text().replace('"conf": {}', '"conf": {"spark.sql.shuffle.partitions": "7"}'))
    plan = make_seed(target, positions_of(old), KAFKA)
    assert json.loads(plan.actions[0].data.split("\n")[1])["conf"] == {"spark.sql.shuffle.partitions": "7"}


@pytest.mark.parametrize("version", [1, 2])
def test_an_iceberg_source_gets_an_initial_offset_that_does_not_expire(target, version):
    offset = SourceOffset(IcebergOffset(7, 1).json)
    given = Given(Positions((("0", SourceOffset('{"t":{"0":5}}')), ("1", offset)), version))
    plan = make_seed(target, given, {"0": "kafka", "1": "iceberg"}, sinks=[(parse_sink("noop"), None)])
    write_seed(plan_from_dict(plan.to_dict()), target, accept_sink="unknown")
    assert target.read("sources/1/offsets/0") == START.json.encode()
    view = observe(target)
    assert (view.latest_committed, view.offset_seq(1).offset("1")) == (1, offset)
    assert write_seed(plan, target).status == "already_applied"


def test_an_iceberg_source_is_not_seeded_with_what_is_no_position_in_a_table(target):
    with pytest.raises(MalformedEntryError, match="not an offset of the source type iceberg") as refused:
        make_seed(target, given_positions({"0": '{"snapshot_id":7}'}), {"0": "iceberg"})
    assert refused.value.location == target.location


def test_each_field_of_the_request_is_an_option_as_users_have_typed_it():
    assert {name: field.opt.option for name, field in fields_of(SeedRequest).items()} == {
        "origin": "--from",
        "batch": "--batch",
        "at": "--at",
        "offsets": "--offsets",
        "sources": "--source",
        "sinks": "--sink",
        "after_batch": "--after-batch",
    }
