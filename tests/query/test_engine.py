"""Where a query runs: what the keys of the query file mean. What is wrong with them is in ``query_files.BROKEN``."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.query.engine import ENGINES, NEEDED, DeclaredEngine, StartRule, StopRule
from airflow_provider_ckpt.query.query_parser import parse_query_file
from tests.query.query_files import WHOLE

COMMAND = """
format_version: 1
defaults: {engine: command, stop: {wait_for_batch: 5m}}
queries:
  orders:
    checkpoint: c
    application: {status: [./s], end: [./e, "{run}"], start: [./b, "{token}"], states: {UP: live}, timeout: 30s}
"""


def test_the_keys_of_a_query_are_its_engine():
    assert parse_query_file(WHOLE, "/lake/ckpt.yaml").queries["totals"].engine == DeclaredEngine(
        "kubeflow",
        "k8s",
        {"manifest": "/lake/totals.yaml"},
        StopRule(120, "interrupt"),
        StartRule(600, "stop"),
        "shop",
        "/lake",
    )
    assert parse_query_file(WHOLE).queries["orders"].engine is None


def test_the_engine_of_the_defaults_has_the_application_of_each_query():
    engine = parse_query_file(COMMAND).queries["orders"].engine
    assert engine is not None
    assert (engine.name, engine.stop.wait_for_batch_s) == ("command", 300)
    assert engine.application == {
        "status": ("./s",),
        "end": ("./e", "{run}"),
        "start": ("./b", "{token}"),
        "states": {"UP": "live"},
        "timeout": 30,
    }


@pytest.mark.parametrize("name", ENGINES)
def test_what_an_engine_needs_is_among_its_keys(name):
    assert {*NEEDED[name]} <= {*ENGINES[name]}
