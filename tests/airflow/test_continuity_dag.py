"""``dags/checkpoint_continuity.py`` with real ``airflow dags test`` runs, one after the other as a schedule would."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.airflow.conftest import ROOT, read_run, run

pytestmark = pytest.mark.airflow


@pytest.fixture
def look_back(airflow_env, tmp_path):
    """Runs the DAG over one checkpoint; gives its exit code, the verdict and the log."""
    env = {**airflow_env, "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags")}

    def dag_run(checkpoint: Path) -> tuple[int, str | None, str]:
        conf = json.dumps({"checkpoints": [str(checkpoint)]})
        done = run(["dags", "test", "checkpoint_continuity", "--conf", conf], env, check=False)
        verdict = read_run(env, "checkpoint_continuity")[1].get("look_back")
        return done.returncode, verdict and verdict["status"], done.stdout + done.stderr

    return dag_run


def drop_batch(checkpoint: Path, batch_id: int) -> None:
    for log in ("commits", "offsets"):
        (checkpoint / log / str(batch_id)).unlink()


def test_a_rollback_alerts(look_back, golden):
    checkpoint = golden("agg-hdfs")
    assert look_back(checkpoint)[:2] == (0, "begun")
    drop_batch(checkpoint, 7)
    code, verdict, log = look_back(checkpoint)
    assert (code, verdict) == (1, None) and "batch 7 was committed, but the newest committed batch is now 6" in log


@pytest.mark.exhaustive
def test_it_alerts_once_and_goes_on(look_back, golden):
    checkpoint = golden("agg-hdfs")
    shutil.copytree(checkpoint, whole := checkpoint.with_name("whole"))
    drop_batch(checkpoint, 7)
    assert look_back(checkpoint)[:2] == (0, "begun")
    assert look_back(checkpoint)[:2] == (0, "pending")
    for log in ("commits", "offsets"):
        shutil.copy(whole / log / "7", checkpoint / log / "7")
    assert look_back(checkpoint)[:2] == (0, "continued")
    drop_batch(checkpoint, 7)
    assert look_back(checkpoint)[0] == 1
    assert look_back(checkpoint)[:2] == (0, "pending"), "told once"
