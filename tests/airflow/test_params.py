"""Params of the DAGs in what Airflow renders natively: a text that looks like a number stays a text."""

from __future__ import annotations

import runpy

import pytest
from jinja2.nativetypes import NativeEnvironment

from tests.airflow.conftest import ROOT

pytestmark = pytest.mark.airflow

GATES = ("pre_deploy_gate", "blue_green_deploy")


@pytest.mark.parametrize("dag", GATES)
@pytest.mark.parametrize(("given", "rendered"), [("4.3", "4.3"), ("4.10", "4.10"), ("4.3.0", "4.3.0"), (None, "")])
def test_a_spark_version_is_a_text(dag, given, rendered):
    template = runpy.run_path(str(ROOT / "dags" / f"{dag}.py"))["dag"].get_task("gate").spark_version
    found = NativeEnvironment().from_string(template).render(params={"spark_version": given})
    assert (found, type(found)) == (rendered, str)
