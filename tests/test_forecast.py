"""A false alarm is a bug: every healthy golden passes the gate with the deploy that wrote it."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.confs import parse_spark_version
from airflow_provider_ckpt.deploy import DeploySpec, count_of_sources
from airflow_provider_ckpt.forecast import forecast
from airflow_provider_ckpt.store import Store
from tests.codec.test_golden import CASES, EXPECTED


@pytest.mark.parametrize("case", CASES)
def test_healthy_checkpoints_have_no_findings_above_note(goldens, case):
    version, _, name = case.partition("/")
    deploy = EXPECTED[version][name]["deploy"]
    store = Store.open(str(goldens[case] / "checkpoint"))
    confs = dict(deploy["confs"])
    if name.startswith("repartition"):  # the query goes on with the partitions it has now
        confs.pop("spark.sql.shuffle.partitions")
    spec = DeploySpec(parse_spark_version(version), confs, count_of_sources(len(deploy["sources"])))
    foretold = forecast(lifecycle.observe(store), spec)
    assert foretold.verdict == "pass", foretold.findings
    assert foretold.spark_error is None
    assert foretold.resumes_at_batch == EXPECTED[version][name]["planned_batches"][-1] + 1
    assert [finding for finding in lifecycle.inspect(store, deep=True) if finding.severity != "note"] == []


def test_changed_partitions_block_a_stateful_query_and_are_a_note_for_a_stateless_one(goldens):
    deploy = DeploySpec(confs={"spark.sql.shuffle.partitions": "8"})
    stateful = forecast(lifecycle.observe(Store.open(str(goldens["4.3.0/agg-hdfs"] / "checkpoint"))), deploy)
    assert stateful.verdict == "block"
    assert "Spark will really use 2" in stateful.findings[0].message
    stateless = forecast(lifecycle.observe(Store.open(str(goldens["4.3.0/rate-micro-batch"] / "checkpoint"))), deploy)
    assert stateless.verdict == "pass" and stateless.findings[0].code == "CKPT203"
    before = DeploySpec((4, 0), deploy.confs)
    assert (
        forecast(lifecycle.observe(Store.open(str(goldens["4.0.5/file-to-parquet-12"] / "checkpoint"))), before).verdict
        == "block"
    )
