"""A deploy in real-time mode: what the gate says of it, and that it says nothing of it otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.checks.inspect import examine
from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.restart.forecast import forecast
from airflow_provider_ckpt.restart.judged import not_judged
from airflow_provider_ckpt.restart.logs import STATE_FORMAT
from airflow_provider_ckpt.restart.real_time import FORMAT_1_ALLOWED, continuous_trigger
from airflow_provider_ckpt.storage.store import Store
from tests.oracle.mutations import mutate
from tests.views import view_of

FORMAT_1 = "STREAMING_REAL_TIME_MODE.CHECKPOINT_FORMAT_V1_NOT_SUPPORTED"
RUNNING = "the log does not say whether a batch after 7 was running"
CUT_ANEW = "does not repeat batch 7 with its planned offsets, but plans it again"
NO_COMMIT = ("drop commits/*", "drop state", "drop offsets/*")

#: A golden, what is done to it, the deploy, the error that it stops with, what is said of rows that come again.
CASES = {
    "state of format 1": ("agg-hdfs", (), {}, FORMAT_1, RUNNING),
    "state of format 2": ("agg-rocksdb-v2", (), {}, None, RUNNING),
    "format 1 is allowed": ("agg-hdfs", (), {FORMAT_1_ALLOWED: "true"}, None, RUNNING),
    "also without state": ("file-to-parquet-5", (), {}, FORMAT_1, "a batch after 4 was running"),
    "a conf does not change the format of a commit": ("agg-hdfs", (), {STATE_FORMAT: "2"}, FORMAT_1, RUNNING),
    "a batch that is not committed": ("agg-rocksdb-v2", ("drop commits/{N}",), {}, None, CUT_ANEW),
    "a new query gets format 2": ("file-to-parquet-5", NO_COMMIT, {}, None, None),
}


@pytest.mark.parametrize("case", CASES)
def test_a_deploy_in_real_time_mode(case, golden_home):
    golden, mutations, confs, error, repeats = CASES[case]
    home = golden_home(golden)
    mutate(home / "checkpoint", mutations)
    view = examine(Store.open(str(home / "checkpoint")), deep=True)
    found = [f for f in forecast(view, DeploySpec(confs=confs, trigger="realTime")).findings if f.code == "CKPT232"]
    assert [f.spark_error for f in found if f.severity == "error"] == ([error] if error else [])
    assert [repeats in f.message for f in found if repeats and f.severity == "warning"] == ([True] if repeats else [])
    other = forecast(view, DeploySpec(confs=confs, trigger="processingTime"))
    told = forecast(view, DeploySpec(confs=confs, trigger="realTime"))
    assert (told.reruns_batch, told.end_offsets) == (None, None), "a planned batch is planned anew"
    assert (other.end_offsets is None) == (other.reruns_batch is None)
    assert "CKPT232" not in {f.code for f in other.findings}


@pytest.mark.parametrize(
    ("sink", "refused"),
    {"file:/lake/orders": True, "parquet:/lake/orders": True, "foreachBatch": True, "kafka": False}.items(),
)
def test_a_sink_that_takes_whole_batches_is_refused(sink, refused, golden_home):
    view = examine(Store.open(str(golden_home("agg-rocksdb-v2") / "checkpoint")))
    found = forecast(view, DeploySpec(sink=parse_sink(sink), trigger="realTime")).findings
    assert ("STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST" in {f.spark_error for f in found}) is refused


DEPLOY = DeploySpec(trigger="continuous")


@pytest.mark.parametrize(
    ("sink", "source", "found"),
    [
        ("json:/out", None, [("CKPT233", "error", "IllegalStateException")]),
        ("foreachBatch", "kafka", [("CKPT233", "error", "IllegalStateException")]),
        ("kafka", "file", [("CKPT233", "error", None)]),
        ("kafka", "kafka", []),
        (None, None, []),
    ],
)
def test_sources_and_sinks_without_continuous_processing(sink, source, found):
    deploy = replace(DEPLOY, sink=parse_sink(sink) if sink else None, sources=(Source("0", source),))
    findings = continuous_trigger(view_of(), deploy)
    assert [(item.code, item.severity, item.spark_error) for item in findings] == found
    other = replace(deploy, trigger="availableNow")
    assert list(continuous_trigger(view_of(), other)) == []


def test_it_is_no_pass_whatever_the_sources_are():
    assert "continuous processing" in not_judged(view_of(), DEPLOY)
    assert "continuous processing" not in not_judged(view_of(), DeploySpec())
