"""The task group that watches queries, as it is made; tests/airflow runs it."""

from __future__ import annotations

import pytest
from airflow.sdk import DAG

from airflow_provider_ckpt.dags import watch_dag, watch_queries
from airflow_provider_ckpt.dags.watch import watched_of

pytestmark = pytest.mark.airflow


def test_each_query_has_a_variable_of_its_own():
    watched = watched_of(["/a/orders/", "/b/orders"], "lake")
    assert [item["checkpoint"] for item in watched] == ["/a/orders", "/b/orders"]
    first, second = (item["bookmark_variable"] for item in watched)
    assert first != second and {name.rpartition("_of_")[2] for name in (first, second)} == {"orders"}


@pytest.mark.parametrize("check", [True, False])
def test_it_compares_and_checks_each(check):
    with DAG("mine") as dag:
        watch_queries(["/a", "/b"], check=check)
    assert dag.task_ids == [f"watch_queries.{name}" for name in ("look_back", *(["check"] if check else []))]


def test_what_is_given_is_the_default_of_the_params():
    dag = watch_dag("mine", checkpoints=["/a"], schedule="@hourly")
    assert dag.params["checkpoints"] == ["/a"] and dag.get_task("look_back").upstream_task_ids == {"checkpoints"}
