"""A task that fails in a real Airflow, where its log is on no disk: ``make failures`` has those of a real scheduler."""

from __future__ import annotations

import json

import pytest

from tests.airflow.conftest import HERE, run

pytestmark = pytest.mark.airflow


def test_the_notifier_says_what_it_knows_and_what_it_cannot_read(airflow_env):
    env = {**airflow_env, "AIRFLOW__CORE__DAGS_FOLDER": str(HERE / "dags")}
    done = run(["dags", "test", "explained", "--conf", json.dumps({"checkpoint": "/nowhere"})], env, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "failed: ckpt does not know why, and does not guess" in said
    assert "The log cannot be read: " in said and "Only the exception of the task was explained." in said
    assert "Not known: ValueError" in said
    assert "TOLD explained.fails (run " in said
