"""Carrying out a seed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.changes.seed.make import given_positions, make_seed, positions_of
from airflow_provider_ckpt.changes.seed.write import write_seed
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.errors import PlanError, StalePlanError, StoreError
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.storage.store import Store

KAFKA = {"0": "kafka"}


def offsets_of(store: Store) -> dict[str, str]:
    return {source_id: committed for source_id, committed, _ in observe(store).source_offsets}


def test_a_query_goes_on_where_another_one_ended(old, target):
    plan = make_seed(target, positions_of(old), KAFKA, sinks=[(parse_sink("kafka"), None)])
    assert (plan.batch_id, plan.sink_effect) == (2, "exact")
    assert plan.notes[0] == f"The positions are those of {old.location} after batch 2."
    receipt = write_seed(plan, target, by="me")
    assert (receipt.status, receipt.actions) == ("applied", 4)
    assert offsets_of(target) == offsets_of(old)
    assert observe(target).query_id == plan.query_id != observe(old).query_id
    assert [finding for finding in check(examine(target, deep=True)) if finding.severity == "error"] == []
    assert [(record.plan.plan_id, record.state) for record in history(target)] == [(plan.plan_id, "applied")]


def test_what_a_seed_has_written_is_no_damage(target, capsys):
    given = given_positions({"0": '{"t":{"0":7}}'})
    write_seed(make_seed(target, given, KAFKA, after_batch=9), target, by="me", accept_sink="unknown")
    assert check(examine(target, deep=True)) == ()
    assert run(["gate", target.location, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []
    assert run(["salvage", target.location, "--json"]) == 0
    capsys.readouterr()
    assert run(["rollback", target.location, "--to-batch", "9", "--sink", "kafka", "--json"]) == 0
    (effect,) = json.loads(capsys.readouterr().out)["plan"]["sink_effects"]
    assert effect["effect"] == "exact"


def test_given_positions_begin_after_what_the_sink_has_seen(target, files):
    given = given_positions({"0": '{"t":{"0":7,"1":0}}'})
    plan = make_seed(target, given, KAFKA, sinks=files(41))
    assert (plan.batch_id, plan.to_accept) == (41, ("unknown",))
    with pytest.raises(PlanError, match="nobody knows which rows before the positions it has"):
        write_seed(plan, target, sinks=files(41))
    write_seed(plan, target, sinks=files(41), accept_sink="unknown")
    assert offsets_of(target) == {"0": '{"t":{"0":7,"1":0}}'}
    with pytest.raises(PlanError, match="begin after batch 50"):
        make_seed(target, given, KAFKA, sinks=files(41), after_batch=50)


@pytest.mark.parametrize("written", range(5))
def test_a_seed_that_was_killed_is_completed_by_its_plan(old, target, written):
    plan = make_seed(target, positions_of(old), KAFKA)
    for action in plan.actions[:written]:
        target.create(action.name, action.data.encode())
    receipt = write_seed(plan, target, accept_sink="unknown")
    assert (receipt.status, receipt.actions) == ("applied" if written < 4 else "already_applied", 4 - written)
    assert target.find().keys() == {action.name for action in plan.actions}


def test_a_plan_is_stale_when_the_sink_has_got_another_batch(target, files):
    plan = make_seed(target, given_positions({"0": '{"t":{"0":7}}'}), KAFKA, sinks=files(4))
    with pytest.raises(StalePlanError, match="a sink has got other batches since"):
        write_seed(plan, target, sinks=files(5), accept_sink="unknown")
    with pytest.raises(PlanError, match="the sinks that were given are not those of the plan"):
        write_seed(plan, target, sinks=[(parse_sink("kafka"), None)], accept_sink="unknown")
    with pytest.raises(StoreError, match="the file sink was declared, but its location was not given to open"):
        write_seed(plan, target, accept_sink="unknown")
    assert not target.exists()


def test_a_plan_is_stale_when_the_log_of_the_sink_is_gone(target, files):
    plan = make_seed(target, given_positions({"0": '{"t":{"0":7}}'}), KAFKA, sinks=files(4))
    [(_, output)] = gone = files(4)
    for name in output.find():
        output.delete(name)
    with pytest.raises(StalePlanError, match="a sink was changed \\(.* has no log yet.*\\) since the plan was made"):
        write_seed(plan, target, sinks=gone, accept_sink="unknown")
    assert not target.exists()


def test_a_plan_that_was_edited_is_refused(old, target):
    plan = make_seed(target, positions_of(old), KAFKA)
    first, *rest = plan.actions
    for actions in (tuple(rest), (replace(first, data=first.data.replace("30", "20")), *rest)):
        with pytest.raises(StalePlanError, match="the plan was edited"):
            write_seed(replace(plan, actions=actions), target, accept_sink="unknown")
    assert not target.exists()


def test_a_plan_with_a_batch_id_that_spark_cannot_have_is_refused(old, target):
    plan = make_seed(target, positions_of(old), KAFKA)
    first, *rest = plan.actions
    large = replace(plan, batch_id=10**25, actions=(replace(first, name=f"offsets/{10**25}"), *rest))
    with pytest.raises(StalePlanError, match="the plan was edited"):
        write_seed(large, target, accept_sink="unknown")
    assert not target.exists()
