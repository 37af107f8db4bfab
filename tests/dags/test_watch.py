"""The task group that watches queries, as it is made; tests/airflow runs it."""

from __future__ import annotations

import pytest
from airflow.sdk import DAG

from airflow_provider_ckpt.dags import watch_dag, watch_queries
from airflow_provider_ckpt.dags.watch import watched_of_params

pytestmark = pytest.mark.airflow


def test_each_query_has_a_variable_of_its_own():
    params = {"checkpoints": ["/a/orders/", "/b/orders"], "queries": ["orders"], "checkpoint_conn_id": "lake"}
    watched = watched_of_params(params)
    assert [item.get("checkpoint") for item in watched] == ["/a/orders", "/b/orders", None]
    assert watched[2]["query"] == "orders" and "checkpoint_conn_id" not in watched[2]
    variables = [item["bookmark_variable"] for item in watched]
    assert len({*variables}) == 3 and {name.rpartition("_of_")[2] for name in variables} == {"orders"}


@pytest.mark.parametrize(
    ("watched", "tasks"),
    [
        (["/a"], {"look_back", "check"}),
        (["orders"], {"look_back", "thresholds"}),
        (["orders", "/a"], {"look_back", "thresholds", "check"}),
    ],
)
def test_a_name_has_thresholds_and_a_location_is_checked(watched, tasks):
    with DAG("mine") as dag:
        watch_queries(watched)
    assert {*dag.task_ids} == {f"watch_queries.{name}" for name in tasks}


def test_what_is_given_is_the_default_of_the_params():
    dag = watch_dag("mine", checkpoints=["/a"], schedule="@hourly")
    assert dag.params["checkpoints"] == ["/a"] and dag.get_task("look_back").upstream_task_ids == {"checkpoints"}
