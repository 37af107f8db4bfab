"""A pipeline of the query file on the command line, on what real Spark has left behind."""

from __future__ import annotations

import json
import shutil

import pytest

from airflow_provider_ckpt.cli import gate, run
from airflow_provider_ckpt.documents.findings import GatedPipelineDocument
from airflow_provider_ckpt.errors import CheckpointError
from tests.docs.blocks import ROOT, blocks_of
from tests.docs.shell import commands_of
from tests.json_documents import problems
from tests.pipelines.lab import Pipeline
from tests.pipelines.shop import BELOW, ckpt, severities

WORD = ("--execute", "--i-know-it-is-stopped", "--quiet-period", "0")
FILE = """format_version: 1
defaults: {spark_version: "4.3"}
pipelines: {shop: {spec: spark-pipeline.yml, flows: {bronze: {sink: "file:spark-warehouse/bronze"}}}}
"""


@pytest.fixture
def project(shop, monkeypatch):
    """Makes the directory of a project as a run left it, with its definitions and a query file, and goes there."""

    def make(case: str, flows: dict[str, str] | None = None, text: str = FILE) -> Pipeline:
        made = Pipeline(shop(case), flows or {"bronze": "in"})
        made.write()
        (made.root / "ckpt.yaml").write_text(text)
        monkeypatch.chdir(made.root)
        monkeypatch.delenv("CKPT_FILE", raising=False)
        return made

    return make


def gated(capsys, *words: str):
    code, document = ckpt(capsys, "gate", "shop", *words)
    rows = {item["location"].partition("_checkpoints/")[2]: item for item in document["checkpoints"]}
    return code, {name: (item.get("decision"), severities(item)) for name, item in rows.items()}


def test_each_flow_has_a_name_and_it_means_the_version_that_runs(project, capsys):
    made = project("refreshed")
    bronze = f"{made.root}/{BELOW}/bronze/bronze"
    for word in ("shop.bronze", "shop.default.bronze", "shop.spark_catalog.default.`bronze`", bronze):
        assert ckpt(capsys, "show", word)[1]["location"] == f"{bronze}/1"
    planned = ckpt(capsys, "rollback", "shop.default.bronze", "--to-batch", 1, "--trim-sink-log")[1]
    assert planned["plan"]["location"] == f"{bronze}/1"
    assert planned["declared"]["--sink"].endswith("ckpt.yaml line 3")
    assert "ckpt rollback shop.default.bronze --to-batch 1" in planned["apply_command"]


def test_a_plan_is_of_one_version_and_is_refused_when_a_later_one_has_replaced_it(project, capsys):
    made = project("one_run")
    words = ("rollback", "shop.bronze", "--to-batch", "0", "--trim-sink-log")
    assert run([*words, "--plan-out", "plan.json"]) == 0
    flow = made.flow("bronze", "bronze")
    shutil.copytree(flow / "0", flow / "1")
    capsys.readouterr()
    assert run(["rollback", f"{flow}/0", "--plan", "plan.json", *WORD]) == 4
    assert f"The version that runs is {flow}/1" in " ".join(capsys.readouterr().err.split())


def test_a_rollback_of_a_replaced_version_is_refused_by_name(project, capsys):
    made = project("refreshed")
    sink = ("--sink", f"file:{made.table('bronze')}")
    for command in (("rollback", "--to-batch", "0", *sink), ("salvage", *sink), ("fence",), ("repair", *sink)):
        replaced = f"{made.flow('bronze', 'bronze')}/0"
        code = run([command[0], replaced, *command[1:]])
        said = " ".join(capsys.readouterr().err.split())
        assert code != 0 and "version 0 of flow bronze" in said, (command, said)
        assert f"{made.flow('bronze', 'bronze')}/1" in said, (command, said)


@pytest.mark.parametrize("word", ["shop.bronz", "shop", "shop.silver.x"])
def test_a_name_that_is_none_is_told_with_those_that_are(project, capsys, word):
    project("one_run")
    assert run(["show", word]) == 2
    assert "shop.bronze" in (said := capsys.readouterr().err) or "did you mean shop.silver?" in said


def test_the_bookmarks_of_a_pipeline_are_a_file_for_each_flow_that_is_there(project, capsys):
    made = project("one_run")
    ckpt(capsys, "gate", "shop", "--bookmark", "before")
    assert {path.name for path in (made.root / "before").iterdir()} >= {"shop.bronze.json", "shop.silver.json"}
    code, planned = ckpt(capsys, "rollback", "shop.bronze", "--to-before-deploy", "before/shop.bronze.json")
    assert (code, planned["plan"]["actions"]) == (0, []), "the flow is where it was"


def test_a_whole_pipeline_is_checked_searched_and_gated(project, capsys):
    made = project("refreshed")
    assert len(ckpt(capsys, "check", "shop")[1]["checkpoints"]) == 3
    assert len(ckpt(capsys, "fleet", "shop")[1]["checkpoints"]) == 4
    code, found = gated(capsys)
    assert (code, found[""], len(found)) == (0, (None, {}), 4)
    assert found["spark_catalog/default/bronze/bronze/1"] == ("warn", {})
    code, found = gated(capsys, "--full-refresh", "bronze", "--fail-on", "warn")
    assert (code, found[""]) == (1, (None, {"CKPT217": "warning"}))
    assert "spark_catalog/default/bronze/bronze/1" not in found, "it begins anew"
    assert not made.flow("bronze", "bronze").joinpath("2").exists()


@pytest.mark.parametrize("words", [(), ("shop",)])
def test_lag_and_history_are_of_all_flows(project, capsys, words):
    places = ("bronze: {sources: ['file:/in'], undo: undo}", "silver: {undo: undo}", "to_out: {undo: undo}")
    made = project("refreshed", text=FILE.partition(", flows")[0] + f", flows: {{{', '.join(places)}}}}}}}\n")
    code, document = ckpt(capsys, "lag", *words)
    told = [text.partition(": ")[2] for text in document["not_read"]]
    assert [text.startswith("no source was declared") for text in told] == [True, False, True]
    assert code == 3 and told[1].startswith("/in: the query reads files in another directory"), "it has its own sources"
    changed = ("rollback", "shop.bronze", "--to-batch", "0", "--trim-sink-log", "--sink", "file:spark-warehouse/bronze")
    assert run([*changed, *WORD]) == 0
    capsys.readouterr()
    for flows in (3, 1):  # also of a pipeline with one flow alone the file says where the records are
        assert run(["history", *words, "--json"]) == 0
        assert "rollback" in (said := capsys.readouterr().out), (flows, said)
        for other in ("spark_catalog/default/silver", "out"):
            shutil.rmtree(made.storage / "_checkpoints" / other, ignore_errors=True)


@pytest.mark.parametrize("command", ["check", "lag", "history"])
def test_a_pipeline_that_never_ran_is_told_and_holds_nothing(project, golden, capsys, command):
    orders = f"orders: {{checkpoint: {golden('agg-hdfs')}, sources: ['file:/in']}}"
    made = project("one_run", text=f"{FILE}queries: {{{orders}}}\n")
    shutil.rmtree(made.storage)
    none = f"no flow of the pipeline shop has a checkpoint below {made.storage}"
    run([command])
    said = capsys.readouterr()
    assert f"Note: {none}." in said.err and "name one of" not in said.err
    assert run([command, "shop"]) == 2
    assert none in capsys.readouterr().err


def test_the_page_about_pipelines_shows_what_runs(project, capsys):
    blocks = blocks_of(ROOT / "docs/how-to/gate-pipelines.md")
    declared, commands = (block.text for block in blocks if "run by" in block.notes)
    project("refreshed", text=declared.replace("s3://lake/warehouse", "spark-warehouse"))
    for command in commands_of(commands.replace("41", "0")):
        assert run(command.split()[1:]) == 0, command + capsys.readouterr().err


@pytest.mark.parametrize("words", [(), ("orders", "shop"), ("shop", "orders"), ("shop.bronze", "orders", "shop")])
def test_a_query_and_a_pipeline_are_named_together(project, golden, capsys, words):
    made = project("refreshed", text=f"{FILE}queries: {{orders: {{checkpoint: {golden('agg-hdfs')}}}}}\n")
    for command, count in (("check", 4), ("fleet", 5)):
        rows = [item["location"] for item in ckpt(capsys, command, *words)[1]["checkpoints"]]
        assert len({*rows}) == count, rows
        assert sum(row.startswith(str(made.root)) for row in rows) >= count - 1
    assert run(["check", "order", "shop"]) == 2
    assert "did you mean orders?" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("case", "flows", "expected"),
    [
        ("refreshed", None, "warn"),
        ("two_flows", {"early_files": "early", "late_files": "late"}, "block"),
        ("one_run", {"orders": "in"}, "block"),
    ],
)
def test_the_document_of_a_pipeline_has_one_decision_the_worst(project, capsys, case, flows, expected):
    project(case, flows)
    code, document = ckpt(capsys, "gate", "shop")
    assert list(problems(document, GatedPipelineDocument)) == []
    assert (document["decision"], code) == (expected, int(expected == "block"))
    assert ckpt(capsys, "check", "shop")[1].keys() == {"format_version", "checkpoints"}


def test_two_flows_with_one_log_are_blocked(project, capsys):
    project("two_flows", {"early_files": "early", "late_files": "late"})
    code, found = gated(capsys)
    for flow in ("early_files", "late_files"):
        assert (code, found[f"spark_catalog/default/bronze/{flow}/0"]) == (1, ("block", {"CKPT157": "error"}))


def test_a_renamed_flow_is_blocked_before_it_runs_and_the_old_one_is_told(project, capsys):
    project("one_run", {"orders": "in"})
    code, found = gated(capsys)
    assert (code, found[""]) == (1, (None, {"CKPT208": "note"}))
    assert found["spark_catalog/default/bronze/orders/0"] == ("block", {"CKPT207": "error"})
    assert "spark_catalog/default/bronze/bronze/0" not in found


def test_another_storage_is_told_and_the_logs_of_its_tables_block(project, capsys):
    made = project("one_run")
    shutil.rmtree(made.storage)
    code, found = gated(capsys)
    assert (code, found[""]) == (1, (None, {"CKPT209": "warning"}))
    assert found["spark_catalog/default/bronze/bronze/0"][1]["CKPT207"] == "error"
    assert found["out/to_out/0"][0] == "block"


def test_each_cluster_of_a_pipeline_and_of_a_query_configures_its_own_client(project, monkeypatch):
    clusters = "kafka: {a: {bootstrap.servers: 'a:1', client.id: x}, b: {bootstrap.servers: 'b:1', client.id: y}}\n"
    flows = "{bronze: {sources: ['kafka:a/t']}, silver: {sources: ['kafka:b/t']}}"
    queries = "queries: {both: {checkpoint: /c, sources: ['kafka:a/t', 'kafka:b/t']}}\n"
    project(
        "one_run",
        text=f"format_version: 1\n{clusters}{queries}pipelines: {{shop: {{spec: spark-pipeline.yml, flows: {flows}}}}}\n",
    )
    taken = []

    def asked(store, deploy, *_, kafka_config, kafka_configs, **__):
        taken.append((kafka_config, kafka_configs))
        raise CheckpointError("nobody asks")

    monkeypatch.setattr(gate, "forecast_restart", asked)
    for words in (["shop"], ["both"], ["shop", "--kafka-config", "client.id=z"]):
        taken.clear()
        run(["gate", *words])
        assert taken[0] == (
            {"client.id": "z"} if len(words) > 1 else {},
            {"a:1": {"client.id": "x"}, "b:1": {"client.id": "y"}},
        )


@pytest.mark.parametrize("option", [("--sink", "kafka"), ("--source", "0=file")])
def test_what_is_of_one_query_is_refused_of_a_pipeline(project, capsys, option):
    project("one_run")
    assert run(["gate", "shop", *option]) == 2
    assert f"{option[0]} is of one query" in " ".join(capsys.readouterr().err.split())


def test_a_pipeline_that_cannot_be_read_ends_what_names_it_and_nothing_else(project, capsys):
    made = project("one_run")
    (made.root / "spark-pipeline.yml").write_text("name: shop\n")
    assert run(["gate", "shop"]) == 2
    assert "spark-pipeline.yml: it has no storage" in " ".join(capsys.readouterr().err.split())
    assert run(["show", f"{made.flow('bronze', 'bronze')}/0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["location"].endswith("bronze/0")
