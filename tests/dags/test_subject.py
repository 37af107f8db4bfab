"""The query of a block, its group, and what comes after the group."""

from __future__ import annotations

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Param, task_group

from airflow_provider_ckpt.dags.subject import OF_PARAMS, QueryGroup, dag_of, locations_of, subject_of
from airflow_provider_ckpt.operators.checkpoint import CheckpointBackupOperator, CheckpointGateOperator
from airflow_provider_ckpt.query.query_file import Query
from tests.pipelines.lab import Pipeline

pytestmark = pytest.mark.airflow


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("orders", "orders"),
        ("shop.orders-2", "shop__orders-2"),
        ("s3://lake/checkpoints/orders/", "orders"),
        ("/lake/my orders", "my_orders"),
    ],
)
def test_a_name_becomes_an_id_that_a_group_may_have(name, key):
    with DAG("named"):
        assert subject_of(name).key == key == QueryGroup(group_id=key).group_id


def test_a_template_has_no_id():
    with pytest.raises(ValueError, match="needs a group_id"):
        _ = OF_PARAMS.key


@pytest.mark.parametrize(
    ("query", "given", "wanted"),
    [
        ("shop.orders", {"query_file": "/c.yaml"}, {"query": "shop.orders", "query_file": "/c.yaml"}),
        ("s3://lake/orders", {"checkpoint_conn_id": "lake"}, None),
        (None, {"checkpoint": "orders", "checkpoint_conn_id": None}, {"checkpoint": "orders"}),
        (Query("orders", "s3://lake/orders"), {}, {"query": "orders"}),
    ],
)
def test_a_query_is_a_name_a_location_or_one_of_the_file(query, given, wanted):
    subject = subject_of(query, **given)
    assert subject.arguments == (wanted or {"checkpoint": query, **given})
    known = {"shop.orders": None, "None": "orders"}
    assert subject.checkpoint == known.get(str(query), "s3://lake/orders")


def test_a_mapped_argument_is_for_operators_and_for_no_block():
    with DAG("mapped"):

        @task_group
        def gated(query):
            CheckpointGateOperator(task_id="gate", query=query) >> CheckpointBackupOperator(
                task_id="backup", query=query
            )

        gated.expand(query=["orders", "totals"])

        @task_group
        def deployed(query):
            subject_of(query)

        with pytest.raises(
            TypeError, match=r"not MappedArgument; make a block for each of queries\(\) in a loop, or map"
        ):
            deployed.expand(query=["orders", "totals"])


def test_a_misspelled_argument_is_refused():
    with pytest.raises(TypeError, match="a block takes no queryfile"):
        subject_of("orders", queryfile="/c.yaml")


def test_names_become_locations_by_the_file_of_airflow(tmp_path, monkeypatch):
    (tmp_path / "ckpt.yaml").write_text("format_version: 1\nqueries: {orders: {checkpoint: /lake/orders}}\n")
    monkeypatch.setattr("airflow_provider_ckpt.hooks.query_file.configured_file", lambda: str(tmp_path / "ckpt.yaml"))
    assert (locations_of([]), locations_of(["orders"])) == ([], ["/lake/orders"])


def test_a_flow_has_the_location_of_the_version_that_runs(shop, monkeypatch):
    made = Pipeline(shop("one_run"), {"bronze": "in"})
    made.write()
    project = made.root
    (project / "ckpt.yaml").write_text("format_version: 1\npipelines: {shop: {spec: spark-pipeline.yml}}\n")
    monkeypatch.setattr("airflow_provider_ckpt.hooks.query_file.configured_file", lambda: str(project / "ckpt.yaml"))
    [location] = locations_of(["shop.bronze"])
    assert "/bronze/" in location and location.endswith("/0")


@pytest.mark.parametrize("query", [None, "", 7, ["orders"]])
def test_a_block_is_of_one_query_that_is_known(query):
    with pytest.raises(TypeError, match="a block is of one query"):
        subject_of(query)


def test_what_comes_after_a_group_comes_after_its_last_task_alone():
    with DAG("after"):
        with QueryGroup(group_id="block") as group:
            first, last, other = (EmptyOperator(task_id=name) for name in ("first", "last", "other"))
            first >> [last, other]
        group.last = last
        group >> EmptyOperator(task_id="then")
    assert last.downstream_task_ids == {"then"} and not other.downstream_task_ids


def test_what_is_given_wins_over_what_a_dag_is_made_with():
    made = dag_of("given", {}, tags=["mine"], schedule="@daily")
    assert (made.tags, made.max_active_runs) == ({"mine"}, 1) and made.render_template_as_native_obj


def test_the_params_of_one_dag_are_no_other_ones():
    """What ``dag.test`` has been given for one run would be the default of every DAG of the process."""
    params = {"sink": Param(None, type=["null", "string"])}
    first, second = dag_of("first", params), dag_of("second", params)
    first.params["sink"] = "kafka"
    assert (second.params["sink"], params["sink"].value) == (None, None)
