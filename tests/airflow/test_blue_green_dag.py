"""The DAG of blue-green deploys, where its own tasks decide; ``make deploys`` runs it whole."""

from __future__ import annotations

import runpy
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from tests.airflow.conftest import ROOT

pytestmark = pytest.mark.airflow


@pytest.fixture(scope="module")
def answered() -> Any:
    """The task between the approval and the switch, as it is called by Airflow."""
    task = runpy.run_path(str(ROOT / "dags" / "blue_green_deploy.py"))["dag"].get_task("answered")
    assert task.upstream_task_ids == {"approve"} and task.downstream_task_ids == {"stop_old"}
    return lambda given: task.python_callable(ti=SimpleNamespace(xcom_pull=lambda task_ids: given))


@pytest.mark.parametrize("given", [None, {}, {"responded_at": None}, {"responded_at": ""}])
def test_an_approval_that_was_marked_as_a_success_does_not_switch(answered, given):
    with pytest.raises(AirflowFailException, match="Nobody has approved the switch"):
        answered(given)


def test_an_answer_does(answered):
    answered({"responded_at": "2026-11-23T12:00:00Z"})
