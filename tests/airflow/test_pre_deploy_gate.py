"""The DAG ``pre_deploy_gate`` in real runs: spark-submit, a checkpoint of Spark 4.3, and a person who approves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import read_run, run
from tests.airflow.spark_jobs import CONFS, JOB, PERSON

pytestmark = [pytest.mark.airflow, pytest.mark.spark]


def deploy(
    spark_env: dict[str, str], checkpoint: Path, *arguments: str, **confs: str
) -> subprocess.CompletedProcess[str]:
    """Run the DAG."""
    params = {
        "checkpoint": str(checkpoint),
        "backup_root": str(checkpoint.parent / "backups"),
        "application": str(JOB),
        "application_args": [str(checkpoint), *arguments],
        "confs": {**CONFS, **confs},
        "sources": ["rate-micro-batch"],
    }
    return run(["dags", "test", "pre_deploy_gate", "--conf", json.dumps(params)], spark_env, check=False)


def committed(checkpoint: Path) -> int | None:
    return observe(Store.open(str(checkpoint))).latest_committed


def test_a_deploy_that_goes_on_where_the_query_had_stopped(spark_env, golden):
    checkpoint = golden("rate-micro-batch")
    done = deploy(spark_env, checkpoint)
    states, values = read_run(spark_env, "pre_deploy_gate")
    assert states == {
        **dict.fromkeys(("gate", "backup", "restart", "wait", "continuity", "deployed"), "success"),
        **dict.fromkeys(("blocked", "went_wrong", "rollback_plan", "ask", "approve", "rollback"), "skipped"),
    }, done.stdout[-4000:] + done.stderr[-4000:]
    assert done.returncode == 0
    assert (values["gate"]["resumes_at_batch"], values["wait"]["batch_id"], committed(checkpoint)) == (5, 5, 5)
    assert (values["continuity"]["status"], values["continuity"]["findings"]) == ("continued", [])
    assert values["backup"]["batch_id"] == 4


def test_a_deploy_that_the_gate_stops_touches_nothing(spark_env, golden):
    """The confs are those of the task that would restart the query."""
    checkpoint = golden("agg-hdfs")
    before = sorted(checkpoint.rglob("*"))
    done = deploy(spark_env, checkpoint, **{"spark.sql.shuffle.partitions": "8"})
    states, values = read_run(spark_env, "pre_deploy_gate")
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
def test_what_was_approved_is_refused_when_the_query_has_run_since(spark_env, golden):
    """Not planned anew: a rollback of more batches than the person has seen."""
    checkpoint = golden("rate-micro-batch")
    others = OTHER_BATCHES.format(path=str(checkpoint))
    at = "with create_session() as session:\n    answer"
    person = subprocess.Popen([sys.executable, "-c", PERSON.replace(at, f"{others}\n{at}")], env=spark_env)
    try:
        done = deploy(spark_env, checkpoint, "--fail")
    finally:
        person.terminate()
    states, values = read_run(spark_env, "pre_deploy_gate")
    assert (states["approve"], states["rollback"]) == ("success", "failed"), done.stdout[-4000:]
    assert values["rollback_plan"]["accept_sink"] == ["unknown"]
    assert "STALE_PLAN" in done.stdout + done.stderr
    assert committed(checkpoint) == 7 and not list((checkpoint.parent / "_ckpt_undo").glob("*/*/saved"))
    left = files(checkpoint)
    assert {"commits/5", "commits/6", "commits/7", "offsets/5", "offsets/6", "offsets/7"} <= left.keys()


@pytest.mark.exhaustive
def test_a_deploy_that_fails_is_rolled_back_when_a_person_approves(spark_env, golden):
    checkpoint = golden("rate-micro-batch")
    person = subprocess.Popen([sys.executable, "-c", PERSON], env=spark_env, stdout=subprocess.PIPE, text=True)
    try:
        done = deploy(spark_env, checkpoint, "--fail")
    finally:
        person.terminate()
    asked, _ = person.communicate()
    assert "goes back to batch 4, the last one before the deploy" in asked
    assert "Approve only when the query is stopped" in asked
    assert "Sink effect: **unknown**. To approve is to accept that." in asked
    states, values = read_run(spark_env, "pre_deploy_gate")
    assert states == {
        **dict.fromkeys(("gate", "backup", "went_wrong", "rollback_plan", "ask", "approve", "rollback"), "success"),
        **dict.fromkeys(("continuity", "deployed"), "upstream_failed"),
        **dict.fromkeys(("restart", "wait"), "failed"),
        "blocked": "skipped",
    }, done.stdout[-4000:] + done.stderr[-4000:]
    assert done.returncode == 1, "a deploy that was rolled back is not a success"
    assert values["rollback_plan"]["actions"] > 0 and values["rollback_plan"]["receipt"] is None
    assert values["rollback"]["receipt"] and committed(checkpoint) == 4
    assert values["rollback_plan"]["notes"][0] == "Batch 4 was the newest committed one when the bookmark was taken."
    (change,) = history(Store.open(str(checkpoint)))
    assert (change.plan.plan_id, change.approved_by) == (values["rollback_plan"]["plan_id"], "admin")
    assert change.accepted_sink == ("unknown",)
