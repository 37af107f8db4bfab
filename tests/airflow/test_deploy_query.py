"""The task groups of docs/how-to/deploy-in-airflow.md and their DAGs in a real Airflow on PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import airflow
import pytest
from packaging.version import Version

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import HERE, ROOT
from tests.airflow_stack import AirflowStack
from tests.postgres import cluster

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]

#: The state of a task that has asked a question; before Airflow 3.3 it waits for the answer in the triggerer.
ASKING = "awaiting_input" if Version(airflow.__version__) >= Version("3.3") else "deferred"
PRELOADED = """
import airflow.providers.standard.operators.hitl
import airflow_provider_ckpt.dags.deploy
"""


class Deploys:
    """An Airflow whose DAGs deploy queries below a place."""

    def __init__(self, stack: AirflowStack, place: Path) -> None:
        self.stack, self.place = stack, place

    def run(self, dag_id: str) -> Run:
        return Run(self, dag_id, self.stack.trigger(dag_id))

    def newest(self, name: str) -> int | None:
        return observe(Store.open(str(self.place / name))).latest_committed

    def done(self, name: str) -> list[str]:
        """What the steps have done to a query."""
        lines = (self.place / "done").read_text().splitlines() if (self.place / "done").exists() else []
        return [line.split()[0] for line in lines if line.split()[1] == name]


class Run:
    """A run of a DAG."""

    def __init__(self, deploys: Deploys, dag_id: str, run_id: str) -> None:
        self.stack, self.dag_id, self.run_id = deploys.stack, dag_id, run_id

    def answer(self, task_id: str, option: str) -> str:
        """Wait to be asked, and answer; what was shown."""
        self.stack.wait_for_task(self.dag_id, self.run_id, task_id, ASKING)
        log = self.stack.logs / "scheduler.log"

        def has_paused() -> bool:
            lines = log.read_text(errors="replace").splitlines()
            told = (f"task_id={task_id}, run_id={self.run_id},", f"dag_id={self.dag_id}", f"state={ASKING}")
            return any(all(part in line for part in told) for line in lines)

        self.stack.wait_for("the pause of the task", has_paused)
        path = f"/api/v2/dags/{self.dag_id}/dagRuns/{self.run_id}/taskInstances/{task_id}/-1/hitlDetails"
        shown = self.stack.request("GET", path)
        self.stack.request("PATCH", path, {"chosen_options": [option], "params_input": {}})
        return f"{shown['subject']}\n{shown['body']}"

    def states(self) -> dict[str, str | None]:
        """The states of its tasks when it has ended."""
        path = f"/dags/{self.dag_id}/dagRuns/{self.run_id}"
        self.stack.wait_for("the end", lambda: self.stack.get(path)["state"] in ("success", "failed"))
        found: list[dict[str, Any]] = self.stack.get(f"{path}/taskInstances")["task_instances"]
        return {item["task_id"]: item["state"] for item in found}


@pytest.fixture(scope="module")
def deploys(goldens, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deploys]:
    place, home = (tmp_path_factory.mktemp(name) for name in ("lake", "home"))
    for name in ("good", "bad.1", "asked", "back"):
        shutil.copytree(goldens["4.3.0/rate-micro-batch"] / "checkpoint", place / name)
    shutil.copytree(goldens["4.3.0/agg-hdfs"] / "checkpoint", place / "closed")
    (home / "config").mkdir()
    (home / "config" / "airflow_local_settings.py").write_text(PRELOADED)
    env = {
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
        "DEPLOYS_HOME": str(place),
        "PYTHONPATH": str(ROOT),
    }
    with cluster() as database:
        stack = AirflowStack(home, HERE / "deploy_dags", env, database=database)
        try:
            yield Deploys(stack.start(), place)
        finally:
            stack.stop()


WAY_BACK = ("went_wrong", "stop_again", "rollback_plan", "ask", "approve", "rollback", "start_previous")


def test_a_good_deploy_stops_starts_and_is_proven(deploys):
    assert deploys.run("deploy_good").states() == {
        **dict.fromkeys(("gate", "backup", "stop", "start", "wait", "continuity", "deployed"), "success"),
        **dict.fromkeys(("blocked", *WAY_BACK), "skipped"),
    }
    assert (deploys.done("good"), deploys.newest("good")) == (["stop", "start"], 5)


def test_a_bad_one_is_stopped_again_and_goes_back_when_a_person_approves(deploys):
    run = deploys.run("deploy_bad__1")
    asked = run.answer("approve", "Approve")
    assert "goes back to batch 4, the last one before the deploy,\nin" in asked
    states = run.states()
    assert {states.pop("wait"), states.pop("continuity")} <= {"success", "failed", "upstream_failed"}
    assert states == {
        **dict.fromkeys(("gate", "backup", "stop", *WAY_BACK), "success"),
        "start": "failed",
        "deployed": "upstream_failed",
        "blocked": "skipped",
    }
    assert deploys.done("bad.1") == ["stop", "start", "stop", "start"]
    (change,) = history(Store.open(str(deploys.place / "bad.1")))
    assert (change.plan.batch_id, change.approved_by, deploys.newest("bad.1")) == (4, "admin", 5)


def test_a_closed_gate_stops_nothing(deploys):
    states = deploys.run("deploy_closed").states()
    assert (states.pop("gate"), states.pop("blocked")) == ("success", "failed") and {*states.values()} == {"skipped"}
    assert deploys.done("closed") == []


def test_a_person_who_is_asked_for_the_steps_may_refuse_the_first(deploys):
    run = deploys.run("asked")
    shown = run.answer("deploy.stop", "Reject")
    assert "Stop the query" in shown and str(deploys.place / "asked") in shown
    states = run.states()
    assert (states["deploy.stop"], states["deploy.start"], states["then"]) == (
        *("failed", "upstream_failed", "upstream_failed"),
    )
    assert states["deploy.rollback"] == "upstream_failed" and deploys.newest("asked") == 4


def test_what_comes_after_the_group_comes_after_a_good_deploy(deploys):
    run = deploys.run("asked")
    run.answer("deploy.stop", "Approve")
    run.stack.wait_for_task("asked", run.run_id, "deploy.start", ASKING)
    checkpoint = deploys.place / "asked"
    for log in ("offsets", "commits"):
        (checkpoint / log / "5").write_bytes((checkpoint / log / "4").read_bytes())
    run.answer("deploy.start", "Approve")
    states = run.states()
    assert (states["deploy.deployed"], states["then"], states["deploy.rollback"]) == ("success", "success", "skipped")


def test_a_rollback_stops_goes_back_when_a_person_approves_and_starts(deploys):
    run = deploys.run("back")
    asked = run.answer("roll_back_back.approve", "Approve")
    assert "Sink effect: **duplicated**" in asked
    assert {*run.states().values()} == {"success"}
    assert (deploys.done("back"), deploys.newest("back")) == (["stop", "start"], 3)
