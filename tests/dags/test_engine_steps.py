"""Steps that the engine of a query takes where one is declared, and what is done where none is."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.providers.standard.operators.hitl import ApprovalOperator

from airflow_provider_ckpt.change import guard
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.dags import deploy_dag
from airflow_provider_ckpt.dags.engine_steps import (
    StartOrAsk,
    StartWhereDeclared,
    StopOrAsk,
    StopWhereDeclared,
    proven_or_said,
)
from airflow_provider_ckpt.operators.checkpoint import CheckpointRollbackOperator
from tests.operators.task import Task
from tests.running.shop import of_shop  # noqa: F401
from tests.running.simulated import newest

pytestmark = pytest.mark.airflow
ANSWER = {"responded_at": "2100-01-01T00:00:00Z", "responded_by_user": {"name": "ann"}}
ASKED = {"subject": "Stop it", "body": ""}


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """The tasks that have asked a person."""
    found: list[str] = []
    monkeypatch.setattr(ApprovalOperator, "execute", lambda self, context: found.append(type(self).__name__))
    return found


def test_the_engine_stops_and_starts_where_the_file_declares_one(shop, asked):
    assert shop(StopOrAsk, **ASKED)["receipt"]["name"] == "orders"
    assert shop(StartOrAsk, **ASKED, gate=False)["receipt"]["committed"]
    assert shop(StopWhereDeclared)["receipt"]["name"] == "orders"
    assert shop(StartWhereDeclared, gate=False)["receipt"]["committed"] and asked == []


def test_a_person_is_asked_where_it_declares_none(tmp_path, asked):
    for kind in (StopOrAsk, StartOrAsk):
        kind(task_id="t", checkpoint=str(tmp_path / "orders"), **ASKED).execute({"ti": Task()})
    assert asked == ["StopOrAsk", "StartOrAsk"]
    for kind in (StopWhereDeclared, StartWhereDeclared):
        assert kind(task_id="t", checkpoint=str(tmp_path / "orders")).execute({"ti": Task()}) is None


def test_a_plan_that_was_previewed_stops_nothing(shop):
    with pytest.raises(AirflowFailException, match="no proof that orders is stopped.*ckpt stop orders"):
        shop(StopWhereDeclared, expected_plan={"steps": 3})
    assert not any(call.startswith("end") for call in shop.engine.log)
    shop(StopWhereDeclared)
    assert shop(StopWhereDeclared, expected_plan={"steps": 3})["receipt"]["name"] == "orders"


def test_an_application_beside_an_engine_is_refused_before_anything_is_stopped(shop):
    with pytest.raises(
        AirflowFailException, match="the engine command starts orders, and application is given as well"
    ):
        shop(StopWhereDeclared, application="orders.py")
    assert shop.engine.log == []


def test_who_approves_says_that_it_is_stopped_where_no_engine_proves_it(shop, tmp_path):
    bare = CheckpointRollbackOperator(task_id="t", checkpoint=str(tmp_path / "other"), to_batch=1)
    assert proven_or_said({"task": bare}) is True
    goal = {"to_batch": 2, "accept_sink": ["duplicated", "unknown"], "quiet_period": 0}
    task = shop.task(CheckpointRollbackOperator, query_is_stopped=proven_or_said, **goal)
    with pytest.raises(AirflowFailException, match="no proof that orders is stopped"):
        task.execute({"ti": Task(), "task": task})
    shop(StopWhereDeclared)
    assert task.execute({"ti": Task(), "task": task})["receipt"]["status"] == "applied"


class Walk:
    """The tasks of a DAG, one after the other, with what each has left for the others."""

    def __init__(self, dag: object) -> None:
        self.dag, self.left = dag, {("approve", "return_value"): ANSWER}

    def xcom_pull(self, task_ids: str, key: str = "return_value", **_: object) -> object:
        return self.left.get((task_ids, key))

    def __call__(self, *names: str) -> object:
        told = None
        for name in names:
            task = Task(dag_id="deploy_orders", task_id=name)
            task.xcom_pull = self.xcom_pull
            operator = self.dag.get_task(name).prepare_for_execution()
            context = {"ti": task, "task_instance": task, "task": operator, "params": {}, "dag": self.dag}
            operator.render_template_fields(context)
            operator.on_block = "fail"  # a branch asks Airflow for its DAG run
            if operator._pre_execute_hook is not None and name == "rollback_plan":
                operator._pre_execute_hook(context)
            try:
                told = self.left[name, "return_value"] = operator.execute(context)
            finally:
                self.left.update({(name, key): value for key, value in task.pushed.items()})
        return told


def test_a_bad_deploy_ends_with_the_version_before_and_no_batch_of_the_bad_one(shop, monkeypatch, tmp_path):
    for least in ("MIN_WATCH_S", "MIN_QUIET_S"):
        monkeypatch.setattr(guard, least, 0.0)
    dag = deploy_dag("orders", query_file=str(shop.file), backup_root=str(tmp_path / "backups"))
    walk = Walk(dag)
    shop.declare("bad")
    walk("gate", "backup")
    shop.engine.sleep(20.0)  # the version before goes on while it is judged
    stopped = walk("stop")
    with pytest.raises(AirflowFailException, match="no batch of every query was committed"):
        walk("start")
    shop.engine.sleep(5.0)
    walk("stop_again", "rollback_plan", "rollback")
    change = next(each for each in history(shop.store) if each.plan.kind == "rollback")
    assert (change.plan.batch_id, change.approved_by) == (stopped["batch_id"], "ann")
    assert newest(shop.store, "offsets") == stopped["batch_id"]
    assert walk("start_previous")["receipt"]["committed"]
    assert shop.starts() == ["start orders-2", "start orders-3"] and newest(shop.store, "commits") > stopped["batch_id"]
