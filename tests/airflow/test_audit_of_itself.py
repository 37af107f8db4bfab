"""The audit's own stream, looked after by the DAGs of the project: gated, backed up, waited for and rolled back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.epochs.read import read_table
from airflow_provider_ckpt.epochs.rewind import rewind
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import read_run, run
from tests.airflow.spark_jobs import CONFS, PERSON
from tests.history.fleet_story import FleetStory

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

#: As docs/pipeline.md gives it to spark-submit.
APPLICATION = "from airflow_provider_ckpt.spark.audit import main\nmain()\n"


def batches_of(home: Path) -> Counter[tuple[str, int]]:
    """How often the history has each batch of each checkpoint."""
    import pyarrow.parquet

    found: Counter[tuple[str, int]] = Counter()
    for file in read_table(Store.open(str(home / "history"))).files:
        rows = pyarrow.parquet.read_table(home / "history" / file.name, columns=["location", "batch_id"])
        found.update((Path(row["location"]).name, row["batch_id"]) for row in rows.to_pylist())
    return found


def once(story: FleetStory) -> Counter[tuple[str, int]]:
    return Counter((name, batch_id) for name, log in story.logs.items() for batch_id in log)


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_the_stream_of_the_audit_goes_through_the_dags_like_any_other(spark_env, tmp_path):
    story, home = FleetStory(tmp_path / "fleet"), tmp_path / "home"
    application = tmp_path / "audit.py"
    application.write_text(APPLICATION)
    checkpoint = home / "checkpoint"
    params = {
        "checkpoint": str(checkpoint),
        "backup_root": str(tmp_path / "backups"),
        "application": str(application),
        "application_args": [str(tmp_path / "fleet"), "--home", str(home)],
        "confs": CONFS,
    }

    story.commit("orders", 3)
    story.commit("clicks", 2)
    first = {"roots": [str(tmp_path / "fleet")], "home": str(home)}
    done = run(["dags", "test", "checkpoint_audit", "--conf", json.dumps(first)], spark_env)
    assert batches_of(home) == once(story), done.stdout[-3000:]

    story.commit("orders", 2)
    deploy = {**params, "sources": ["checkpoint"], "sink": f"history:{home}/history"}
    done = run(["dags", "test", "pre_deploy_gate", "--conf", json.dumps(deploy)], spark_env, check=False)
    states, values = read_run(spark_env, "pre_deploy_gate")
    assert states["deployed"] == "success", done.stdout[-4000:] + done.stderr[-4000:]
    assert (values["backup"]["batch_id"], values["wait"]["batch_id"], values["continuity"]["status"]) == (
        0,
        1,
        "continued",
    )
    assert batches_of(home) == once(story)

    rewind(Store.open(str(home / "history")), observe(Store.open(str(checkpoint))).query_id or "", 0)
    back = {**params, "to_batch": 0, "sources": {"0": "checkpoint"}, "sink": f"history:{home}/history"}
    del back["backup_root"]
    person = subprocess.Popen([sys.executable, "-c", PERSON], env=spark_env, stdout=subprocess.PIPE, text=True)
    try:
        done = run(["dags", "test", "checkpoint_rollback", "--conf", json.dumps(back)], spark_env, check=False)
    finally:
        person.terminate()
    asked = person.communicate()[0]
    states, values = read_run(spark_env, "checkpoint_rollback")
    assert set(states.values()) == {"success"}, done.stdout[-4000:] + done.stderr[-4000:]
    assert "Sink effect: **exact**" in asked and values["wait"]["batch_id"] == 1
    assert batches_of(home) == once(story), "each batch is in the history once, also those that were written anew"
    assert "<b>2</b>queries" in (home / "audit.html").read_text()
