"""What the DAG ``pre_deploy_gate`` does while ``restart`` follows an application without end, and how it goes back."""

from __future__ import annotations

import runpy
from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk.exceptions import AirflowRescheduleException

from tests.airflow.conftest import ROOT

pytestmark = pytest.mark.airflow


@pytest.fixture(scope="module")
def dag():
    return runpy.run_path(str(ROOT / "dags" / "pre_deploy_gate.py"))["dag"]


def run_of(**states: str | None) -> SimpleNamespace:
    """A task instance in a run of the DAG whose other tasks are in these states."""

    def answer(dag_id: str, task_ids: list[str], run_ids: list[str]) -> dict[str, dict[str, str | None]]:
        return {run: {task: states[task] for task in task_ids if task in states} for run in run_ids}

    return SimpleNamespace(dag_id="pre_deploy_gate", run_id="manual", get_task_states=answer)


def test_no_proof_waits_for_the_end_of_the_application(dag):
    for task in ("wait", "continuity", "deployed"):
        assert "restart" not in dag.get_task(task).get_flat_relative_ids(upstream=True)
    assert dag.get_task("went_wrong").upstream_task_ids == {"restart", "wait", "continuity"}


@pytest.mark.parametrize(
    "states", [{}, *({"restart": state} for state in (None, "scheduled", "queued", "up_for_retry"))]
)
def test_a_proof_comes_again_until_the_restart_has_begun(dag, states):
    with pytest.raises(AirflowRescheduleException):
        dag.get_task("wait")._pre_execute_hook({"ti": run_of(**states)})


@pytest.mark.parametrize("state", ["running", "deferred", "success"])
def test_a_proof_begins_while_the_restart_runs(dag, state):
    dag.get_task("wait")._pre_execute_hook({"ti": run_of(restart=state)})


@pytest.mark.parametrize("state", ["failed", "upstream_failed", "skipped"])
def test_a_proof_fails_with_the_restart(dag, state):
    with pytest.raises(AirflowFailException, match=f"restart is {state}"):
        dag.get_task("wait")._pre_execute_hook({"ti": run_of(restart=state)})


def went_wrong(dag, **states: str | None) -> None:
    task = dag.get_task("went_wrong")
    task.python_callable(**task.op_kwargs, ti=run_of(**states))


@pytest.mark.parametrize("state", ["failed", "upstream_failed", None])
def test_a_deploy_that_was_not_proven_goes_on_to_the_rollback(dag, state):
    assert went_wrong(dag, continuity=state) is None


def test_a_good_deploy_is_not_rolled_back_when_its_application_fails_later(dag):
    with pytest.raises(AirflowFailException, match="no rollback is planned"):
        went_wrong(dag, continuity="success")
