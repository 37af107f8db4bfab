"""The task group of a deploy, as it is made; tests/airflow runs it."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowFailException, BaseOperator
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG

from airflow_provider_ckpt.dags import deploy_dag, deploy_query
from airflow_provider_ckpt.dags.deploy import blocked
from airflow_provider_ckpt.dags.engine_steps import StartOrAsk, StopOrAsk
from airflow_provider_ckpt.hooks.query_file import queries

pytestmark = pytest.mark.airflow
STEPS = ("stop", "start", "stop_again", "start_previous")
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


class DatabricksSubmitRunOperator(BaseOperator):
    """The class by whose name its confs are read."""

    def __init__(self, *, json: dict, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.json = json


@pytest.mark.parametrize(
    ("cluster", "asked"),
    [({"new_cluster": {"spark_conf": {"a": "b"}}}, "start"), ({"existing_cluster_id": "c"}, None)],
)
def test_the_gate_takes_the_confs_of_a_start_on_a_cluster_that_says_them(cluster, asked):
    start = partial(DatabricksSubmitRunOperator, json={"spark_python_task": {"python_file": "o.py"}, **cluster})
    assert deploy_dag(ORDERS, backup_root=BACKUPS, start=start).get_task("gate").spark_task == asked


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


def test_a_query_of_the_file_needs_its_name_alone():
    dag = deploy_dag("orders", query_file="/lake/ckpt.yaml")
    tasks = [task for task in dag.tasks if hasattr(task, "query_file")]
    assert len(tasks) == 10 and {(task.query, task.query_file, task.checkpoint) for task in tasks} == {
        ("orders", "/lake/ckpt.yaml", None)
    }


@pytest.mark.parametrize(
    ("sink", "said", "trims"),
    [
        *(("file:/l/o", None, True), ("Parquet:/o", None, True), ("kafka", None, False), (None, None, False)),
        *(("file:/l/o", False, False), (None, True, True), ("file:/l/o", "None", True), ("of the file", None, True)),
    ],
)
def test_the_log_of_a_file_sink_goes_back_unless_it_is_said_not_to(tmp_path, sink, said, trims):
    """Also of a sink that only the query file knows."""
    (tmp_path / "ckpt.yaml").write_text("format_version: 1\nqueries: {o: {checkpoint: /l/c, sink: file:/l/o}}\n")
    if sink == "of the file":
        dag = deploy_dag("o", query_file=str(tmp_path / "ckpt.yaml"), trim_sink_log=said)
    else:
        dag = deploy_dag("/l/c", backup_root=BACKUPS, sink=sink, trim_sink_log=said)
    task = dag.get_task("rollback_plan")
    task._pre_execute_hook({"task": task, "ti": SimpleNamespace(xcom_pull=lambda task_ids: {"responded_at": "now"})})
    assert task.trim_sink_log is trims and task.to_before_deploy is not None


def test_a_rollback_goes_to_the_batch_at_which_the_engine_has_stopped_the_query():
    """Since the gate the query may have gone on."""
    plan = deploy_dag(ORDERS, backup_root=BACKUPS).get_task("rollback_plan")
    told = {"stop": {"batch_id": 7, "receipt": {"name": "orders"}}}
    plan._pre_execute_hook({"task": plan, "ti": SimpleNamespace(xcom_pull=lambda task_ids: told[task_ids])})
    assert (plan.to_batch, plan.to_before_deploy) == (7, None)


def test_the_steps_of_a_query_of_the_file_are_those_of_its_engine(tmp_path):
    """One of which the file says none asks a person, as one that is known by its name alone may."""
    (tmp_path / "ckpt.yaml").write_text(
        "format_version: 1\nqueries:\n  by_hand: {checkpoint: /l/b}\n  orders: {checkpoint: /l/o, engine: local, "
        "application: {file: o.py}}\n"
    )
    by_hand, orders = [deploy_dag(query) for query in queries(str(tmp_path / "ckpt.yaml"))]
    assert {type(by_hand.get_task(step)) for step in STEPS} == {ApprovalOperator}
    assert [type(orders.get_task(step)) for step in STEPS] == [StopOrAsk, StartOrAsk, StopOrAsk, StartOrAsk]
    assert "start" in orders.get_task("continuity").upstream_task_ids  # the wait may see a commit of the version before
    again, before = orders.get_task("stop_again"), orders.get_task("start_previous")
    assert (again.interrupt_batch, before.version, before.gate) == (True, "previous", False)


def test_queries_make_dags_of_a_file(tmp_path):
    """Names with dots among them."""
    (tmp_path / "ckpt.yaml").write_text(
        "format_version: 1\nqueries: {shop.orders: {checkpoint: /l/o}, totals: {checkpoint: /l/t}}\n"
    )
    dags = [deploy_dag(query, stop=print) for query in queries(str(tmp_path / "ckpt.yaml"))]
    assert [dag.dag_id for dag in dags] == ["deploy_shop__orders", "deploy_totals"]
    assert dags[0].get_task("stop").op_kwargs == {"query": "shop.orders", "checkpoint": "/l/o"}


def test_a_misspelled_argument_is_refused_as_the_file_is_parsed():
    with pytest.raises(TypeError, match="stopp"):
        deploy_dag(ORDERS, backup_root=BACKUPS, stopp=print)


def test_a_closed_gate_says_what_has_closed_it():
    finding = {"severity": "error", "code": "CKPT1", "message": "No.", "hint": None}
    with pytest.raises(AirflowFailException, match="The gate blocks the deploy: CKPT1"):
        blocked({"findings": [finding], "spark_error": None})
