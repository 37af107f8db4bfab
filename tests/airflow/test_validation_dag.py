"""``dags/checkpoint_validation.py`` with real ``airflow dags test`` runs, one after the other as a schedule would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.airflow.conftest import ROOT, run
from tests.fleets import damage, make_fleet

pytestmark = pytest.mark.airflow


@pytest.fixture
def validate(airflow_env, tmp_path):
    """Runs the DAG over two roots below the base of a connection; gives its exit code and its log."""
    connection = json.dumps({"conn_type": "checkpoint", "host": str(tmp_path)})
    env = {**airflow_env, "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"), "AIRFLOW_CONN_LAKE": connection}

    def dag_run(**params: object) -> tuple[int, str]:
        conf = {"roots": ["orders", "logs"], "checkpoint_conn_id": "lake", "group_size": 2, **params}
        done = run(["dags", "test", "checkpoint_validation", "--conf", json.dumps(conf)], env, check=False)
        return done.returncode, done.stdout + done.stderr

    return dag_run


def news(log: str) -> list[str]:
    """What the alert said."""
    lines = log.partition("AirflowFailException: ")[2].splitlines()
    count = int(lines[0].split()[0])
    return lines[1 : count + 1]


def test_only_what_is_new_alerts(validate, goldens, tmp_path):
    source = goldens["4.3.0/agg-hdfs"] / "checkpoint"
    make_fleet(source, tmp_path / "orders", ["a", "b", "c/d"])
    make_fleet(source, tmp_path / "logs", ["e"])
    damaged = tmp_path / "orders" / "c" / "d"
    damage(damaged / "offsets" / "7")

    code, log = validate()
    assert code == 1 and [line.split(":")[0] for line in news(log)] == [str(damaged)]
    assert "offsets/7" in news(log)[0] and "CKPT102" in news(log)[0]
    assert log.count("end task task_id=check_group") == 3, "two groups of orders, one of logs"

    code, log = validate()
    assert code == 0 and "Nothing new in 4 checkpoints" in log

    damage(damaged / "commits" / "7")
    (tmp_path / "logs" / "e" / "metadata").unlink()
    code, log = validate()
    told = news(log)
    assert code == 1 and len(told) == 2 and "commits/7" in told[0] and "CKPT104" in told[1]


@pytest.mark.exhaustive
def test_roots_without_checkpoints_are_nothing_new(validate, tmp_path):
    for root in ("orders", "logs"):
        (tmp_path / root).mkdir()
    code, log = validate()
    assert code == 0 and "Nothing new in 0 checkpoints" in log


@pytest.mark.exhaustive
def test_a_root_that_is_not_there_fails(validate):
    code, log = validate()
    assert code == 1 and "NOT_FOUND" in log and str(Path("orders")) in log


@pytest.mark.exhaustive
def test_no_roots_fail_and_say_what_to_set(validate):
    code, log = validate(roots=[])
    assert code == 1 and "CKPT_VALIDATION_ROOTS" in log
