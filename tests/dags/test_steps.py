"""The steps of the user: each kind becomes a task, also twice; what is not given asks a person."""

from __future__ import annotations

import sys
from functools import partial
from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowRescheduleException

from airflow_provider_ckpt.dags import blue_green_dag, deploy_dag, pre_deploy_gate_dag
from airflow_provider_ckpt.dags.steps import require_begun, state_of, submit, task_of_step
from airflow_provider_ckpt.dags.subject import subject_of
from airflow_provider_ckpt.operators.gate import CheckpointGateOperator

pytestmark = pytest.mark.airflow
ORDERS = subject_of("s3://lake/checkpoints/orders")


def stop(query: str, checkpoint: str) -> tuple[str, str]:
    return query, checkpoint


@task
def stop_too(checkpoint: str) -> None:
    """One with a decorator."""


def placed(step: object, **arguments: object) -> list:
    """Two tasks of a step."""
    with DAG("placed"):
        return [task_of_step(step, task_id, ORDERS, "Stop it", **arguments) for task_id in ("stop", "stop_again")]


def test_a_function_gets_the_query_and_becomes_as_many_tasks_as_are_needed():
    tasks = placed(stop, trigger_rule="all_done")
    assert [(item.task_id, item.trigger_rule) for item in tasks] == [("stop", "all_done"), ("stop_again", "all_done")]
    assert {item.python_callable(**item.op_kwargs) for item in tasks} == {(ORDERS.name, ORDERS.name)}
    with DAG("named"):
        task = task_of_step(stop, "stop", subject_of("orders"), "Stop it")
    assert task.python_callable(**task.op_kwargs) == ("orders", None)


def test_a_function_of_a_loop_gets_the_query_of_its_own_block():
    """Were it to read the variable of the loop, all of them would stop the last one."""
    with DAG("looped"):
        tasks = [task_of_step(stop, f"stop_{name}", subject_of(name), "Stop it") for name in ("a", "b")]
    assert [item.python_callable(**item.op_kwargs) for item in tasks] == [("a", None), ("b", None)]


def test_a_decorated_function_gets_what_it_takes():
    tasks = placed(stop_too)
    assert [(item.task_id, item.op_kwargs) for item in tasks] == [
        (task_id, {"checkpoint": ORDERS.name}) for task_id in ("stop", "stop_again")
    ]


def test_an_operator_is_made_as_often_as_it_is_needed():
    tasks = placed(partial(BashOperator, bash_command="true"))
    assert [(type(item), item.task_id) for item in tasks] == [(BashOperator, "stop"), (BashOperator, "stop_again")]


def test_a_task_that_is_there_is_taken_once_and_obeys_no_other_rule():
    with DAG("there"):
        there = BashOperator(task_id="there", bash_command="true")
        assert task_of_step(there, "stop", ORDERS, "Stop it") is there
        with pytest.raises(TypeError, match=r"functools.partial\(BashOperator, …\) or a function, not the task there"):
            task_of_step(there, "stop", ORDERS, "Stop it", trigger_rule="all_done")


def test_what_is_not_given_asks_a_person_who_fails_it_by_a_refusal():
    asked, _ = placed(None)
    assert isinstance(asked, ApprovalOperator) and asked.fail_on_reject
    assert asked.subject == f"{ORDERS.name}: Stop it" and "Approve when it is done" in asked.body


@pytest.mark.parametrize("step", [7, "stop", False])
def test_what_is_no_step_is_refused(step):
    with pytest.raises(TypeError, match="stop must be a function, a task, or functools.partial"):
        placed(step)


def test_without_the_provider_of_spark_a_submit_refuses_and_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "airflow.providers.apache.spark.operators.spark_submit", None)
    [task, _] = placed(submit("orders.py", application_args=["a"], conf={"a": "b"}))
    with pytest.raises(
        AirflowFailException, match=r"orders.py cannot be submitted: apache-airflow-providers-apache-sp"
    ):
        task.execute({})


@pytest.mark.parametrize(
    "makes",
    [
        pre_deploy_gate_dag,
        blue_green_dag,
        lambda: deploy_dag("orders", start=submit("orders.py"), confs={"a": "b"}),
    ],
)
def test_without_it_the_dags_that_submit_load_and_their_gates_ask_no_task_for_confs(monkeypatch, makes):
    monkeypatch.setitem(sys.modules, "airflow.providers.apache.spark.operators.spark_submit", None)
    gates = [task for task in makes().tasks if isinstance(task, CheckpointGateOperator)]
    assert gates and {gate.spark_task for gate in gates} == {None}


def test_with_it_a_submit_is_its_operator():
    [task, _] = placed(submit("orders.py", conf={"a": "b"}))
    assert type(task).__name__ == "SparkSubmitOperator" and task.conf == {"a": "b"}


def run_of(**states: str | None) -> SimpleNamespace:
    """A task instance in a run whose other tasks are in these states."""

    def answer(dag_id: str, task_ids: list[str], run_ids: list[str]) -> dict[str, dict[str, str | None]]:
        return {run: {task: states[task] for task in task_ids if task in states} for run in run_ids}

    return SimpleNamespace(dag_id="deploy", run_id="manual", get_task_states=answer)


@pytest.mark.parametrize(
    ("state", "ends"),
    [
        *((state, AirflowRescheduleException) for state in (None, "scheduled", "queued", "up_for_retry")),
        *((state, AirflowFailException) for state in ("failed", "upstream_failed", "skipped")),
        *((state, None) for state in ("running", "deferred", "success")),
    ],
)
def test_a_proof_begins_while_the_start_runs_comes_again_before_that_and_fails_with_it(state, ends):
    run = run_of(start=state) if state else run_of()
    assert state_of("start", run) == state
    if ends is None:
        require_begun("start")({"ti": run})
    else:
        with pytest.raises(ends):
            require_begun("start")({"ti": run})
