"""Real ``airflow dags test`` runs, on local disk and on S3, and what Airflow says of the provider."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import airflow.sdk
import pytest

from airflow_provider_ckpt.hooks.links import page_link
from tests.airflow.all_operators import CONF, check_outcome, connection
from tests.airflow.conftest import ROOT, run, start

pytestmark = pytest.mark.airflow


def test_every_operator_on_local_disk_with_a_wait_that_defers(airflow_env, goldens, tmp_path):
    """The last batches appear while the deferred sensor waits."""
    base = tmp_path / "lake"
    shutil.copytree(goldens["4.3.0/agg-hdfs"] / "checkpoint", base / "cp")
    late = [base / "cp" / "commits" / name for name in ("6", ".6.crc", "7", ".7.crc")]
    conf = {**CONF, "offsets": '{"0": {"logOffset": 5}}', "watermark": "2026-01-01T00:00:20+00:00"}
    for path in late:
        path.rename(tmp_path / path.name)

    env = {**airflow_env, "AIRFLOW_CONN_LAKE": connection(str(base))}
    running = start(["dags", "test", "all_operators", "--conf", json.dumps(conf)], env)
    while not running.has_ended() and "running trigger in line" not in running.said():
        time.sleep(0.1)
    for path in late:
        shutil.copy(tmp_path / path.name, path)
    assert running.result().returncode == 0, running.said()[-4000:]
    assert "running trigger in line" in running.said()
    check_outcome(str(base))
    with closing(sqlite3.connect(Path(env["AIRFLOW_HOME"]) / "airflow.db")) as db:
        rows = db.execute(
            "select task_id, value from xcom where key = '_link_checkpoint_0' and dag_id = 'all_operators'"
        )
        links = {task_id: json.loads(value) for task_id, value in rows}
    others = {"restore": "restored"}
    tasks = ("poke", "reschedule", "deferred", "gate", "check", "backup", "verify", "rollback", "restore")
    assert links == {task: page_link(f"{base}/{others.get(task, 'cp')}") for task in tasks}


@pytest.mark.s3
def test_every_operator_on_s3(airflow_env, goldens, s3_server, s3_store):
    options = {"key": "test", "secret": "test", "endpoint_url": s3_server}
    store = s3_store("cp")
    source = goldens["4.3.0/agg-hdfs"] / "checkpoint"
    for path in source.rglob("*"):
        if path.is_file() and not path.name.endswith(".crc"):
            store.create(path.relative_to(source).as_posix(), path.read_bytes())
    base = store.location.rpartition("/")[0]
    env = {**airflow_env, "AIRFLOW_CONN_LAKE": connection(base, **options)}
    run(["dags", "test", "all_operators", "--conf", json.dumps(CONF)], env)
    check_outcome(base, **options)


@pytest.mark.exhaustive
def test_a_deferred_wait_that_meets_its_deadline_fails(airflow_env, goldens):
    conf = {"checkpoint": str(goldens["4.3.0/agg-hdfs"] / "checkpoint")}
    done = run(["dags", "test", "waits_too_long", "--conf", json.dumps(conf)], airflow_env, check=False)
    assert done.returncode == 1 and "was not met" in done.stdout + done.stderr


@pytest.mark.exhaustive
def test_a_wait_on_a_damaged_checkpoint_fails_and_says_why(airflow_env, golden):
    checkpoint = golden("agg-hdfs")
    (checkpoint / "offsets" / "7").write_bytes(b"nonsense")
    conf = {"checkpoint": str(checkpoint)}
    done = run(["dags", "test", "waits_for_watermark", "--conf", json.dumps(conf)], airflow_env, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 1 and "MALFORMED_ENTRY" in output and "offsets/7" in output


def test_airflow_finds_the_provider(airflow_env):
    from airflow.providers_manager import ProvidersManager

    assert ProvidersManager().providers["airflow-provider-ckpt"].version == "0.1.0"
    hooks = run(["providers", "hooks", "-o", "json"], airflow_env).stdout
    assert "airflow_provider_ckpt.hooks.checkpoint.CheckpointHook" in hooks


def test_the_provider_info_fits_airflows_schema():
    import airflow
    from jsonschema import validate

    from airflow_provider_ckpt.get_provider_info import get_provider_info

    schema = json.loads((Path(airflow.__file__).parent / "provider_info.schema.json").read_text())
    validate(get_provider_info(), schema)


def test_every_dag_of_the_project_loads(airflow_env):
    env = {**airflow_env, "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags")}
    listed = run(["dags", "list", "--local", "-o", "json"], env, check=False)
    missing = {path.name for path in (ROOT / "dags").glob("*.py") if f'{path.name}"' not in listed.stdout}
    assert missing == (set() if hasattr(airflow.sdk, "RollupMapper") else {"stream_windows.py"}), listed.stderr
