"""The gate in a DAG: where it takes the deploy from, and what it does when it is closed."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, task

from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.operators.checkpoint import CheckpointContinuityOperator, CheckpointGateOperator
from airflow_provider_ckpt.operators.task_confs import confs_of
from tests.airflow.conftest import read_run, run

pytestmark = pytest.mark.airflow

PARTITIONS = "spark.sql.shuffle.partitions"
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
OPERATOR = "stateStoreSave"
#: What a deploy that says nothing leaves unknown.
EVERYTHING = ["spark_version", "confs", "sources", "operators", "sink"]
CODEC = "spark.sql.streaming.stateStore.compression.codec"


@pytest.fixture
def dag():
    with DAG("d", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)) as dag:
        yield dag


@pytest.fixture
def checkpoint(golden) -> str:
    """An aggregation in 2 partitions, eight committed batches."""
    return str(golden("agg-hdfs"))


class XComs(dict):
    """Takes what a task pushes."""

    def xcom_push(self, key: str, value: Any) -> None:
        self[key] = value


def forecast_of(gate: CheckpointGateOperator, **context: Any) -> dict[str, Any]:
    """The forecast, also of a gate that closes."""
    pushed = XComs()
    try:
        return gate.execute({"ti": pushed, **context})
    except AirflowFailException:
        return pushed["return_value"]


def set_confs(forecast: dict[str, Any]) -> dict[str, str]:
    """The once-only confs that the gate was told of."""
    return {conf["key"]: conf["deploy_value"] for conf in forecast["confs"] if conf["deploy_value"] is not None}


# --- the confs of the task that restarts the query -----------------------------------------------------------------


def test_confs_of_a_submitted_application(dag, tmp_path):
    """``conf`` wins over the properties file; templates are rendered, and the task itself keeps them."""
    (tmp_path / "stream.conf").write_text(f"# once\n{PARTITIONS} 4\n{POLICY}=max\n")
    conf = {PARTITIONS: "{{ params.partitions }}", "spark.speculation": False}
    submit = SparkSubmitOperator(task_id="submit", conf=conf, properties_file="{{ params.home }}/stream.conf")
    context = {"params": {"partitions": 8, "home": str(tmp_path)}}
    assert confs_of(dag, "submit", context) == {PARTITIONS: "8", POLICY: "max", "spark.speculation": "false"}
    assert submit.conf == conf and submit.properties_file == "{{ params.home }}/stream.conf"
    SparkSubmitOperator(task_id="bare")
    assert confs_of(dag, "bare", {}) == {}


def test_confs_of_a_pyspark_task(dag, monkeypatch):
    """``config_kwargs`` win over the extra fields of the connection, of which only confs count.

    What Airflow does not render for the task is not rendered here.
    """
    extra = {PARTITIONS: "4", POLICY: "max", "deploy-mode": "client"}
    monkeypatch.setenv("AIRFLOW_CONN_STREAMS", json.dumps({"conn_type": "spark", "host": "local[2]", "extra": extra}))

    note = {"spark.note": "{{ params.note }}"}

    @task.pyspark(conn_id="streams", config_kwargs={PARTITIONS: 8, **note})
    def session(spark=None):
        """Runs the query."""

    session()
    assert "config_kwargs" not in dag.get_task("session").template_fields
    assert confs_of(dag, "session", {"params": {"note": "x"}}) == {PARTITIONS: "8", POLICY: "max", **note}


def test_confs_that_are_computed(dag):
    def conf(context: Any, jinja_env: Any) -> dict[str, str]:
        return {PARTITIONS: context["params"]["partitions"]}

    SparkSubmitOperator(task_id="submit", conf=conf)
    assert confs_of(dag, "submit", {"params": {"partitions": "8"}}) == {PARTITIONS: "8"}


def test_tasks_of_other_kinds_are_refused_and_the_supported_ones_named(dag):
    BashOperator(task_id="bash", bash_command="./run.sh")
    SparkSubmitOperator.partial(task_id="mapped").expand(application=["a.py", "b.py"])
    for task_id, said in (("bash", "BashOperator"), ("mapped", "not mapped"), ("other", "no task 'other'")):
        with pytest.raises(CheckpointError, match=said) as error:
            confs_of(dag, task_id, {})
        assert "a SparkSubmitOperator or a @task.pyspark task" in str(error.value)


def test_an_unreadable_properties_file_is_named(dag, tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name, said in (("missing", "missing"), ("bytes", "not a text file")):
        SparkSubmitOperator(task_id=name, properties_file=str(tmp_path / name))
        with pytest.raises(CheckpointError, match=said):
            confs_of(dag, name, {})


# --- what is deployed ----------------------------------------------------------------------------------------------


def test_spark_task_is_an_operator_a_call_or_an_id(dag, checkpoint):
    submit = SparkSubmitOperator(task_id="submit", conf={PARTITIONS: "8"})

    @task.pyspark(config_kwargs={PARTITIONS: "8"})
    def session():
        """Runs the query."""

    for index, given in enumerate((submit, "submit", session())):
        gate = CheckpointGateOperator(task_id=f"gate{index}", checkpoint=checkpoint, spark_task=given)
        assert gate.spark_task == ("session" if index == 2 else "submit")
        assert not gate.upstream_task_ids and not gate.downstream_task_ids
        assert set_confs(forecast_of(gate)) == {PARTITIONS: "8"}


def test_explicit_confs_win_over_the_task_and_the_task_over_the_file(dag, checkpoint, tmp_path):
    file = tmp_path / "spark-defaults.conf"
    file.write_text(f"{PARTITIONS} 3\n{POLICY} file\n{CODEC} file\n")
    SparkSubmitOperator(task_id="submit", conf={PARTITIONS: "4", POLICY: "task"})
    gate = CheckpointGateOperator(
        task_id="gate", checkpoint=checkpoint, confs={PARTITIONS: 5}, conf_file=str(file), spark_task="submit"
    )
    assert set_confs(forecast_of(gate)) == {PARTITIONS: "5", POLICY: "task", CODEC: "file"}


@pytest.mark.parametrize(("name", "text"), [("spark-defaults.conf", "=5"), ("deploy.yaml", "sources: 2")])
def test_a_file_of_confs_that_is_none_is_named(checkpoint, tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(AirflowFailException, match=name):
        CheckpointGateOperator(task_id="gate", checkpoint=checkpoint, conf_file=str(file)).execute({"ti": XComs()})


@pytest.mark.parametrize("sources", [
    1, "1", ["file"], "[file]", {"0": "file"}, '{"0": "file"}', ("file",), MappingProxyType({"0": "file"}),
])  # fmt: skip
def test_sources_in_every_form(checkpoint, sources):
    told = forecast_of(CheckpointGateOperator(task_id="gate", checkpoint=checkpoint, sources=sources))
    assert told["decision"] == "warn" and "sources" not in told["unknown"]
    assert ("source types" in told["unknown"]) == (sources in (1, "1"))


def test_empty_text_says_nothing(checkpoint):
    empty = dict.fromkeys(("confs", "conf_file", "sources", "sink", "operators", "spark_version", "trigger"), "")
    told = forecast_of(CheckpointGateOperator(task_id="gate", checkpoint=checkpoint, **empty))
    assert told["decision"] == "warn" and told["unknown"] == EVERYTHING
    assert (
        told["headline"]
        == f"WARN {checkpoint}: Spark starts and runs batch 8; whether there is new data for it was not read; not judged: {', '.join(EVERYTHING)}"
    )


def test_a_deploy_that_declares_everything_passes(checkpoint):
    deploy = {
        "spark_version": "4.3",
        "confs": {},
        "sources": ["file:/golden"],
        "sink": "console",
        "operators": [OPERATOR],
    }
    told = forecast_of(CheckpointGateOperator(task_id="gate", checkpoint=checkpoint, fail_on="warn", **deploy))
    assert (told["decision"], told["unknown"]) == ("pass", ["fields of state"])


def test_what_was_not_judged_closes_a_gate_that_fails_on_it(checkpoint):
    pushed = XComs()
    gate = CheckpointGateOperator(task_id="gate", checkpoint=checkpoint, fail_on="warn")
    with pytest.raises(AirflowFailException, match=f"GATE_FAILED.*not judged: {', '.join(EVERYTHING)}"):
        gate.execute({"ti": pushed})
    assert pushed["return_value"]["decision"] == "warn"


def test_the_log_of_a_file_sink_is_read(goldens, tmp_path):
    home = goldens["4.3.0/file-to-parquet-5"]
    shutil.copytree(home / "output", tmp_path / "output")
    gate = {"task_id": "gate", "checkpoint": str(home / "checkpoint"), "sink": f"file:{tmp_path / 'output'}"}
    assert forecast_of(CheckpointGateOperator(**gate))["findings"] == []
    (tmp_path / "output" / "_spark_metadata" / "5").write_text("v1")
    told = forecast_of(CheckpointGateOperator(**gate))
    assert [item["code"] for item in told["findings"] if item["severity"] == "error"] == ["CKPT140"]


def test_state_is_judged_unless_the_gate_is_quick(checkpoint):
    shutil.rmtree(Path(checkpoint) / "state" / "0" / "0")
    quick, whole = (
        forecast_of(CheckpointGateOperator(task_id="gate", checkpoint=checkpoint, quick=quick))
        for quick in (True, False)
    )
    assert (quick["decision"], "state" in quick["unknown"]) == ("warn", True)
    assert (whole["decision"], "state" in whole["unknown"]) == ("block", False)


@pytest.mark.parametrize(("arguments", "said"), [
    ({"sources": 0}, "sources must be a number"), ({"sources": "{"}, "sources is a text that is not YAML"),
    ({"operators": "3"}, "operators must be a list"), ({"confs": "7"}, "confs is not a mapping"),
    ({"spark_version": "2.4"}, "is not supported"), ({"spark_version": "4.10"}, "Spark 4.10 is not"),
    ({"spark_version": 4.1}, "4.10 is the same as 4.1"), ({"trigger": "hourly"}, "trigger must be one of"),
    ({"sources": ["kafak"]}, "unknown source type 'kafak'"), ({"sink": "parkay:x"}, "is not a sink"),
    ({"conf_file": "/no/such/file"}, "/no/such/file"),
])  # fmt: skip
def test_arguments_that_make_no_sense_fail_at_once(checkpoint, arguments, said):
    with pytest.raises(AirflowFailException, match=said):
        CheckpointGateOperator(task_id="gate", checkpoint=checkpoint, **arguments).execute({"ti": XComs()})


@pytest.mark.parametrize("arguments", [
    {"on_block": "stop"}, {"fail_on": "never"}, {"on_block": "branch"}, {"on_block": "branch", "branch_pass": "a"},
    {"branch_pass": "a", "branch_block": "b"},
])  # fmt: skip
def test_a_gate_that_cannot_work_is_no_gate(checkpoint, arguments):
    with pytest.raises(ValueError, match=r"on_block|branch_pass|fail_on"):
        CheckpointGateOperator(task_id="gate", checkpoint=checkpoint, **arguments)


def test_a_gate_survives_the_serialisation_of_its_dag(dag, checkpoint):
    submit = SparkSubmitOperator(task_id="submit", conf={PARTITIONS: "8"})
    CheckpointGateOperator(task_id="gate", checkpoint=checkpoint, spark_task=submit, sources=["file"]) >> submit
    serialised, read = through_serialisation(dag)
    assert read.get_task("gate").downstream_task_ids == {"submit"} and read.get_task("gate").inherits_from_skipmixin
    fields = next(item["__var"] for item in serialised["dag"]["tasks"] if item["__var"]["task_id"] == "gate")
    assert fields["sources"] == ["file"] and PARTITIONS not in json.dumps(fields)


def through_serialisation(dag: DAG) -> tuple[dict[str, Any], Any]:
    """The document that Airflow keeps of a DAG, and the DAG that it reads from there."""
    try:
        from airflow.serialization.serialized_objects import DagSerialization as Serialisation
    except ImportError:  # Airflow 3.1
        from airflow.serialization.serialized_objects import SerializedDAG as Serialisation
    document = json.loads(json.dumps(Serialisation.to_dict(dag)))
    return document, Serialisation.from_dict(document)


def test_templated_fields_are_attributes(checkpoint):
    gate = CheckpointGateOperator(task_id="gate", checkpoint=checkpoint)
    continuity = CheckpointContinuityOperator(task_id="continuity", checkpoint=checkpoint, bookmark={})
    assert all(hasattr(item, name) for item in (gate, continuity) for name in item.template_fields)


# --- open and closed, before and after ------------------------------------------------------------------------------


def test_the_forecast_and_the_bookmark_are_pushed_also_when_the_gate_is_closed(checkpoint):
    pushed = XComs()
    gate = CheckpointGateOperator(task_id="gate", checkpoint=checkpoint, confs={PARTITIONS: "8"})
    with pytest.raises(AirflowFailException, match="GATE_FAILED.*Spark will really use 2"):
        gate.execute({"ti": pushed})
    assert (pushed["return_value"]["decision"], pushed["return_value"]["resumes_at_batch"]) == ("block", 8)
    assert (pushed["bookmark"]["batch_id"], pushed["bookmark"]["offsets"]) == (7, {"0": '{"logOffset":5}'})
    assert json.loads(json.dumps(pushed)) == pushed


def test_a_damaged_log_gives_a_forecast_and_no_bookmark(checkpoint):
    (Path(checkpoint) / "offsets" / "7").write_bytes(b"nonsense")
    pushed = XComs()
    with pytest.raises(AirflowFailException, match="GATE_FAILED"):
        CheckpointGateOperator(task_id="gate", checkpoint=checkpoint).execute({"ti": pushed})
    assert set(pushed) == {"return_value", "error"}


def test_a_query_that_went_on_and_one_that_did_not(checkpoint):
    pushed = XComs()
    CheckpointGateOperator(task_id="gate", checkpoint=checkpoint).execute({"ti": pushed})
    bookmark = pushed["bookmark"]
    with pytest.raises(AirflowException, match="no batch was committed after batch 7"):
        after(checkpoint, bookmark)
    earlier = {**bookmark, "batch_id": 5, "offsets": {"0": '{"logOffset":4}'}, "watermark_ms": 1767225620000}
    assert after(checkpoint, json.dumps(earlier))["status"] == "continued"
    with pytest.raises(AirflowFailException, match=r"did not continue.*ended at '0: 9' before"):
        after(checkpoint, {**earlier, "offsets": {"0": "9"}})
    newest = Path(checkpoint) / "offsets" / "7"
    newest.write_text(newest.read_text().replace('{"logOffset":5}', '{"logOffset":1}'))
    with pytest.raises(AirflowFailException, match="source 0 went back: log from 5 to 1"):
        after(checkpoint, earlier)


@pytest.mark.parametrize(
    ("bookmark", "said"),
    [("{", "is not JSON"), (None, "not a bookmark"), ({"a": 1}, "not a bookmark: it has the key 'a'")],
)
def test_a_bookmark_that_is_none(checkpoint, bookmark, said):
    with pytest.raises(AirflowFailException, match=said):
        after(checkpoint, bookmark)


def after(checkpoint: str, bookmark: Any) -> dict[str, Any]:
    arguments = {"checkpoint": checkpoint, "bookmark": bookmark, "sources": ["file"]}
    return CheckpointContinuityOperator(task_id="after", **arguments).execute({})


def test_what_closed_gates_do_in_a_real_run(airflow_env, checkpoint):
    conf = json.dumps({"checkpoint": checkpoint, "partitions": "8"})
    assert run(["dags", "test", "gates", "--conf", conf], airflow_env, check=False).returncode == 1
    states, forecasts = read_run(airflow_env, "gates")
    assert states == {
        "fails": "failed",
        "submit": "upstream_failed",
        "skips": "success",
        "session": "skipped",
        "cleanup": "skipped",
        "teardown": "success",
        "closed": "success",
        "closed_pass": "skipped",
        "closed_block": "success",
        "open": "success",
        "open_pass": "success",
        "open_block": "skipped",
        "passes": "success",
        "continued": "success",
        "pending": "failed",
    }
    decisions = {"fails": "block", "skips": "block", "closed": "block", "open": "warn", "passes": "warn"}
    assert {task_id: forecasts[task_id]["decision"] for task_id in decisions} == decisions
