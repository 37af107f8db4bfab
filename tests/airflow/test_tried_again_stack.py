"""In a real Airflow on PostgreSQL: each operator that changes something makes its change once, whatever befalls its task.

What is held of each: one change, one record of it, the files of a task that nothing befell, and a try after the change
was made that says so. All runs are under way at once; a write is drawn for each, and all together they die before many.
``tests/operators/test_tried_again.py`` holds the same in one process, before every write.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.conftest import HERE, ROOT
from tests.airflow_stack import AirflowStack
from tests.changes.repartition.forged_spark import GOLDEN
from tests.dying import at_write
from tests.operators.each_change import (
    CHANGES,
    Change,
    forge,
    made,
    prune,
    repartition,
    reset,
    restore,
    rollback,
    stage,
    status_of,
    undo,
)
from tests.postgres import cluster

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]

SEED = int(os.environ.get("SEED", "1"))
#: How many runs of each change are killed, twice each.
KILLED_RUNS = 1
SETTINGS = {
    "AIRFLOW__CORE__PARALLELISM": "8",
    "AIRFLOW__CORE__MAX_ACTIVE_TASKS_PER_DAG": "100",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "40",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "2",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "2",
    "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "2",
    # On a machine that does much else the scheduler is not taken for dead, nor its tasks for orphans.
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "120",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "600",
    "PYTHONPATH": str(ROOT),
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowStack]:
    """An Airflow with a DAG for each change."""
    home = tmp_path_factory.mktemp("stack")
    with cluster() as database:
        stack = AirflowStack(home / "home", HERE / "change_dags", SETTINGS, database=database)
        try:
            yield stack.start()
        finally:
            stack.stop()


class Runs:
    """Runs of changes, each on a home of its own."""

    def __init__(self, stack: AirflowStack, at: Path, golden: Path) -> None:
        self.stack, self.at, self.golden = stack, at, golden
        self.patch = pytest.MonkeyPatch()
        self.right: dict[str, tuple[int, Any]] = {}

    def make(self, change: Change, name: str) -> Path:
        """A home in which a change can be made."""
        home = self.at / f"{change}-{name}"
        change.before(home, self.golden)
        return home

    def expect(self, change: Change) -> tuple[int, Any]:
        """The writes of a change that nothing befalls, and what there is then."""
        if change.name not in self.right:
            home = self.make(change, "right")
            forge(home, self.golden, self.patch)
            self.right[change.name] = count_writes(change, home), change.is_there(home)
        return self.right[change.name]

    def start(self, change: Change, home: Path, befalls: list[tuple[str, int]], suffix: str = "") -> Run:
        """A run of the DAG of a change."""
        dag = f"{change}{suffix}"
        arguments = {"home": str(home), "golden": str(self.golden), "befalls": befalls}
        return Run(self, change, home, befalls, dag, self.stack.trigger(dag, **arguments))


class Run:
    """A run of a change."""

    def __init__(
        self, runs: Runs, change: Change, home: Path, befalls: list[tuple[str, int]], dag: str, run_id: str
    ) -> None:
        self.stack, self.runs, self.change, self.home, self.befalls = runs.stack, runs, change, home, befalls
        self.dag, self.run_id = dag, run_id

    def __str__(self) -> str:
        return f"{self.change} {self.befalls} in {self.home}"

    def task(self) -> dict[str, Any]:
        """Its task."""
        return self.stack.task(self.dag, self.run_id, "it")

    def wait(self, *states: str, tries: int = 1) -> dict[str, Any]:
        """Wait until its task is in a state, at a try or a later one."""

        def there() -> dict[str, Any] | None:
            task = self.task()
            return task if task["state"] in states and task["try_number"] >= tries else None

        return self.stack.wait_for(f"{self} in {states} at try {tries}", there, 300)

    def says(self) -> str:
        """What its last try has returned: whether the change was made now."""
        return status_of(self.stack.returned(self.dag, self.run_id, "it"))

    def goes_on(self) -> None:
        """Let a try go on that waits."""
        Path(f"{self.home}-goes-on").touch()

    def waits(self) -> None:
        """Wait for a try that waits."""
        self.stack.wait_for(f"{self} to wait", Path(f"{self.home}-waits").exists, 300)

    def clear(self, **more: Any) -> None:
        """Clear its task, as a person does."""
        body = {"dry_run": False, "only_failed": False, "dag_run_id": self.run_id, "task_ids": ["it"], **more}
        self.stack.request("POST", f"/api/v2/dags/{self.dag}/clearTaskInstances", body)

    def ends(self) -> str:
        """What its last try says, or is refused with."""
        if self.wait("success", "failed")["state"] == "success":
            return self.says()
        path = f"/dags/{self.dag}/dagRuns/{self.run_id}/taskInstances/it/xcomEntries/error"
        return str(self.stack.get(path)["value"]["error"]["code"])

    def typed(self) -> int:
        """The exit code of the command that a person types for the same change."""
        words = [*TYPED[self.change], str(self.home / "orders"), "--execute", "--i-know-it-is-stopped"]
        command = [Path(sys.executable).with_name("ckpt"), *words, "--quiet-period", "0", "--accept-sink", "unknown"]
        return subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True).returncode

    def is_one_change(self) -> None:
        """Hold that the change was made once."""
        assert self.change.is_there(self.home) == self.runs.expect(self.change)[1], str(self)


#: What says otherwise that its change was made: a stage returns the same range.
DONE = {stage: ""}
#: A try that is under way, or has ended.
STATES = ("running", "up_for_retry", "success")
#: How another run of the DAG ends that wants the same: what it says, or is refused with. A backup is another one then.
#: What only adds files, or removes those that nobody needs, it may do beside the first: each file is there once.
BESIDE = {
    undo: ("PLAN_REFUSED",),  # it would take back the change before
    **dict.fromkeys((rollback, repartition), ("already_applied",)),
    **dict.fromkeys((restore, prune), ("applied", "already_applied")),
    reset: ("applied",),  # it moves as far once more
    stage: ("",),
}
#: The exit code of a command that finds another change under way.
BUSY = 4
#: What a person types who wants the same.
TYPED = {undo: ["undo"], rollback: ["rollback", "--to-batch", "3"]}


def cleared_in_vain(started: Iterable[Run]) -> None:
    """Clear tasks whose change was made: it is not made again, and each says so."""
    tries = {run: run.wait("success")["try_number"] for run in started}
    for run in tries:
        ended = {"dag_run_id": run.run_id, "state": "success"}  # before, the scheduler takes a cleared task for done
        runs = run.stack.runs
        run.stack.wait_for(f"{run} to end", lambda: any(it.items() >= ended.items() for it in runs(run.dag)), 300)  # noqa: B023
        run.clear()
    for run, number in tries.items():
        run.wait("success", tries=number + 1)
        assert run.says() == DONE.get(run.change, "already_applied"), str(run)
        run.is_one_change()


def count_writes(change: Change, home: Path) -> int:
    """Make a change in another process; how many writes it has."""
    told, tell = os.pipe()
    if (child := os.fork()) == 0:
        try:
            writes: list[int] = []
            at_write(-1, str(home), lambda: None, writes.append)
            change(home)
            os.write(tell, str(len(writes)).encode())
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    with os.fdopen(told, "rb") as answer:
        return int(answer.read())


@pytest.fixture(scope="module")
def runs(stack, tmp_path_factory, goldens) -> Runs:
    """What starts runs."""
    return Runs(stack, tmp_path_factory.mktemp("homes"), goldens[f"4.3.0/{GOLDEN}"])


def test_killed_before_its_writes_or_after_its_receipt_tried_again_and_cleared(runs):
    """Each run is killed twice: before two writes, or before one and then when Airflow does not know of its end."""
    drawn = random.Random(SEED)
    started: list[tuple[Run, str | None]] = []
    for change in CHANGES:
        writes, _ = runs.expect(change)
        for number in range(KILLED_RUNS):
            ways = [("killed", write) for write in sorted(drawn.sample(range(1, writes + 1), 2))]
            started.append((runs.start(change, runs.make(change, f"killed{number}"), ways), None))
        for word in ("killed with receipt", "killed when told"):
            ways = [("killed", drawn.randrange(1, writes + 1)), (word, 0)]
            home = runs.make(change, word.replace(" ", "-"))
            started.append((runs.start(change, home, ways), DONE.get(change, "already_applied")))
    for run, said in started:
        run.wait("success", tries=2)
        run.is_one_change()
        assert said is None or run.says() == said, str(run)
    cleared_in_vain(run for run, _ in started)


@pytest.mark.parametrize("way", ["terminated", "times out", "waits", "orphaned"])
def test_whatever_else_befalls_a_task_it_is_one_change(runs, way):
    """It is asked to end, takes too long, is cleared while it runs, or is taken for dead while it goes on."""
    drawn = random.Random(f"{SEED} {way}")
    started = []
    for change in CHANGES:
        writes, _ = runs.expect(change)
        home = runs.make(change, way.replace(" ", "-"))
        started.append(
            runs.start(change, home, [(way, drawn.randrange(1, writes + 1))], "_in_time" * (way == "times out"))
        )
    for run in started:
        if way in ("waits", "orphaned"):
            run.waits()
        if way == "waits":
            run.clear()
    for run in started:
        if way == "orphaned":
            run.wait(*STATES, tries=2)  # the next try has begun beside it
        run.goes_on()
    for run in started:
        run.wait("success")
        run.is_one_change()
    cleared_in_vain(started)


def test_two_runs_of_a_dag_and_a_person_at_once(runs):
    """One run waits before a write, another run of the DAG and a command want the same, and the first goes on."""
    drawn = random.Random(f"{SEED} at once")
    pairs = []
    for change in BESIDE:
        writes, _ = runs.expect(change)
        home = runs.make(change, "at-once")
        first = runs.start(change, home, [("waits", drawn.randint(writes // 3, writes - 2))])
        first.waits()
        pairs.append((first, runs.start(change, home, [])))
    for first, second in pairs:
        second.wait("up_for_retry", "success", "failed")
        assert first.change not in TYPED or first.typed() == BUSY
        first.goes_on()
    for first, second in pairs:
        first.wait("success")
        assert second.ends() in BESIDE[first.change], str(second)
    assert [first.home for first, _ in pairs if len(made(first.home)) > 1 and first.change is reset] != []
    cleared_in_vain(first for first, _ in pairs if first.change is not reset)
