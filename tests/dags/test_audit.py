"""The DAG of the audit; tests/airflow runs it."""

from __future__ import annotations

import json

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.dags import audit, audit_dag

pytestmark = pytest.mark.airflow


def test_it_runs_in_the_task_or_on_a_cluster():
    here, there = audit_dag("here"), audit_dag("there", spark_conn_id="spark_default", home="/audit")
    assert here.get_task("audit").config_kwargs == {"spark.master": "local[2]"}
    assert (there.get_task("audit").conn_id, there.params["home"]) == ("spark_default", "/audit")


def test_without_the_provider_of_spark_it_loads_and_refuses(monkeypatch):
    monkeypatch.setattr(audit, "task", WithoutSpark())
    task = audit_dag("mine").get_task("audit")
    with pytest.raises(AirflowFailException, match="needs apache-airflow-providers-apache-spark"):
        task.python_callable()


class WithoutSpark:
    """``task`` of an Airflow that has no such provider."""

    def __call__(self, **arguments):
        from airflow.sdk import task

        return task(**arguments)


def test_a_run_without_roots_says_what_to_set():
    with pytest.raises(AirflowFailException, match="Set the params roots or queries, and home"):
        audit.audit(None, {"roots": [], "queries": [], "home": ""})


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ("{storage_options: {}}", "the extra of the connection lake is no JSON object"),
        ('{"storage_conn_id": "minio"}', "the connection lake has a storage_conn_id, which Spark does not read"),
    ],
)
def test_what_a_connection_says_is_not_left_out(monkeypatch, extra, says):
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "checkpoint", "extra": extra}))
    with pytest.raises(AirflowFailException, match=says):
        audit.audit(None, {"roots": ["/l"], "queries": [], "home": "/h", "checkpoint_conn_id": "lake"})
