"""The DAG ``checkpoint_rollback`` in a real run: a person approves, exactly that plan is applied, the query restarts."""

from __future__ import annotations

import json
import subprocess
import sys
from urllib.parse import parse_qs, urlsplit

import pytest

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import read_run, run
from tests.airflow.spark_jobs import CONFS, JOB, PERSON

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

TASKS = ("stop", "plan", "ask", "approve", "rollback", "start", "restarts", "restart", "wait")
#: One who changes the checkpoint between the plan and the approval.
MEDDLER = """
from pathlib import Path
Path({path!r}).write_bytes(b"v1\\n" + b'{{"nextBatchWatermarkMs":1}}')
"""


def roll_back(spark_env, checkpoint, person: str, **params) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run the DAG with somebody who answers; the process, and what that person was shown."""
    conf = {
        "checkpoint": str(checkpoint),
        "application": str(JOB),
        "application_args": [str(checkpoint)],
        "confs": CONFS,
        "sources": {"0": "rate-micro-batch"},
        **params,
    }
    answering = subprocess.Popen([sys.executable, "-c", person], env=spark_env, stdout=subprocess.PIPE, text=True)
    try:
        done = run(["dags", "test", "checkpoint_rollback", "--conf", json.dumps(conf)], spark_env, check=False)
    finally:
        answering.terminate()
    return done, answering.communicate()[0]


def test_the_plan_that_a_person_approved_is_applied_and_the_query_goes_on(spark_env, golden):
    """Back to the offset 15 of a source that reads five rows a batch, which is after batch 2."""
    checkpoint = golden("rate-micro-batch")
    done, asked = roll_back(
        spark_env, checkpoint, PERSON, to_offsets={"0": {"offset": 15, "timestamp": 0}}, sink="kafka"
    )
    states, values = read_run(spark_env, "checkpoint_rollback")
    said = done.stdout[-4000:] + done.stderr[-4000:]
    assert states == dict.fromkeys(TASKS, "success"), said
    assert "Sink effect: **duplicated**. To approve is to accept that." in asked
    assert "newest committed one that has not read beyond" in asked and "is read again" in asked
    assert "Sink kafka" in asked and "Approve only when the query is stopped" in asked
    link = asked.partition("[Show every step](")[2].partition(")")[0]
    assert parse_qs(urlsplit(link).query) == {
        "kind": ["rollback"],
        "at": [str(checkpoint)],
        "to_offsets": ['{"0": {"offset": 15, "timestamp": 0}}'],
        "sources": ['{"0": "rate-micro-batch"}'],
        "sink": ["kafka"],
    }
    assert urlsplit(link).path == "plugin/checkpoints"
    kept = values["plan"]["batch_id"]
    assert values["rollback"]["plan_id"] == values["plan"]["plan_id"], "what was approved is what ran"
    changes = history(Store.open(str(checkpoint)))
    assert [(change.state, change.plan.batch_id) for change in changes] == [("applied", kept)]
    assert changes[0].by.startswith("checkpoint_rollback/") and changes[0].by.endswith("/rollback")
    assert (changes[0].approved_by, changes[0].accepted_sink) == ("admin", ("duplicated",)), "the history names both"
    assert values["wait"]["batch_id"] == kept + 1 == observe(Store.open(str(checkpoint))).latest_committed


@pytest.mark.exhaustive
def test_a_plan_of_no_steps_asks_nobody(spark_env, golden):
    checkpoint = golden("rate-micro-batch")
    done, asked = roll_back(spark_env, checkpoint, "", to_batch=4)
    states, values = read_run(spark_env, "checkpoint_rollback")
    assert states["approve"] == "skipped" and asked == "", done.stdout[-4000:] + done.stderr[-4000:]
    assert {states[name] for name in set(TASKS) - {"approve"}} == {"success"}
    assert (values["plan"]["actions"], values["rollback"]["receipt"]["actions"], values["wait"]["batch_id"]) == (
        0,
        0,
        5,
    )
    assert history(Store.open(str(checkpoint))) == ()


@pytest.mark.exhaustive
def test_a_plan_that_went_stale_while_a_person_thought_is_refused(spark_env, golden):
    checkpoint = golden("rate-micro-batch")
    meddler = MEDDLER.format(path=str(checkpoint / "commits" / "4"))
    person = PERSON.replace(
        "with create_session() as session:\n    answer", f"{meddler}\nwith create_session() as session:\n    answer"
    )
    done, _ = roll_back(spark_env, checkpoint, person, to_batch=2)
    states, _ = read_run(spark_env, "checkpoint_rollback")
    assert states["approve"] == "success" and states["rollback"] == "failed", done.stdout[-4000:]
    assert "STALE_PLAN" in done.stdout + done.stderr
    assert states["restarts"] == states["restart"] == states["wait"] == "upstream_failed"
    assert observe(Store.open(str(checkpoint))).latest_committed == 4, "nothing was done"
