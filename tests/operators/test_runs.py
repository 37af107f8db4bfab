"""The operators that stop and start a query, and changes that need the receipt of a stop."""

from __future__ import annotations

import json

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, TaskDeferred

from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointRollbackOperator,
    CheckpointSwitchOperator,
    QueryStartOperator,
    QueryStopOperator,
)
from airflow_provider_ckpt.sensors.checkpoint import QueryStatusSensor
from tests.operators.task import Task
from tests.running.shop import fired, of_shop  # noqa: F401
from tests.running.simulated import newest

pytestmark = pytest.mark.airflow


def test_a_stop_is_between_two_batches_and_its_receipt_is_in_xcom(shop):
    told = shop(QueryStopOperator)
    (stopped,) = told["receipt"]["queries"]
    assert told["batch_id"] == stopped["batch_id"] == newest(shop.store, "commits")
    assert stopped["between_batches"] and stopped["fence"] and told["query"] == "orders"
    assert json.loads(json.dumps(told)) == told
    assert shop(QueryStopOperator, task_id="again")["receipt"] == told["receipt"]


def test_a_plan_changes_nothing(shop):
    steps = shop(QueryStopOperator, plan_only=True)["steps"]
    assert steps[0].startswith("Fence orders behind batch") and shop.engine.log == ["look"]
    assert shop(QueryStartOperator, plan_only=True)["receipt"] is None and shop.starts() == []


def test_an_engine_that_does_not_answer_is_asked_again_by_the_next_try(shop):
    shop.engine.silent_at = frozenset({1})
    with pytest.raises(AirflowException, match="ENGINE_UNKNOWN") as failed:
        shop(QueryStopOperator)
    assert not isinstance(failed.value, AirflowFailException)
    assert shop(QueryStopOperator)["receipt"] is not None


def test_a_start_without_a_proof_is_refused_for_good(shop):
    shop.declare("other")
    with pytest.raises(AirflowFailException, match=r"CHECKPOINT_BUSY.*is another one"):
        shop(QueryStartOperator)


def test_a_change_needs_the_receipt_of_a_stop_where_an_engine_is_declared(shop):
    goal = {"to_batch": 2, "accept_sink": ["duplicated", "unknown"], "quiet_period": 0}
    with pytest.raises(AirflowFailException, match="no proof that orders is stopped"):
        shop(CheckpointRollbackOperator, **goal)
    assert shop(CheckpointSwitchOperator, accept_sink="duplicated")["batch_id"] is not None  # judged beside the query
    shop(QueryStopOperator)
    assert shop(CheckpointRollbackOperator, **goal)["receipt"]["status"] == "applied"
    assert newest(shop.store, "commits") == 2
    told = shop(QueryStartOperator, gate=False)
    assert told["receipt"]["committed"] and told["batch_id"] == newest(shop.store, "commits") > 2


def test_after_a_bad_deploy_the_version_before_is_started(shop):
    shop(QueryStopOperator, run_id="tuesday")
    shop.declare("bad")
    with pytest.raises(AirflowFailException, match="no batch of every query was committed within 30"):
        shop(QueryStartOperator, task_id="start", run_id="tuesday", gate=False)
    shop(QueryStopOperator, run_id="tuesday", task_id="stop_again", interrupt_batch=True)
    for _ in range(2):  # and when it is tried again
        back = shop(QueryStartOperator, task_id="back", run_id="tuesday", version="previous", gate=False)
        assert back["receipt"]["committed"]
    assert shop.starts() == ["start orders-2", "start orders-3"]
    with pytest.raises(ValueError, match="version must be declared or previous"):
        shop.task(QueryStartOperator, version="newest")


def test_without_a_version_before_a_person_is_told(shop):
    shop(QueryStopOperator)
    with pytest.raises(AirflowFailException, match="no version of orders before this one is recorded"):
        shop(QueryStartOperator, task_id="other", version="previous")


def test_a_start_that_defers_waits_for_its_commit_and_goes_on(shop):
    shop(QueryStopOperator)
    with pytest.raises(TaskDeferred) as deferred:
        shop(QueryStartOperator, deferrable=True, gate=False)
    shop.engine.sleep(5.0)
    event = fired(deferred.value.trigger)
    assert (event["status"], event["found"]["state"]) == ("reached", "live")
    task = shop.task(QueryStartOperator, deferrable=True)
    told = task.start_complete({"ti": Task(task_id="t")}, event, **deferred.value.kwargs)
    assert told["receipt"]["committed"] and shop.starts() == ["start orders-2"]


def test_a_start_that_was_stopped_while_it_deferred_is_not_started_again(shop):
    shop(QueryStopOperator)
    with pytest.raises(TaskDeferred) as deferred:
        shop(QueryStartOperator, deferrable=True, gate=False)
    shop(QueryStopOperator, task_id="other", interrupt_batch=True)
    assert fired(deferred.value.trigger)["found"]["state"] == "stopped"
    with pytest.raises(AirflowFailException, match="was stopped or started by scale/monday/other"):
        shop.task(QueryStartOperator).start_complete({"ti": Task()}, {}, **deferred.value.kwargs)
    assert shop.starts() == ["start orders-2"]


@pytest.mark.parametrize("kind", [QueryStopOperator, QueryStartOperator, QueryStatusSensor])
def test_a_query_without_an_engine_is_refused_in_one_sentence(tmp_path, kind):
    (tmp_path / "ckpt.yaml").write_text("format_version: 1\nqueries: {orders: {checkpoint: /l/o}}\n")
    for given, said in (
        ({"query": "orders", "query_file": str(tmp_path / "ckpt.yaml")}, "orders declares no engine"),
        ({"checkpoint": "/l/other"}, "is no query of a query file"),
    ):
        with pytest.raises(AirflowFailException, match=said):
            kind(task_id="t", **given).execute({"ti": Task()})
