"""The DAG of a blue-green deploy, as it is made; ``make deploys`` runs it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException

from airflow_provider_ckpt.dags import blue_green_dag
from airflow_provider_ckpt.dags.blue_green import went_wrong

pytestmark = pytest.mark.airflow


def run_of(**left: object) -> SimpleNamespace:
    """A task instance in a run whose tasks have left these values."""
    return SimpleNamespace(xcom_pull=lambda task_ids: left.get(task_ids))


def test_the_stop_is_the_users():
    dag = blue_green_dag("mine", stop_old=stop)
    stop_old = dag.get_task("stop_old")
    assert stop_old.python_callable is stop and stop_old.op_kwargs["checkpoint"] == "{{ params.checkpoint }}"
    assert stop_old.upstream_task_ids == {"answered"} and stop_old.downstream_task_ids == {"stopped"}


def stop(checkpoint: str) -> None:
    """The step of a user."""


def test_a_switch_that_went_wrong_tells_the_ways_back():
    with pytest.raises(AirflowFailException, match="has failed since"):
        went_wrong(run_of(continuity={"status": "continued"}))
    with pytest.raises(AirflowSkipException, match="The switch was not made"):
        went_wrong(run_of())
    with pytest.raises(AirflowFailException, match="had stopped.\nckpt restore"):
        went_wrong(run_of(still_stopped={"way_back": ["ckpt restore"]}))
