"""``checkpoint_fleet_rollback`` in a real Airflow on PostgreSQL: checkpoints of real Spark, gates, kills, one approval."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
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
from tests.fake_query import QUERY_ID, FakeQuery
from tests.postgres import cluster

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]

#: The state of a task that has asked a question; before Airflow 3.3 it waits for the answer in the triggerer.
ASKING = "awaiting_input" if Version(airflow.__version__) >= Version("3.3") else "deferred"
DAG, UNDO = "checkpoint_fleet_rollback", "checkpoint_fleet_undo"
#: Checkpoints of real Spark, of which each has a batch that it can go back to.
CASES = (
    *("3.5.9/agg-rocksdb", "3.5.9/file-to-parquet-12", "4.3.0/agg-hdfs", "4.3.0/agg-rocksdb-v2", "4.3.0/join-hdfs"),
    *("4.3.0/offset-log-v2", "4.3.0/rate-micro-batch", "4.3.0/session-window", "4.3.0/transform-with-state"),
    "4.3.0/two-sources",
)
#: How many queries there are besides; ``CKPT_FLEET=290`` makes a fleet of 300.
OTHERS = int(os.environ.get("CKPT_FLEET", "0"))
SETTINGS = {
    "AIRFLOW__CORE__PARALLELISM": "4",
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
    "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "3600",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "90",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "90",
    "PYTHONPATH": str(ROOT),
}
#: What each component imports before it forks a task.
PRELOADED = """
import airflow.providers.standard.operators.hitl
import airflow_provider_ckpt.operators.checkpoint
"""


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[AirflowStack]:
    """An Airflow with the DAG of the project, and one with gates."""
    home, dags = tmp_path / "home", tmp_path / "dags"
    shutil.copytree(HERE / "fleet_dags", dags)
    shutil.copy(ROOT / "dags" / f"{DAG}.py", dags)
    (home / "config").mkdir(parents=True)
    (home / "config" / "airflow_local_settings.py").write_text(PRELOADED)
    with cluster() as database:
        stack = AirflowStack(home, dags, SETTINGS, database=database)
        try:
            yield stack.start()
        finally:
            stack.stop()


class Fleet:
    """Checkpoints as they were before a deploy: two batches of each are still to come."""

    def __init__(self, home: Path, goldens: Any) -> None:
        self.locations: dict[str, int] = {}
        self._later: list[Callable[[], None]] = []
        for case in CASES:
            self._add_golden(home / case.replace("/", "-"), goldens[case] / "checkpoint")
        for number in range(OTHERS):
            self._add_fake(home / f"fake-{number:03}", number)

    def deploy(self) -> None:
        """Let the two batches come."""
        for come in self._later:
            come()

    def _add_golden(self, place: Path, golden: Path) -> None:
        newest = observe(Store.open(str(golden))).latest_committed
        assert newest is not None
        shutil.copytree(golden, place)
        for log in ("offsets", "commits"):
            for path in (place / log).iterdir():
                number = path.name.removeprefix(".").removesuffix(".crc")
                if number.isdecimal() and int(number) > newest - 2:
                    path.unlink()
        self.locations[str(place)] = newest - 2
        self._later.append(lambda: shutil.copytree(golden, place, dirs_exist_ok=True) and None)

    def _add_fake(self, place: Path, number: int) -> None:
        query = FakeQuery(Store.open(str(place)), query_id=f"{QUERY_ID[:-12]}{number:012}")
        for batch_id in range(3):
            query.commit(batch_id)
        self.locations[str(place)] = 2
        self._later += [lambda: query.commit(3), lambda: query.commit(4)]

    def newest(self) -> dict[str, int | None]:
        """The newest committed batch of each query."""
        return {location: observe(Store.open(location)).latest_committed for location in self.locations}

    def files(self) -> dict[str, dict[str, bytes]]:
        """What each checkpoint holds; checksum files of the driver come back without."""
        return {
            location: {
                str(path.relative_to(location)): path.read_bytes()
                for path in Path(location).rglob("*")
                if path.is_file() and not path.name.startswith(".")
            }
            for location in self.locations
        }


def states(stack: AirflowStack, run: str, task_id: str, dag: str = DAG) -> list[str | None]:
    """The states of a mapped task."""
    path = f"/dags/{dag}/dagRuns/{run}/taskInstances/{task_id}/listMapped?limit=1000"
    return [item["state"] for item in stack.get(path)["task_instances"]]


def answer(stack: AirflowStack, run: str, option: str, dag: str = DAG) -> str:
    """Wait to be asked, and answer once the scheduler knows that the task has paused; what was shown."""
    stack.wait_for_task(dag, run, "approve", ASKING, timeout_s=3000)
    log = stack.logs / "scheduler.log"

    def has_paused() -> bool:
        lines = log.read_text(errors="replace").splitlines()
        return any(f"task_id=approve, run_id={run}," in line and f"state={ASKING}" in line for line in lines)

    stack.wait_for("the pause of the task", has_paused)
    path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/approve/-1/hitlDetails"
    shown = stack.request("GET", path)
    stack.request("PATCH", path, {"chosen_options": [option], "params_input": {}})
    return f"{shown['subject']}\n{shown['body']}"


def test_a_fleet_goes_back_by_the_bookmarks_of_its_gates_though_the_scheduler_is_killed(stack, goldens, tmp_path):
    """Killed once while rollbacks run: the tasks that die with it are tried again, and complete their plans."""
    began = time.monotonic()
    fleet = Fleet(tmp_path / "lake", goldens)
    gates = stack.trigger("gate_fleet", checkpoints=list(fleet.locations))
    stack.wait_for("the gates", lambda: {*states(stack, gates, "gate", "gate_fleet")} == {"success"}, 3000)
    fleet.deploy()
    before = fleet.files()
    gated = time.monotonic()

    params = {"gates": [{"dag_id": "gate_fleet", "run_id": gates, "task_id": "gate"}]}
    rejected = stack.trigger(DAG, **params)
    answer(stack, rejected, "Reject")
    stack.wait_for_task(DAG, rejected, "summary", "skipped")
    assert fleet.files() == before

    run = stack.trigger(DAG, **params)
    asked = answer(stack, run, "Approve")
    approved = time.monotonic()
    stack.wait_for("a rollback at work", lambda: "running" in states(stack, run, "rollback"))
    stack.kill("scheduler")
    stack.restart("scheduler")
    stack.wait_for_task(DAG, run, "summary", "success", "failed", timeout_s=3000)
    assert {*states(stack, run, "rollback")} == {"success"}
    assert fleet.newest() == fleet.locations
    assert len(stack.returned(DAG, run, "summary")["back"]) == len(fleet.locations)
    for location in fleet.locations:
        (change,) = history(Store.open(location))
        assert (change.state, change.approved_by) == ("applied", "admin")
        assert f"`{location}`: to batch {fleet.locations[location]} in" in asked and change.plan.plan_id in asked
    done = time.monotonic()
    print(
        f"{len(fleet.locations)} queries: gates {gated - began:.0f} s, two plans and a rejection {approved - gated:.0f} "
        f"s, rollbacks with a kill {done - approved:.0f} s; the approval has {len(asked):,} characters"
    )

    again = stack.trigger(DAG, **params)
    stack.wait_for_task(DAG, again, "summary", "success", timeout_s=3000)
    assert stack.returned(DAG, again, "summary") == {"back": []}
    assert stack.task(DAG, again, "approve")["state"] == "skipped", "every query is there already"

    undo = stack.trigger(UNDO, run_id=run)
    asked = answer(stack, undo, "Approve", UNDO)
    assert f"{len(fleet.locations)} of {len(fleet.locations)} queries go back." in asked
    stack.wait_for_task(UNDO, undo, "summary", "success", "failed", timeout_s=3000)
    assert {*states(stack, undo, "undo", UNDO)} == {"success"}
    assert fleet.files() == before, "each file has the bytes that it had"
    print(f"the undo {time.monotonic() - done:.0f} s")
    again = stack.trigger(UNDO, run_id=run)
    stack.wait_for_task(UNDO, again, "summary", "success", timeout_s=3000)
    assert stack.returned(UNDO, again, "summary") == {"back": []}, "each is undone once"
