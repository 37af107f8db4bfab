"""The task group that takes a query back, as it is made; tests/airflow runs it."""

from __future__ import annotations

import pytest
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG

from airflow_provider_ckpt.dags import roll_back_query

pytestmark = pytest.mark.airflow
ORDERS = "s3://lake/checkpoints/orders"


def test_it_stops_plans_asks_rolls_back_starts_and_waits():
    with DAG("mine") as dag:
        roll_back_query(ORDERS, to_batch=7, sink="kafka", stop=print, start=print) >> BashOperator(
            task_id="then", bash_command="true"
        )
    group = "roll_back_orders."
    edges = {task.task_id.removeprefix(group): {*task.downstream_task_ids} for task in dag.tasks}
    assert edges == {
        "stop": {f"{group}plan"},
        "plan": {f"{group}ask", f"{group}rollback"},
        "ask": {f"{group}approve", f"{group}rollback"},
        "approve": {f"{group}rollback"},
        "rollback": {f"{group}start", f"{group}wait"},
        "start": set(),
        "wait": {"then"},
        "then": set(),
    }
    plan, wait = dag.get_task(f"{group}plan"), dag.get_task(f"{group}wait")
    assert (plan.to_batch, plan.sink, plan.checkpoint, plan.plan_only) == (7, "kafka", ORDERS, True)
    assert "task_ids='roll_back_orders.plan'" in wait.batch_id and wait.fails_with == (f"{group}start",)


def test_a_person_is_asked_for_the_steps_that_are_not_given():
    with DAG("mine") as dag:
        roll_back_query(ORDERS, to_batch=7, group_id="back", asks={"subject": "Sure?"})
    asked = {task.task_id: task.subject for task in dag.tasks if isinstance(task, ApprovalOperator)}
    assert asked == {
        "back.stop": f"{ORDERS}: Stop the query",
        "back.approve": "Sure?",
        "back.start": f"{ORDERS}: Start the query",
    }


def test_two_of_one_query_need_two_ids():
    with DAG("mine"):
        roll_back_query(ORDERS, to_batch=7)
        with pytest.raises(Exception, match="roll_back_orders.* has already been added"):
            roll_back_query(ORDERS, to_batch=6)
        roll_back_query(ORDERS, to_batch=6, group_id="further")
