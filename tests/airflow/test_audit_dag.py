"""``dags/checkpoint_audit.py`` with a real ``airflow dags test`` run and a real Spark in it, on a fleet of two queries."""

from __future__ import annotations

import json

import pytest

from tests.airflow.conftest import ROOT, run
from tests.batches.fleet_story import FleetStory

pytestmark = pytest.mark.airflow


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_an_hour_of_a_fleet_is_a_page(airflow_env, tmp_path):
    story = FleetStory(tmp_path / "fleet")
    story.commit("orders", 3)
    story.commit("clicks", 2)
    env = {**airflow_env, "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags")}
    conf = {"roots": [str(tmp_path / "fleet")], "home": str(tmp_path / "home")}
    done = run(["dags", "test", "checkpoint_audit", "--conf", json.dumps(conf)], env)
    assert "state=success" in done.stdout + done.stderr
    page = (tmp_path / "home/audit.html").read_text()
    assert "<b>2</b>queries" in page and "<b>5</b>batches" in page


@pytest.mark.exhaustive
def test_a_run_without_roots_says_what_to_set(airflow_env):
    env = {**airflow_env, "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags")}
    done = run(["dags", "test", "checkpoint_audit"], env, check=False)
    assert "Set the params roots or queries, and home" in done.stdout + done.stderr
