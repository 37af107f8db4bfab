"""The DAGs of many queries, as they are made; tests/airflow runs them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

import airflow_provider_ckpt.dags.fleet_rollback
from airflow_provider_ckpt.dags import fleet_rollback_dag, fleet_undo_dag
from airflow_provider_ckpt.dags.fleet_rollback import find_rolled_back, left_by, located, records_of
from airflow_provider_ckpt.errors import CheckpointError

pytestmark = pytest.mark.airflow


def test_a_rollback_and_an_undo_have_the_same_ways():
    for dag, done in ((fleet_rollback_dag("back"), "rollback"), (fleet_undo_dag("undone"), "undo")):
        assert [task.task_id for task in dag.topological_sort()] == [
            *("find", "plan", "weigh", "asks", "approve", done, "summary"),
        ]
        assert dag.user_defined_macros == {"literal": ascii}


def test_an_undo_is_of_the_runs_of_its_own_dag():
    asked = []
    ti = SimpleNamespace(xcom_pull=lambda **given: asked.append(given))
    with pytest.raises(AirflowFailException, match="No run r of back has approved plans"):
        find_rolled_back(ti, {"run_id": "r", "checkpoint_conn_id": None}, "back")
    assert {item["dag_id"] for item in asked} == {"back"}


def test_a_gate_is_named_whole():
    with pytest.raises(AirflowFailException, match="A gate has a dag_id, a run_id and a task_id"):
        left_by(None, {"dag_id": "deploy_orders"})


def test_a_name_becomes_its_location_where_there_is_a_query_file(tmp_path, monkeypatch):
    (tmp_path / "ckpt.yaml").write_text("format_version: 1\nqueries: {orders: {checkpoint: /lake/orders}}\n")
    place = str(tmp_path / "ckpt.yaml")
    for module in ("dags.fleet_rollback", "hooks.query_file"):
        monkeypatch.setattr(f"airflow_provider_ckpt.{module}.configured_file", lambda: place)
    assert located(["orders", {"checkpoint": "orders", "sink": "kafka"}, "/lake/totals"]) == [
        {"checkpoint": "/lake/orders"},
        {"checkpoint": "/lake/orders", "sink": "kafka"},
        {"checkpoint": "/lake/totals"},
    ]
    with pytest.raises(CheckpointError, match="did you mean orders"):
        located(["order"])
    monkeypatch.setattr(airflow_provider_ckpt.dags.fleet_rollback, "configured_file", lambda: None)
    assert located(["orders"]) == [{"checkpoint": "orders"}]


def test_the_records_of_a_query_are_where_the_file_says(tmp_path, monkeypatch):
    (tmp_path / "ckpt.yaml").write_text(
        f"format_version: 1\nqueries:\n  orders: {{checkpoint: {tmp_path}/orders, undo: {tmp_path}/undo}}\n"
        f"  totals: {{checkpoint: {tmp_path}/totals}}\n"
    )
    place: str | None = str(tmp_path / "ckpt.yaml")
    for module in ("dags.fleet_rollback", "hooks.query_file"):
        monkeypatch.setattr(f"airflow_provider_ckpt.{module}.configured_file", lambda: place)
    records = records_of(None)
    assert records(f"{tmp_path}/orders").location == f"{tmp_path}/undo"
    assert records(f"{tmp_path}/totals") is records(f"{tmp_path}/others") is None
    place = None
    assert records_of(None)(f"{tmp_path}/orders") is None
