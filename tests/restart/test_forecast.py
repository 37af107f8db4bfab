"""A false alarm is a bug: every healthy golden passes the gate with the deploy that wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.checkpoint.view import CheckpointView
from airflow_provider_ckpt.checks import check
from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.query.spark_version import parse_spark_version
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.storage.store import Store
from tests.goldens import CASES, EXPECTED

SHUFFLE = "spark.sql.shuffle.partitions"

#: A repartition leaves a hole in the log of a file sink, at which the next compaction stops.
HOLE_IN_SINK_LOG = {"repartition-2-to-4", "repartition-2-to-1", "repartition-offset-log-v2"}


def declared_deploy(version: str, name: str, home: Path) -> DeploySpec:
    """The deploy that wrote a golden, with everything that its owner could declare."""
    expected = EXPECTED[version][name]
    deploy = expected["deploy"]
    confs = dict(deploy["confs"])
    if name.startswith("repartition"):  # the query goes on with the partitions it has now
        confs.pop("spark.sql.shuffle.partitions")
    by_operator = {store["operator_id"]: store["operator_name"] for store in expected["state_metadata"] or []}
    return DeploySpec(
        declared_version=parse_spark_version(version),
        confs=confs,
        sources=tuple(Source(source, kind) for source, kind in deploy["sources"].items()),
        sink=parse_sink(f"parquet:{home / 'output'}" if deploy["sink"] == "parquet" else deploy["sink"]),
        operators=tuple(by_operator.values()) if by_operator or not expected["state_partitions"] else None,
        async_progress=name == "async-progress",
        trigger="realTime" if "real-time" in name else None,
    )


@pytest.mark.parametrize("deep", [False, True], ids=["default", "deep"])
@pytest.mark.parametrize("case", CASES)
def test_healthy_checkpoints_have_no_findings_above_note(goldens, case, deep):
    version, _, name = case.partition("/")
    deploy = declared_deploy(version, name, goldens[case])
    sink = Store.open(deploy.file_sink) if deploy.file_sink and name not in HOLE_IN_SINK_LOG else None
    view = examine(Store.open(str(goldens[case] / "checkpoint")), deep=deep, sink=sink)
    foretold = forecast(view, deploy)
    alarms = {"CKPT232"} if deploy.trigger else set()  # rows come again whenever a query in real-time mode is stopped
    assert {finding.code for finding in foretold.findings if finding.severity != "note"} == alarms
    assert foretold.found == ("warn" if alarms else "pass"), foretold.findings
    assert foretold.decision == ("warn" if set(foretold.unknown) - {"fields of state"} or alarms else "pass")
    assert set(foretold.unknown) == unjudged(deploy, view, name, deep)
    assert foretold.spark_error is None
    assert foretold.resumes_at_batch == EXPECTED[version][name]["planned_batches"][-1] + 1
    assert [finding for finding in check(view) if finding.severity != "note"] == []


def unjudged(deploy: DeploySpec, view: CheckpointView, name: str, deep: bool) -> set[str]:
    """What the owner of a golden cannot declare, or the test does not read."""
    return {
        *(() if deep else ("state", "source logs", "checksum files")),
        *(("sink log",) if name in HOLE_IN_SINK_LOG and deploy.file_sink else ()),
        *(("operators",) if deploy.operators is None and view.stateful else ()),
        *(("fields of state",) if deploy.operators else ()),
    }


@pytest.mark.parametrize("name", sorted(HOLE_IN_SINK_LOG))
def test_a_repartition_leaves_a_hole_at_which_the_sink_will_stop(goldens, name):
    sink = Store.open(str(goldens[f"4.3.0/{name}"] / "output"))
    view = examine(Store.open(str(goldens[f"4.3.0/{name}"] / "checkpoint")), sink=sink)
    assert [finding.code for finding in check(view) if finding.severity == "error"] == ["CKPT142"]


def test_changed_partitions_block_a_stateful_query_and_are_a_note_for_a_stateless_one(goldens):
    deploy = DeploySpec(confs={"spark.sql.shuffle.partitions": "8"})
    stateful = forecast(observe(Store.open(str(goldens["4.3.0/agg-hdfs"] / "checkpoint"))), deploy)
    assert stateful.decision == "block"
    assert "Spark will really use 2" in stateful.findings[0].message
    stateless = forecast(observe(Store.open(str(goldens["4.3.0/rate-micro-batch"] / "checkpoint"))), deploy)
    assert stateless.found == "pass" and stateless.findings[0].code == "CKPT203"
    before = DeploySpec((4, 0), deploy.confs)
    assert (
        forecast(observe(Store.open(str(goldens["4.0.5/file-to-parquet-12"] / "checkpoint"))), before).decision
        == "block"
    )


@pytest.mark.parametrize(("case", "version", "is_first"), [
    ("agg-rocksdb", (4, 2), True),
    ("agg-rocksdb", (4, 1), False),
    ("agg-hdfs", (4, 3), False),
])  # fmt: skip
def test_another_number_of_shuffle_partitions_is_reached_by_a_repartition_where_spark_has_one(
    case, version, is_first, golden
):
    checkpoint = golden(case)
    deploy = DeploySpec(confs={SHUFFLE: "8"}, declared_version=version)
    (found,) = (
        item for item in forecast(observe(Store.open(str(checkpoint))), deploy).findings if item.code == "CKPT201"
    )
    command = f"ckpt repartition {checkpoint} --partitions 8 --sink TYPE[:URI]"
    assert found.commands == ((command,) if is_first else ())
    assert found.hint.startswith(
        "Repartition the state to 8 partitions. Or deploy with " if is_first else "Deploy with "
    )


def test_source_evolution_that_is_ignored_names_the_command_that_switches_it_on(golden):
    checkpoint = golden("two-sources")
    deploy = DeploySpec((4, 3), {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"})
    found = {item.code: item for item in forecast(observe(Store.open(str(checkpoint))), deploy).findings}
    assert found["CKPT201"].commands == found["CKPT213"].commands
    assert found["CKPT213"].commands[0].startswith(f"ckpt sources {checkpoint} --as ")
