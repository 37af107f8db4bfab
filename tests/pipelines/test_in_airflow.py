"""A gate, a run over a Connect server, and the check of continuity, in a real Airflow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.airflow.conftest import airflow_database, airflow_env, read_run, run
from tests.pipelines.lab import Pipeline
from tests.pipelines.server import connect_server

__all__ = ["airflow_database", "airflow_env"]
FILE = """format_version: 1
defaults: {{spark_version: "4.3"}}
pipelines: {{shop: {{spec: {root}/spark-pipeline.yml, remote: "sc://localhost:{port}"}}}}
"""


@pytest.fixture
def daily(airflow_env, tmp_path):
    """A pipeline, and what runs its DAG once: the exit code, the states of its tasks, what they return, and the log."""
    made = Pipeline(tmp_path / "shop")
    made.root.mkdir()
    with connect_server(made.root) as port:
        (made.root / "ckpt.yaml").write_text(FILE.format(root=made.root, port=port))
        env = {
            **airflow_env,
            "AIRFLOW__CORE__DAGS_FOLDER": str(Path(__file__).parent / "dags"),
            "AIRFLOW__CKPT__FILE": str(made.root / "ckpt.yaml"),
            "AIRFLOW_CONN_SPARK_CONNECT": json.dumps(
                {"conn_type": "spark_connect", "host": "sc://localhost", "port": port}
            ),
            "PIPELINE": str(made.root),
        }

        def once():
            made.write()
            done = run(["dags", "test", "pipeline"], env, check=False)
            return done.returncode, *read_run(env, "pipeline"), done.stdout + done.stderr

        yield made, once


def statuses(values):
    return {name: fields["status"] for name, fields in values["gone_on"]["queries"].items()}


def test_a_pipeline_runs_between_its_gate_and_its_continuity(daily):
    made, once = daily
    made.add("in", range(4))
    code, states, values, log = once()
    assert code == 0, (states, log[-6_000:])
    assert [finding["code"] for finding in values["gate"]["findings"]] == ["CKPT209"], "nothing has run yet"
    assert statuses(values) == dict.fromkeys(("shop.bronze", "shop.silver", "shop.to_out"), "continued")
    made.add("in", range(4, 8))
    code, states, values, log = once()
    assert (code, values["gate"]["findings"]) == (0, []), (states, log[-6_000:])
    assert statuses(values) == dict.fromkeys(("shop.bronze", "shop.silver", "shop.to_out"), "continued")
    assert made.rows(made.table("bronze")) == made.rows(made.table("silver")) == list(range(8))
    assert statuses(once()[2]) == dict.fromkeys(("shop.bronze", "shop.silver", "shop.to_out"), "idle")
    made.flows = {"orders": "in"}  # a renamed flow never runs: it would lose all its rows
    code, states, values, log = once()
    assert (code, states["gate"], states["run"]) == (1, "failed", "upstream_failed"), log[-6_000:]
    assert not made.flow("bronze", "orders").exists()
    made.flows = {"early_files": "early", "late_files": "late"}
    code, states, values, log = once()
    assert (states["gate"], states["run"]) == ("failed", "upstream_failed"), log[-6_000:]
