"""The task groups of docs/how-to/deploy-in-airflow.md and their DAGs, of queries of the file and of locations."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.by_name.table import Table
from tests.airflow.dag_runs import ASKING, Run
from tests.airflow_stack import AirflowStack

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]


class Deploys:
    """An Airflow whose DAGs deploy queries below a place."""

    def __init__(self, stack: AirflowStack, place: Path, table: Table) -> None:
        self.stack, self.place, self.table = stack, place, table

    def run(self, dag_id: str) -> Run:
        return Run(self.stack, dag_id)

    def newest(self, name: str) -> int | None:
        return observe(Store.open(str(self.place / name))).latest_committed

    def done(self, name: str) -> list[str]:
        """What the steps have done to a query."""
        lines = (self.place / "done").read_text().splitlines() if (self.place / "done").exists() else []
        return [line.split()[0] for line in lines if line.split()[1] == name]


@pytest.fixture(scope="module")
def deploys(stack, place, table) -> Deploys:
    return Deploys(stack, place, table)


WAY_BACK = ("went_wrong", "stop_again", "rollback_plan", "ask", "approve", "rollback", "start_previous")


def test_a_good_deploy_stops_starts_and_is_proven(deploys):
    run = deploys.run("deploy_good")
    assert run.states() == {
        **dict.fromkeys(("gate", "backup", "stop", "start", "wait", "continuity", "deployed"), "success"),
        **dict.fromkeys(("blocked", *WAY_BACK), "skipped"),
    }
    assert (deploys.done("good"), deploys.newest("good")) == (["stop", "start"], 5)
    deploys.table.add(run, "batch 5 after batch 4, each step once", "deploy_dag(query good)")


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
    checkpoint, undo = (Store.open(str(deploys.place / name)) for name in ("bad.1", "undo/bad.1"))
    (change,) = history(checkpoint, undo)
    assert (change.plan.batch_id, change.approved_by, deploys.newest("bad.1")) == (4, "admin", 5)
    deploys.table.add(run, "rolled back to batch 4, batch 5 of the version before", "deploy_dag(query bad.1)")


def test_a_closed_gate_stops_nothing(deploys):
    run = deploys.run("deploy_closed")
    states = run.states()
    assert (states.pop("gate"), states.pop("blocked")) == ("success", "failed") and {*states.values()} == {"skipped"}
    assert deploys.done("closed") == []
    deploys.table.add(run, "no step was taken", "deploy_dag(query closed)")


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
