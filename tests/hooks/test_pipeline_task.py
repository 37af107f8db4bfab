"""The gate and the check of continuity for a whole pipeline, on what real Spark has left behind."""

from __future__ import annotations

import json
import shutil

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_ckpt.fleet.read_index import IndexReader
from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointCheckOperator,
    CheckpointContinuityOperator,
    CheckpointGateOperator,
    CheckpointIndexOperator,
)
from airflow_provider_ckpt.storage.store import Store
from tests.pipelines.lab import Pipeline

FILE = """format_version: 1
defaults: {spark_version: "4.3"}
pipelines: {shop: {spec: spark-pipeline.yml, flows: {bronze: {sink: "file:spark-warehouse/bronze"}}}}
"""


class XComs(dict):
    """Takes what a task pushes."""

    def xcom_push(self, key, value):
        self[key] = json.loads(json.dumps(value))


@pytest.fixture
def project(shop):
    """Makes the directory of a project as a run left it, with its definitions and a query file."""

    def make(case, flows=None):
        made = Pipeline(shop(case), flows or {"bronze": "in"})
        made.write()
        (made.root / "ckpt.yaml").write_text(FILE)
        return made

    return make


def task(kind, made, query="shop", **given):
    return kind(task_id="t", query=query, query_file=str(made.root / "ckpt.yaml"), **given)


def gate(made, query="shop", **given):
    """What the gate returns or says as it blocks, and what it pushes."""
    pushed = XComs()
    try:
        return task(CheckpointGateOperator, made, query, **given).execute({"ti": pushed}), pushed
    except AirflowFailException as error:
        return str(error), pushed


def continuity(made, pushed, **given):
    operator = task(CheckpointContinuityOperator, made, bookmark=pushed["bookmark"], **given)
    return operator.execute({"ti": XComs()})


def commit_one(flow):
    """A flow goes on by a batch, as a copy of the one before."""
    for log in ("offsets", "commits"):
        newest = max(int(path.name) for path in (flow / log).iterdir() if path.name.isdecimal())
        shutil.copy(flow / log / str(newest), flow / log / str(newest + 1))


def test_a_pipeline_is_gated_and_its_flows_go_on(project):
    made = project("refreshed")
    result, pushed = gate(made)
    assert result["decision"] == "warn"
    assert {name: fields["decision"] for name, fields in result["queries"].items()} == {
        "shop.bronze": "warn",
        "shop.silver": "warn",
        "shop.to_out": "warn",
    }
    assert pushed["bookmark"]["queries"]["shop.bronze"]["location"].endswith("/bronze/bronze/1")
    commit_one(made.flow("bronze", "bronze") / "1")
    result = continuity(made, pushed)
    assert result["status"] == "idle"
    assert {name: fields["status"] for name, fields in result["queries"].items()} == {
        "shop.bronze": "continued",
        "shop.silver": "idle",
        "shop.to_out": "idle",
    }


def test_what_is_wrong_with_a_run_that_says_completed_fails(project):
    made = project("refreshed")
    _, pushed = gate(made)
    flow = made.flow("bronze", "bronze")
    shutil.copy(flow / "1" / "offsets" / "2", flow / "1" / "offsets" / "3")
    with pytest.raises(AirflowException, match=r"shop\.bronze: batch 3 is planned and not committed"):
        continuity(made, pushed)
    shutil.copytree(flow / "0", flow / "2")
    with pytest.raises(AirflowFailException, match=r"shop\.bronze: the flow has begun anew at .*/bronze/bronze/2"):
        continuity(made, pushed)


def test_two_flows_with_one_log_are_blocked_and_are_broken_after_a_run(project):
    made = project("two_flows", {"early_files": "early", "late_files": "late"})
    said, pushed = gate(made)
    assert "the gate blocks the deploy" in said
    assert pushed["return_value"]["queries"]["shop.early_files"]["decision"] == "block"
    with pytest.raises(AirflowFailException, match="share the log of its files"):
        continuity(made, pushed)


def test_a_renamed_flow_is_blocked_and_a_full_refresh_is_not_judged(project):
    made = project("one_run", {"orders": "in"})
    said, pushed = gate(made)
    assert "of another query: the rows of batches 0 to 2 are dropped" in said or "BLOCK" in said
    assert [finding["code"] for finding in pushed["return_value"]["findings"]] == ["CKPT208"]
    result, pushed = gate(made, full_refresh=["bronze", "silver"])
    assert [*result["queries"]] == ["shop.to_out"] == [*pushed["bookmark"]["queries"]]


def test_a_flow_that_has_not_run_is_compared_once_it_has(project):
    made = project("one_run", {"bronze": "in"})
    flow = made.flow("silver", "silver")
    shutil.move(flow, made.root / "kept")
    _, pushed = gate(made)
    bookmark = pushed["bookmark"]["queries"]["shop.silver"]
    assert (bookmark["query_id"], bookmark["location"]) == (None, f"{flow}/0")
    assert continuity(made, pushed)["queries"]["shop.silver"]["status"] == "idle"
    shutil.move(made.root / "kept", flow)
    assert continuity(made, pushed)["queries"]["shop.silver"]["status"] == "continued"


def test_a_list_of_names_is_gated_and_one_name_is_a_flow(project):
    made = project("one_run")
    result, pushed = gate(made, ["shop.bronze", "shop.silver"])
    assert [*result["queries"]] == ["shop.bronze", "shop.silver"] == [*pushed["bookmark"]["queries"]]
    assert gate(made, "shop.default.bronze")[0]["resumes_at_batch"] == 3
    checked = task(CheckpointCheckOperator, made, "shop.bronze").execute({"ti": XComs()})
    assert checked["location"] == f"{made.flow('bronze', 'bronze')}/0"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"sink": "kafka"}, "sink is of one query"),
        ({"operators": []}, "operators is of one query"),
        ({"full_refresh": "bronce"}, "bronce is no table of shop"),
        ({"query": "shop.bronze", "full_refresh": "bronze"}, "full_refresh is of a pipeline"),
        ({"query": "shop.bronz"}, r"did you mean shop\.bronze"),
    ],
)
def test_what_is_no_argument_of_a_pipeline_is_refused(project, given, says):
    made = project("one_run")
    with pytest.raises(AirflowException, match=says):
        task(CheckpointGateOperator, made, **{"query": "shop", **given}).execute({"ti": XComs()})


@pytest.mark.parametrize("nothing", [None, "", "None", {}, "{}", ()])
def test_what_a_template_makes_of_nothing_is_no_argument_of_a_pipeline(project, nothing):
    names = ("sources", "sink", "operators", "source_options", "topic_ids")
    made = project("refreshed")
    given = dict.fromkeys(names, nothing)
    result, pushed = gate(made, **given)
    assert result["decision"] == "warn"
    assert continuity(made, pushed, sources=nothing)["status"] == "idle"


@pytest.mark.parametrize(
    ("query", "names"),
    [(None, ["bronze", "silver", "to_out"]), ("shop", ["bronze", "silver", "to_out"]), ("shop.silver", ["silver"])],
)
def test_an_index_has_the_flows_of_a_pipeline_that_have_run(project, query, names):
    made = project("one_run", {"bronze": "in", "new": "in"})
    task(CheckpointIndexOperator, made, query, index=f"{made.root}/index").execute({"ti": XComs()})
    rows = IndexReader().read(Store.open(f"{made.root}/index")).rows
    assert sorted(row.query for row in rows) == [f"shop.{name}" for name in names]


def test_a_bookmark_of_one_query_is_refused(project):
    made = project("one_run")
    for bookmark in ({"query_id": None, "batch_id": None}, "{", None):
        with pytest.raises(AirflowException, match="the bookmark is not"):
            continuity(made, {"bookmark": bookmark})
