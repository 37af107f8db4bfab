"""What the operators have in common that change a checkpoint in place: the word, the approval, the sink."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.change.places import Stores
from airflow_provider_ckpt.change.plan.actions import Delete
from airflow_provider_ckpt.change.plan.expectation import expectation_of
from airflow_provider_ckpt.changes.rollback.goal import ToBatch
from airflow_provider_ckpt.changes.rollback.make import make_rollback
from airflow_provider_ckpt.errors import PlanError
from airflow_provider_ckpt.operators.base import push_plan
from airflow_provider_ckpt.operators.changes.in_place import CheckpointChangeOperator
from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointRepartitionOperator,
    CheckpointResetOffsetsOperator,
    CheckpointRollbackOperator,
)
from airflow_provider_ckpt.storage.store import Store
from tests.fake_query import FakeQuery, read_all
from tests.operators.task import Task

pytestmark = pytest.mark.airflow


def answers_nothing() -> bool:
    raise OSError("no route to host")


@pytest.fixture
def query(tmp_path) -> FakeQuery:
    query = FakeQuery(Store.open(str(tmp_path / "orders")))
    for batch_id in range(4):
        query.commit(batch_id)
    return query


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "needs a statement that the query is stopped"),
        ({"query_is_stopped": lambda: False}, "needs a statement that the query is stopped"),
        (
            {"query_is_stopped": answers_nothing},
            "the callable query_is_stopped failed, so it is not known whether the query is stopped: OSError",
        ),
        ({"query_is_stopped": "yes"}, "query_is_stopped"),
        ({"query_is_stopped": True, "sink": 3}, "sink must be a text"),
        ({"query_is_stopped": True, "quiet_period": "soon"}, "quiet_period"),
        ({"query_is_stopped": True, "quiet_period": 0, "accept_sink": None}, "--accept-sink unknown"),
        ({"query_is_stopped": True, "quiet_period": 0, "approved_at": "2020-01-01"}, "before plan .* was made at"),
    ],
)
def test_what_is_refused_changes_nothing(query, arguments, said):
    operator = CheckpointRollbackOperator(
        task_id="rollback", checkpoint=query.store.location, to_batch=1, **{"accept_sink": "unknown", **arguments}
    )
    before = read_all(query.store)
    with pytest.raises(AirflowFailException, match=said):
        operator.execute({"ti": Task()})
    assert read_all(query.store) == before


@pytest.mark.parametrize(
    "probe",
    [
        lambda: True,
        lambda context: context["ti"].task_id == "repartition",
        lambda task: task["ti"].task_id == "repartition",
        lambda timeout=5: timeout == 5,
        lambda timeout=5, *, context: context["ti"].task_id == "repartition" and timeout == 5,
        lambda timeout=5, context=None: context["ti"].task_id == "repartition" and timeout == 5,
        lambda **context: context["ti"].task_id == "repartition",
        lambda **other: other == {},
        lambda *other: other == (),
        partial(all, ()),
    ],
)
def test_a_callable_gets_the_context_where_it_takes_it(query, probe):
    task = CheckpointRollbackOperator(
        task_id="rollback",
        checkpoint=query.store.location,
        to_batch=1,
        query_is_stopped=probe,
        quiet_period=0,
        accept_sink="unknown",
    )
    assert task.execute({"ti": Task()})["receipt"]["status"] == "applied"


@pytest.mark.parametrize("as_text", [False, True])
def test_a_plan_that_was_previewed_is_made_again_or_refused(query, as_text):
    """The query has committed a batch since: the plan would drop that one, too."""
    stores = Stores.of(query.store.location, Store.open)
    seen = expectation_of(make_rollback(stores, ToBatch(1)))
    task = CheckpointRollbackOperator(
        task_id="plan",
        checkpoint=query.store.location,
        to_batch=1,
        plan_only=True,
        expected_plan=json.dumps(seen) if as_text else seen,
    )
    assert task.execute({"ti": Task()})["batch_id"] == 1
    query.commit(4)
    with pytest.raises(AirflowFailException, match="the newest committed batch was 3 in the preview, and is 4 now"):
        task.execute({"ti": Task()})


@pytest.mark.parametrize(
    "operator", [CheckpointRollbackOperator, CheckpointRepartitionOperator, CheckpointResetOffsetsOperator]
)
def test_what_they_share_is_rendered_in_each(operator):
    assert issubclass(operator, CheckpointChangeOperator)
    assert set(CheckpointChangeOperator.template_fields) < set(operator.template_fields)


def test_a_plan_that_an_xcom_does_not_hold_is_refused(query):
    """What a database gets of each run has a limit."""
    plan = make_rollback(Stores.of(query.store.location, Store.open), ToBatch(1))
    state = [Delete(f"state/0/{part}/{version}.delta") for part in range(200) for version in range(1, 501)]
    whole, half = replace(plan, actions=(*state, *plan.actions)), replace(plan, actions=tuple(state[:50_000]))
    task = Task()
    push_plan({"ti": task}, half)
    assert task.pushed.keys() == {"plan"}
    with pytest.raises(
        PlanError, match=r"100,\d+ steps and [\d,]+ bytes, and an XCom gets at most 8,388,608"
    ) as caught:
        push_plan({"ti": Task()}, whole)
    assert "Leave out plan_only" in caught.value.hint and "--plan-out" in caught.value.hint


def test_an_argument_that_says_otherwise_than_its_plan_is_refused(query):
    planned, before = Task(), read_all(query.store)
    make = partial(CheckpointRollbackOperator, checkpoint=query.store.location)
    make(task_id="plan", to_batch=1, plan_only=True).execute({"ti": planned})
    apply = partial(make, task_id="apply", plan=planned.pushed["plan"], query_is_stopped=True, quiet_period=0)
    with pytest.raises(AirflowFailException, match="plan gives the whole plan, so leave out to_batch, sink"):
        apply(to_batch=2, sink="kafka", accept_sink="unknown").execute({"ti": Task()})
    assert read_all(query.store) == before
    done = apply(to_batch="", sink="None", accept_sink="unknown").execute({"ti": Task()})
    assert done["receipt"]["status"] == "applied"
