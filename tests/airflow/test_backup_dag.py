"""``dags/checkpoint_backup.py`` with real ``airflow dags test`` runs over a fleet, rehearsed by a real Spark."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime

import pytest

from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.backup.take import take_backup
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import ROOT, read_run, run
from tests.backup_lab import assert_whole
from tests.fleets import damage

pytestmark = pytest.mark.airflow


@pytest.fixture
def dag_run(airflow_env, tmp_path):
    """Runs the DAG over a root below the base of a connection; gives exit code, states and results of the tasks."""
    connection = json.dumps({"conn_type": "checkpoint", "host": str(tmp_path)})
    env = {
        **airflow_env,
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW_CONN_LAKE": connection,
        "AIRFLOW__CORE__DEFAULT_TASK_RETRIES": "0",
    }

    def execute(**params: object) -> tuple[int, dict[str, str], dict[str, object]]:
        conf = {"roots": ["fleet"], "backup_root": "backups", "checkpoint_conn_id": "lake", **params}
        done = run(["dags", "test", "checkpoint_backup", "--conf", json.dumps(conf)], env, check=False)
        states, values = read_run(env, "checkpoint_backup")
        assert states, done.stdout[-4000:] + done.stderr[-4000:]
        return done.returncode, states, values

    return execute


def test_a_fleet_is_backed_up_pruned_and_rehearsed(dag_run, goldens, tmp_path):
    for name in ("orders", "team/logs"):
        shutil.copytree(goldens["4.3.0/agg-hdfs"] / "checkpoint", tmp_path / "fleet" / name)
    root = Store.open(str(tmp_path / "backups"))
    for _ in range(6):
        take_backup(Store.open(str(tmp_path / "fleet" / "orders")), root)

    code, states, values = dag_run(rehearsal_weekday=datetime.now(UTC).isoweekday(), tags=["before-release"])
    assert code == 0 and set(states.values()) == {"success"}, states
    left = assert_whole(root)
    taken = [item for item in left if item.tags == ("before-release",)]
    assert {item.location for item in taken} == {str(tmp_path / "fleet" / name) for name in ("orders", "team/logs")}
    receipt = values["prune"]["receipt"]
    assert len(receipt["dropped"]) > 0 and len(left) + len(receipt["dropped"]) == 8
    assert '"rows": ' in json.dumps(values["rehearse"]["rehearsal"]), "a real Spark has read the state"


@pytest.mark.exhaustive
def test_a_checkpoint_that_cannot_be_backed_up_fails_the_run_and_stops_no_other(dag_run, goldens, tmp_path):
    for name in ("a", "b"):
        shutil.copytree(goldens["4.3.0/agg-hdfs"] / "checkpoint", tmp_path / "fleet" / name)
    damage(tmp_path / "fleet" / "a" / "offsets" / "7")
    code, states, _ = dag_run(rehearsal_weekday=None)
    assert code == 1
    assert [item.location for item in list_backups(Store.open(str(tmp_path / "backups")))] == [
        str(tmp_path / "fleet" / "b")
    ]
    assert states["prune"] == "success" and states["nothing_was_left_out"] == "upstream_failed"
