"""DAG files as users write them, parsed by Airflow: blocks among own tasks, a loop, maps, and a query file in S3."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.airflow

QUERIES = "format_version: 1\ndefaults: {backups: '/backups/{query}'}\nqueries: {orders: {checkpoint: /lake/orders}, totals: {checkpoint: /lake/totals}}\n"
HEAD = """
from datetime import datetime
from functools import partial

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, task, task_group

from airflow_provider_ckpt.dags import back_up_queries, deploy_dag, deploy_query, roll_back_query, watch_queries
from airflow_provider_ckpt.hooks.query_file import queries
from airflow_provider_ckpt.notifications.checkpoint import ExplainNotifier
from airflow_provider_ckpt.operators.checkpoint import CheckpointBackupOperator, CheckpointGateOperator
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

SUBMIT = "spark-submit --conf spark.sql.shuffle.partitions={{ params.partitions }} orders-{{ params.version }}.py"
"""


@pytest.fixture
def parsed(tmp_path, monkeypatch) -> Callable[[str], dict[str, Any]]:
    """Parses a DAG file: its DAGs by id."""
    (tmp_path / "ckpt.yaml").write_text(QUERIES)
    monkeypatch.setenv("AIRFLOW__CKPT__FILE", str(tmp_path / "ckpt.yaml"))

    def parse(text: str) -> dict[str, Any]:
        from airflow.dag_processing.dagbag import DagBag

        (tmp_path / "dags").mkdir()
        Path(tmp_path / "dags/own.py").write_text(HEAD + text)
        bag = DagBag(str(tmp_path / "dags"))
        assert bag.import_errors == {}
        return dict(bag.dags)

    return parse


def test_blocks_are_among_the_tasks_of_a_dag(parsed):
    dag = parsed("""
with DAG("own", params={"version": 2, "partitions": 8, "to": 41}, default_args={"on_failure_callback": ExplainNotifier(query="orders")}):

    @task
    def stop(query, checkpoint=None):
        print(query)

    before, after = EmptyOperator(task_id="before"), EmptyOperator(task_id="after")
    before >> deploy_query("orders", stop=stop, start=partial(BashOperator, bash_command=SUBMIT)) >> after
    after >> [watch_queries(["orders", "totals"]), back_up_queries(["orders"]), roll_back_query("totals", to_batch="{{ params.to }}")]
""")["own"]
    assert dag.get_task("after").upstream_task_ids == {"deploy_orders.deployed"}
    assert dag.get_task("deploy_orders.gate").upstream_task_ids == {"before"}
    assert dag.get_task("deploy_orders.gate").spark_task == "deploy_orders.start", "its confs are templates of the run"


def test_operators_are_mapped_over_queries_alone_and_in_groups(parsed):
    dag = parsed("""
with DAG("own"):
    CheckpointGateOperator.partial(task_id="gate").expand(query=[query.name for query in queries()])
    CheckpointProgressSensor.partial(task_id="wait", batch_id=1).expand(query=["orders", "totals"])

    @task
    def which():
        return [query.name for query in queries()]

    @task_group
    def both(query):
        CheckpointGateOperator(task_id="gate", query=query) >> CheckpointBackupOperator(task_id="backup", query=query)

    both.expand(query=which())
""")["own"]
    assert {"gate", "wait", "which", "both.gate", "both.backup"} == set(dag.task_ids)


@pytest.mark.s3
def test_a_loop_makes_a_dag_of_each(parsed, monkeypatch, s3_server, s3_driver):
    s3_driver.mkdir("user-dags")
    s3_driver.pipe("user-dags/ckpt.yaml", QUERIES.encode())
    options = {"key": "test", "secret": "test", "endpoint_url": s3_server}
    lake = {"conn_type": "checkpoint", "extra": {"storage_options": options}}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(lake))
    monkeypatch.setenv("AIRFLOW__CKPT__FILE", "s3://user-dags/ckpt.yaml conn=lake")
    found = parsed("""
def stop(query):
    pass

for query in queries():
    deploy_dag(query, stop=stop, start=partial(BashOperator, bash_command=f"spark-submit {query.name}.py"))
""")
    assert {"deploy_orders", "deploy_totals"} == set(found)
    assert found["deploy_totals"].get_task("start").bash_command == "spark-submit totals.py"
