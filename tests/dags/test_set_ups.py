"""What people do with task groups and factories, as public threads tell it: the blocks hold, or refuse it in a sentence."""

from __future__ import annotations

from functools import partial

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Label, TaskGroup, chain, dag, task, task_group

from airflow_provider_ckpt.dags import back_up_queries, deploy_dag, deploy_query, roll_back_query

pytestmark = pytest.mark.airflow
STEPS = {"stop": print, "start": print, "start_previous": print}
then = partial(EmptyOperator, task_id="then")


def after(group: TaskGroup) -> None:
    group >> then()


def before(group: TaskGroup) -> None:
    then() << group


def in_a_chain(group: TaskGroup) -> None:
    chain(group, then())


def with_a_label(group: TaskGroup) -> None:
    group >> Label("deployed") >> then()


def set_upstream(group: TaskGroup) -> None:
    then().set_upstream(group)


@pytest.mark.parametrize("way", [after, before, in_a_chain, with_a_label, set_upstream])
def test_what_comes_after_a_deploy_is_not_skipped_with_its_way_back(way):
    """Each leaf of a task group is upstream of what comes after it, and a skipped one skips that, too (cosmos 2594)."""
    with DAG("mine") as made:
        way(deploy_query("orders", **STEPS))
    assert made.get_task("then").upstream_task_ids == {"deploy_orders.deployed"}


def test_in_a_group_of_ones_own_each_id_is_whole():
    with DAG("mine") as made, TaskGroup("outer"):
        deploy_query("orders", **STEPS)
    prefix = "outer.deploy_orders."
    assert {name for name in made.task_ids if not name.startswith(prefix)} == set()
    gate, wait = (made.get_task(f"{prefix}{name}") for name in ("gate", "wait"))
    assert (gate.branch_pass, gate.branch_block) == (f"{prefix}backup", f"{prefix}blocked")
    assert f"task_ids='{prefix}gate'" in wait.batch_id
    assert made.get_task(f"{prefix}went_wrong").op_kwargs["start"] == f"{prefix}start"
    assert f"task_ids='{prefix}rollback_plan'" in made.get_task(f"{prefix}approve").body


def test_one_after_another():
    with DAG("mine") as made:
        deploy_query("orders", **STEPS) >> deploy_query("totals", **STEPS)
    assert made.get_task("deploy_totals.gate").upstream_task_ids == {"deploy_orders.deployed"}
    assert made.get_task("deploy_totals.start").upstream_task_ids == {"deploy_totals.stop"}


def test_a_mapped_task_group_is_refused():
    """The ids of a block have the name in them."""

    @task_group
    def deploys(query):
        deploy_query(query, **STEPS)

    with DAG("mine"), pytest.raises(TypeError, match="a block is of one query, a text that is known when the DAG is p"):
        deploys.expand(query=["orders", "totals"])


def test_a_decorated_group_and_dag_hold_a_block():
    @task_group
    def release():
        roll_back_query("orders", to_batch=7, stop=print, start=print)

    @dag(dag_id="decorated", schedule=None)
    def decorated():
        release()

    assert "release.roll_back_orders.wait" in decorated().task_ids


@pytest.mark.parametrize("rule", ["all_done", "none_failed", "always"])
def test_default_arguments_change_no_rule_by_which_a_step_is_left_out(rule):
    """With ``all_done`` a query would be started whose stop has failed."""
    defaults = {"trigger_rule": rule, "retries": 3, "owner": "me"}
    alone = deploy_dag("orders", **STEPS, dag={"default_args": defaults})
    with DAG("mine", default_args=defaults) as made:
        deploy_query("orders", **STEPS, group_id="deploy")
        roll_back_query("orders", to_batch=7, group_id="back")
        back_up_queries(["orders"])
        then()
    for name in ("backup", "stop", "start", "wait", "continuity", "deployed", "rollback_plan", "approve"):
        for found in (alone.get_task(name), made.get_task(f"deploy.{name}")):
            assert (found.trigger_rule, found.retries, found.owner) == ("all_success", 3, "me"), name
    rules = {name: alone.get_task(name).trigger_rule for name in ("went_wrong", "rollback")}
    assert rules == {"went_wrong": "one_failed", "rollback": "none_failed_min_one_success"}
    assert made.get_task("back.start").trigger_rule == "all_success" and made.get_task("then").trigger_rule == rule
    assert made.get_task("back_up_queries.prune").trigger_rule == "all_done"


def test_a_query_that_pyspark_starts_gives_the_gate_its_confs():
    @task.pyspark(config_kwargs={"spark.sql.shuffle.partitions": "8"})
    def start(spark=None):
        """The new version."""

    made = deploy_dag("orders", stop=print, start=start)
    assert made.get_task("gate").spark_task == "start"


def test_lambdas_of_a_loop_are_told_which_query_it_is():
    stopped = []
    made = [deploy_dag(name, stop=lambda query: stopped.append(query), start=print) for name in ("orders", "totals")]
    for item in made:
        stop = item.get_task("stop")
        stop.python_callable(**stop.determine_kwargs(stop.op_kwargs))
    assert stopped == ["orders", "totals"]


def test_a_dag_of_one_query_twice_in_a_file_needs_another_id():
    assert deploy_dag("orders", **STEPS).dag_id == deploy_dag("/lake/orders", backup_root="/b", **STEPS).dag_id
    assert deploy_dag("orders", **STEPS, dag_id="second").dag_id == "second"
