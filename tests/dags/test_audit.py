"""The DAG of the audit; tests/airflow runs it."""

from __future__ import annotations

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
    with pytest.raises(AirflowFailException, match="Set the params roots and home"):
        audit.audit(None, {"roots": [], "home": ""})
