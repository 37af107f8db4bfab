"""The DAG that adds partitions, as it is made; tests/airflow runs it."""

from __future__ import annotations

import runpy
from inspect import Parameter, signature

import airflow
import pytest
from airflow.sdk import Asset
from packaging.version import Version

from airflow_provider_ckpt.dags import windows_dag
from tests.airflow.conftest import ROOT

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.skipif(Version(airflow.__version__) < Version("3.3"), reason="partitions need Airflow 3.3"),
]


def test_the_watcher_and_the_task_are_of_one_query():
    dag = windows_dag("orders", asset=Asset("hours"), watched="progress", window="PT2H", query_file="/lake/ckpt.yaml")
    [watcher] = dag.timetable.asset_condition.watchers
    _, arguments = watcher.trigger.serialize() if hasattr(watcher.trigger, "serialize") else ("", watcher.trigger)
    task = dag.get_task("windows")
    assert (task.query, task.query_file, task.window) == ("orders", "/lake/ckpt.yaml", "PT2H")
    assert "orders" in str(arguments) and "PT2H" in str(arguments)


def test_the_query_of_the_trial_takes_nothing_of_the_context_of_its_task():
    run = runpy.run_path(str(ROOT / "demo" / "trial.py"))["run"]
    assert Parameter.VAR_KEYWORD not in {item.kind for item in signature(run).parameters.values()}
