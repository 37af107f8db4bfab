"""A restart with ``trigger(continuous=...)``: Spark 4.3 was seen to stop with these sources and sinks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ckpt.query.deploy import DeploySpec
from airflow_provider_ckpt.query.sink import parse_sink
from airflow_provider_ckpt.query.source import Source
from airflow_provider_ckpt.restart import continuous
from airflow_provider_ckpt.restart.judged import not_judged
from tests.views import view_of

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
    findings = continuous.trigger(view_of(), deploy)
    assert [(item.code, item.severity, item.spark_error) for item in findings] == found
    other = replace(deploy, trigger="availableNow")
    assert list(continuous.trigger(view_of(), other)) == []


def test_it_is_no_pass_whatever_the_sources_are():
    assert "continuous processing" in not_judged(view_of(), DEPLOY)
    assert "continuous processing" not in not_judged(view_of(), DeploySpec())
