"""The task group of a deploy, as it is made; tests/airflow runs it."""

from __future__ import annotations

from functools import partial

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG

from airflow_provider_ckpt.dags import deploy_dag, deploy_query
from airflow_provider_ckpt.dags.deploy import blocked

pytestmark = pytest.mark.airflow
ORDERS, BACKUPS = "s3://lake/checkpoints/shop.orders", "s3://lake/backups"


def edges_of(dag: DAG, group: str = "") -> dict[str, set[str]]:
    return {
        task.task_id.removeprefix(group): {name.removeprefix(group) for name in task.downstream_task_ids}
        for task in dag.tasks
    }


def test_a_deploy_has_each_step_and_the_way_back():
    with DAG("mine") as dag:
        deploy_query(ORDERS, backup_root=BACKUPS, stop=print, start=print, start_previous=print) >> BashOperator(
            task_id="then", bash_command="true"
        )
    group = "deploy_shop__orders."
    assert edges_of(dag, group) == {
        "gate": {"backup", "blocked", "continuity", "rollback_plan"},
        "blocked": set(),
        "backup": {"stop", "rollback_plan"},
        "stop": {"start", "wait", "stop_again"},
        "start": {"went_wrong"},
        "wait": {"continuity", "went_wrong"},
        "continuity": {"deployed", "went_wrong"},
        "deployed": {"then"},
        "went_wrong": {"stop_again"},
        "stop_again": {"rollback_plan"},
        "rollback_plan": {"ask", "rollback"},
        "ask": {"approve", "rollback"},
        "approve": {"rollback"},
        "rollback": {"start_previous"},
        "start_previous": set(),
        "then": set(),
    }
    gate = dag.get_task(f"{group}gate")
    assert (gate.branch_pass, gate.branch_block) == (f"{group}backup", f"{group}blocked")
    assert f"task_ids='{group}gate'" in dag.get_task(f"{group}wait").batch_id


def test_the_gate_takes_the_confs_of_the_start_in_its_group():
    start = partial(SparkSubmitOperator, application="orders.py", conf={"a": "b"})
    dag = deploy_dag(ORDERS, backup_root=BACKUPS, stop=print, start=start, dag_id="mine")
    assert dag.get_task("gate").spark_task == "start" and dag.get_task("gate").confs is None
    other = deploy_dag(ORDERS, backup_root=BACKUPS, stop=print, start=print, confs={"a": "b"})
    assert other.get_task("gate").spark_task is None and other.get_task("gate").confs == {"a": "b"}
    assert other.dag_id == "deploy_shop__orders"


def test_a_person_is_asked_for_each_step_that_is_not_given():
    dag = deploy_dag(ORDERS, backup_root=BACKUPS)
    asked = {task.task_id for task in dag.tasks if isinstance(task, ApprovalOperator)}
    assert asked == {"stop", "start", "stop_again", "approve", "start_previous"}


def test_a_stop_that_is_there_already_stops_once_and_a_person_is_asked_for_the_second():
    with DAG("mine") as dag:
        there = BashOperator(task_id="there", bash_command="true")
        deploy_query(ORDERS, backup_root=BACKUPS, stop=there, start=print, group_id="deploy")
    assert there.upstream_task_ids == {"deploy.backup"}
    assert isinstance(dag.get_task("deploy.stop_again"), ApprovalOperator)


@pytest.mark.parametrize(
    ("sink", "said", "trims"),
    [
        *(("file:s3://l/o", None, True), ("Parquet:/o", None, True), ("kafka", None, False), (None, None, False)),
        *(("file:s3://l/o", False, False), (None, True, True)),
    ],
)
def test_the_log_of_a_file_sink_goes_back_unless_it_is_said_not_to(sink, said, trims):
    dag = deploy_dag(ORDERS, backup_root=BACKUPS, sink=sink, trim_sink_log=said)
    assert dag.get_task("rollback_plan").trim_sink_log is trims


def test_a_misspelled_argument_is_refused_as_the_file_is_parsed():
    with pytest.raises(TypeError, match="stopp"):
        deploy_dag(ORDERS, backup_root=BACKUPS, stopp=print)


def test_a_closed_gate_says_what_has_closed_it():
    finding = {"severity": "error", "code": "CKPT1", "message": "No.", "hint": None}
    with pytest.raises(AirflowFailException, match="The gate blocks the deploy: CKPT1"):
        blocked({"findings": [finding], "spark_error": None})
