"""The DAG that checks a fleet; tests/airflow runs it."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ckpt.dags import validation, validation_dag

pytestmark = pytest.mark.airflow


def test_what_is_given_is_the_default_of_the_params():
    dag = validation_dag("mine", roots=["/lake"], schedule=None)
    assert (dag.params["roots"], dag.params["depth"], dag.schedule) == (["/lake"], 5, None)
    assert [task.task_id for task in dag.topological_sort()] == [
        *("find_groups", "check_group", "report", "alert_on_new_findings"),
    ]


def test_what_is_new_fails_and_the_others_are_counted(monkeypatch):
    kept = {}
    monkeypatch.setattr(validation.Variable, "set", kept.__setitem__)
    report = {"known": "{}", "new": ["a", "b"], "new_count": 60, "checkpoints": 3, "unknown": []}
    with pytest.raises(AirflowFailException, match="60 new findings:\na\nb\nand 58 more"):
        validation.alert_on_new_findings(report)
    assert kept == {validation.KNOWN: "{}"}
    assert validation.alert_on_new_findings({**report, "new": []}) == "Nothing new in 3 checkpoints."


def test_without_roots_and_queries_it_says_what_to_set():
    with pytest.raises(AirflowFailException, match="set the param roots or queries, or roots of validation_dag"):
        validation.find_groups({"roots": [], "queries": []})
