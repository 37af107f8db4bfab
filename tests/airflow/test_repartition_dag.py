"""The DAG ``checkpoint_repartition``: a real query, a person who approves, and Spark on the worker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import HERE, read_run, run
from tests.airflow.jobs.counting_job import run_once
from tests.airflow.spark_jobs import CONFS, PERSON

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

JOB = HERE / "jobs" / "counting_job.py"
TASKS = ("stop", "plan", "approve", "backup", "repartition", "start", "restarts", "restart", "wait")
BATCHES = 2


def sums(numbers: int) -> dict[str, int]:
    """What the query of ``counting_job.py`` makes of the numbers from 0 on."""
    return {str(remainder): sum(range(remainder, numbers, 5)) for remainder in range(5)}


@pytest.fixture
def query(spark, tmp_path) -> tuple[Path, Path]:
    """The checkpoint and the result of a query that has stopped after two batches of five numbers."""
    checkpoint, result = tmp_path / "checkpoint", tmp_path / "result.json"
    for _ in range(BATCHES):
        run_once(spark.newSession(), str(checkpoint), str(result))
    assert json.loads(result.read_text()) == sums(5 * BATCHES)
    return checkpoint, result


def repartition(
    spark_env: dict[str, str], query: tuple[Path, Path], person: str = PERSON
) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run the DAG with somebody who answers; the process, and what that person was shown."""
    checkpoint, result = query
    params = {
        "checkpoint": str(checkpoint),
        "partitions": 5,
        "sink": "foreachBatch",
        "backup_root": str(checkpoint.parent / "backups"),
        "spark_confs": CONFS,
        "application": str(JOB),
        "application_args": [str(checkpoint), str(result)],
        "confs": CONFS,
    }
    answering = subprocess.Popen([sys.executable, "-c", person], env=spark_env, stdout=subprocess.PIPE, text=True)
    try:
        done = run(["dags", "test", "checkpoint_repartition", "--conf", json.dumps(params)], spark_env, check=False)
    finally:
        answering.terminate()
    return done, answering.communicate()[0]


@pytest.mark.exhaustive
def test_the_plan_that_a_person_approved_is_applied_and_the_query_goes_on_right(spark_env, query):
    checkpoint, result = query
    done, asked = repartition(spark_env, query)
    states, values = read_run(spark_env, "checkpoint_repartition")
    assert states == dict.fromkeys(TASKS, "success"), done.stdout[-4000:] + done.stderr[-4000:]
    assert "to 5 partitions" in asked and "Sink effect: **exact**" in asked
    assert "partitions instead of 2" in asked and "Approve only when the query is stopped" in asked
    assert values["backup"]["batch_id"] == BATCHES - 1
    assert values["repartition"]["plan_id"] == values["plan"]["plan_id"], "what was approved is what ran"
    (change,) = history(Store.open(str(checkpoint)))
    assert (change.state, change.plan.partitions, change.approved_by) == ("applied", 5, "admin")
    assert change.by.startswith("checkpoint_repartition/") and change.by.endswith("/repartition")
    view = observe(Store.open(str(checkpoint)))
    assert values["wait"]["batch_id"] == BATCHES + 1 == view.latest_committed
    assert view.partitions_of(BATCHES + 1) == 5
    assert json.loads(result.read_text()) == sums(5 * (BATCHES + 1))


#: One who starts the query between the question and the answer; it commits a batch, and stops.
STARTS_THE_QUERY = """
import subprocess, sys
subprocess.run([sys.executable, {job!r}, {checkpoint!r}, {result!r}], check=True)
"""


@pytest.mark.exhaustive
def test_what_was_approved_is_refused_when_the_query_has_run_since(spark_env, query):
    checkpoint, result = query
    starts = STARTS_THE_QUERY.format(job=str(JOB), checkpoint=str(checkpoint), result=str(result))
    at = "with create_session() as session:\n    answer"
    assert at in PERSON
    done, _ = repartition(spark_env, query, PERSON.replace(at, f"{starts}\n{at}"))
    states, _ = read_run(spark_env, "checkpoint_repartition")
    assert (states["approve"], states["repartition"], states["restart"]) == ("success", "failed", "upstream_failed")
    assert "STALE_PLAN" in done.stdout + done.stderr
    view = observe(Store.open(str(checkpoint)))
    assert (view.latest_committed, view.partitions_of(BATCHES)) == (BATCHES, 2), "its batch, and nothing else"
