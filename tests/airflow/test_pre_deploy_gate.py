"""The DAG ``pre_deploy_gate`` in real runs: spark-submit, a checkpoint of Spark 4.3, and a person who approves."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_ckpt import lifecycle
from airflow_provider_ckpt.store import Store
from tests.airflow.conftest import HERE, ROOT, read_run, run

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

JOB = HERE / "jobs" / "rate_job.py"
CONFS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # a short life needs no more
}
#: A person who waits to be asked and approves, through the route behind the button of the user interface.
PERSON = """
import time
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.api_fastapi.core_api.datamodels.hitl import UpdateHITLDetailPayload
from airflow.api_fastapi.core_api.routes.public.hitl import update_hitl_detail
from airflow.models.hitl import HITLDetail
from airflow.utils.session import create_session
from sqlalchemy import select

deadline, task = time.monotonic() + 200, None
while task is None or task.state != "awaiting_input":
    assert time.monotonic() < deadline, "nobody was asked"
    time.sleep(1)
    with create_session() as session:
        asked = session.scalar(select(HITLDetail).order_by(HITLDetail.created_at.desc()))
        task = asked and asked.task_instance
with create_session() as session:
    answer = UpdateHITLDetailPayload(chosen_options=["Approve"], params_input={})
    user = SimpleAuthManagerUser(username="admin", role="admin")
    update_hitl_detail(task.dag_id, task.run_id, task.task_id, answer, user, session)
print(asked.subject, asked.body)
"""


@pytest.fixture
def env(airflow_env: dict[str, str]) -> dict[str, str]:
    """Airflow with the DAGs of the project and a Spark on this machine."""
    if shutil.which("java") is None:
        pytest.fail("these tests submit to real Spark and need Java 17: apt-get install openjdk-17-jre-headless")
    spark = json.dumps({"conn_type": "spark", "host": "local[2]"})
    return {**airflow_env, "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"), "AIRFLOW_CONN_SPARK_DEFAULT": spark}


def deploy(env: dict[str, str], checkpoint: Path, *arguments: str, **confs: str) -> subprocess.CompletedProcess[str]:
    """Run the DAG."""
    params = {
        "checkpoint": str(checkpoint),
        "backup_root": str(checkpoint.parent / "backups"),
        "application": str(JOB),
        "application_args": [str(checkpoint), *arguments],
        "confs": {**CONFS, **confs},
        "sources": ["rate-micro-batch"],
    }
    return run(["dags", "test", "pre_deploy_gate", "--conf", json.dumps(params)], env, check=False)


def committed(checkpoint: Path) -> int | None:
    return lifecycle.observe(Store.open(str(checkpoint))).latest_committed


def test_a_deploy_that_goes_on_where_the_query_had_stopped(env, golden):
    checkpoint = golden("rate-micro-batch")
    done = deploy(env, checkpoint)
    states, values = read_run(env, "pre_deploy_gate")
    assert states == {
        **dict.fromkeys(("gate", "backup", "restart", "wait", "continuity", "deployed"), "success"),
        **dict.fromkeys(("blocked", "went_wrong", "rollback_plan", "ask", "approve", "rollback"), "skipped"),
    }, done.stdout[-4000:] + done.stderr[-4000:]
    assert done.returncode == 0
    assert (values["gate"]["resumes_at_batch"], values["wait"]["batch_id"], committed(checkpoint)) == (5, 5, 5)
    assert (values["continuity"]["verdict"], values["continuity"]["findings"]) == ("continued", [])
    assert values["backup"]["batch_id"] == 4


def test_a_deploy_that_the_gate_stops_touches_nothing(env, golden):
    """The confs are those of the task that would restart the query."""
    checkpoint = golden("agg-hdfs")
    before = sorted(checkpoint.rglob("*"))
    done = deploy(env, checkpoint, **{"spark.sql.shuffle.partitions": "8"})
    states, values = read_run(env, "pre_deploy_gate")
    assert done.returncode == 1 and "Spark will really use 2" in done.stdout + done.stderr
    assert (states.pop("gate"), states.pop("blocked")) == ("success", "failed")
    assert set(states.values()) == {"skipped"} and set(values) == {"gate"}
    assert values["gate"]["decision"] == "block" and sorted(checkpoint.rglob("*")) == before


#: Batches 5 to 7 commit between the question and the answer.
OTHER_BATCHES = """
from pathlib import Path
for batch in (5, 6, 7):
    for log in ("offsets", "commits"):
        newest = Path({path!r}) / log / "4"
        newest.with_name(str(batch)).write_bytes(newest.read_bytes())
"""


def files(checkpoint: Path) -> dict[str, bytes]:
    return {str(path.relative_to(checkpoint)): path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}


@pytest.mark.exhaustive
def test_what_was_approved_is_refused_when_the_query_has_run_since(env, golden):
    """Not planned anew: a rollback of more batches than the person has seen."""
    checkpoint = golden("rate-micro-batch")
    others = OTHER_BATCHES.format(path=str(checkpoint))
    at = "with create_session() as session:\n    answer"
    person = subprocess.Popen([sys.executable, "-c", PERSON.replace(at, f"{others}\n{at}")], env=env)
    try:
        done = deploy(env, checkpoint, "--fail")
    finally:
        person.terminate()
    states, values = read_run(env, "pre_deploy_gate")
    assert (states["approve"], states["rollback"]) == ("success", "failed"), done.stdout[-4000:]
    assert values["rollback_plan"]["accept"] == ["unknown"]
    assert "STALE_PLAN" in done.stdout + done.stderr
    assert committed(checkpoint) == 7 and not list((checkpoint.parent / "_ckpt_undo").glob("*/*/saved"))
    left = files(checkpoint)
    assert {"commits/5", "commits/6", "commits/7", "offsets/5", "offsets/6", "offsets/7"} <= left.keys()


@pytest.mark.exhaustive
def test_a_deploy_that_fails_is_rolled_back_when_a_person_approves(env, golden):
    checkpoint = golden("rate-micro-batch")
    person = subprocess.Popen([sys.executable, "-c", PERSON], env=env, stdout=subprocess.PIPE, text=True)
    try:
        done = deploy(env, checkpoint, "--fail")
    finally:
        person.terminate()
    asked, _ = person.communicate()
    assert "goes back to batch 4, the last one before the deploy" in asked
    assert "Approve only when the query is stopped" in asked
    assert "Sink effect: **unknown**. To approve is to accept that." in asked
    states, values = read_run(env, "pre_deploy_gate")
    assert states == {
        **dict.fromkeys(("gate", "backup", "went_wrong", "rollback_plan", "ask", "approve", "rollback"), "success"),
        **dict.fromkeys(("wait", "continuity", "deployed"), "upstream_failed"),
        "restart": "failed",
        "blocked": "skipped",
    }, done.stdout[-4000:] + done.stderr[-4000:]
    assert done.returncode == 1, "a deploy that was rolled back is not a success"
    assert values["rollback_plan"]["actions"] > 0 and values["rollback_plan"]["receipt"] is None
    assert values["rollback"]["receipt"] and committed(checkpoint) == 4
    (change,) = lifecycle.history(Store.open(str(checkpoint)))
    assert (change.plan.plan_id, change.approved_by) == (values["rollback_plan"]["plan_id"], "admin")
    assert change.accepted_sink == ("unknown",)
