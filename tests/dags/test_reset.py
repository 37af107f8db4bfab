"""The DAG that moves a query, as it is made; tests/airflow runs it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.dags import reset_dag
from airflow_provider_ckpt.dags.params import EXPECTED_PLAN, QUERY, START
from airflow_provider_ckpt.dags.reset import GOAL

pytestmark = pytest.mark.airflow


def test_each_param_of_a_goal_is_an_argument_of_the_plan_alone():
    dag = reset_dag("mine", tags=["mine"])
    plan = dag.get_task("plan")
    assert {name: getattr(plan, name) for name in GOAL} == {name: f"{{{{ params.{name} }}}}" for name in GOAL}
    assert plan.plan_only and dag.params.keys() == {*QUERY, *GOAL, *EXPECTED_PLAN, *START} and dag.tags == {"mine"}
    assert "kind=reset" in dag.get_task("approve").body
