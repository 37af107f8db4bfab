"""Blue-green deploys in a real Airflow on PostgreSQL, beside live queries of real Spark: ``make deploys``.

Prints a row for each deploy: where it ended, and how the live output compares with a clean run. With names as
arguments, only the deploys whose name has one of them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.airflow_stack import AirflowStack
from tests.deploys.cases import BAD, GOOD, KILLED, Case
from tests.postgres import cluster

ROOT = Path(__file__).parents[2]
DAG = "blue_green_deploy"
JOB = ROOT / "tests" / "deploys" / "job.py"
CONFS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
}
#: How many deploys run at once.
AT_ONCE = 4
TIMEOUT_S = 2400
#: What every component imports before it forks a task, which else takes seconds of each task.
PRELOADED = """
import airflow.providers.apache.spark.operators.spark_submit
import airflow.providers.standard.operators.hitl
import airflow_provider_ckpt.operators.checkpoint
import airflow_provider_ckpt.sensors.checkpoint
"""
#: What a user fills in, and what makes the DAG quick.
DAG_FILE = f"""
import pathlib, time
from datetime import timedelta
from airflow_provider_ckpt.dags import blue_green_dag


def stop_old(checkpoint):
    folder = pathlib.Path(checkpoint).parent
    (folder / "stop").touch()
    while not (folder / "stopped").exists():
        time.sleep(0.2)


quick = {{"shadow_timeout": timedelta(minutes=10), "poll": timedelta(seconds=2), "max_active_runs": {AT_ONCE}}}
dag = blue_green_dag("{DAG}", stop_old=stop_old, **quick)
"""


class LiveQueries:
    """The process with the live queries."""

    def __init__(self, log: Path) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.deploys.live"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("w"),
            text=True,
            cwd=ROOT,
        )
        assert self._answer() == "ready\n", f"the live queries have not started, see {log}"

    def ask(self, verb: str, *arguments: Any) -> Any:
        """One command and its answer."""
        with self._lock:
            assert self._process.stdin
            self._process.stdin.write(json.dumps([verb, *arguments]) + "\n")
            self._process.stdin.flush()
            return json.loads(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()

    def end(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(120)


@dataclass
class Result:
    """How a deploy ended."""

    case: Case
    ended: str
    was_asked: bool
    was_killed: bool
    untouched: bool
    lacking: int
    extra: int
    rows: int
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether it ended where it must, and no row of the live output is lost or doubled.

        Only a person leads to a switch, a bad version leaves the live query running, and a kill that did not happen
        has shown nothing.
        """
        exact = not self.lacking and not self.extra and self.rows > 0
        is_switched = self.case.ends == "deployed"
        as_meant = self.was_killed == bool(self.case.kill) and (self.was_asked if is_switched else self.untouched)
        return self.ended == self.case.ends and exact and as_meant

    def line(self) -> str:
        """A row of the table."""
        fields = (
            f"{self.case.name:44}",
            f"{self.ended:9}",
            f"{'asked' if self.was_asked else '':6}",
            f"{'yes' if self.was_killed else '':6}",
            f"{self.rows:6}",
            f"{self.lacking:5}",
            f"{self.extra:5}",
            f"{self.seconds:5.0f}",
            "right" if self.is_right else "WRONG",
        )
        return "  ".join(fields)


HEADING = "  ".join(
    (
        *(f"{'deploy':44}", f"{'ended at':9}", f"{'person':6}", f"{'killed':6}"),
        *(f"{'rows':>6}", f"{'lost':>5}", f"{'twice':>5}", f"{'s':>5}"),
    )
)


class Deploys:
    """Deploys on one stack."""

    def __init__(self, base: Path, stack: AirflowStack, live: LiveQueries) -> None:
        self.base, self.stack, self.live = base, stack, live

    def run(self, case: Case) -> Result:
        """One deploy, from a live query to the comparison of its output; what stops this very program is a result."""
        try:
            return self._run(case)
        except Exception:
            traceback.print_exc()
            return Result(case, "error", False, False, untouched=False, lacking=0, extra=0, rows=0, seconds=0)

    def _run(self, case: Case) -> Result:
        began = time.monotonic()
        folder = Path(tempfile.mkdtemp(dir=self.base))
        self.live.ask("start", str(folder), case.stream)
        self.stack.wait_for("two batches", lambda: newest(folder / "checkpoint") >= 1)
        run = self.stack.trigger(DAG, **params(case, folder))
        asked, killed = self._until_the_end(case, run)
        states = {item["task_id"]: item["state"] for item in self._tasks(run)}
        stopped = (folder / "stopped").exists()
        untouched = not stopped and states["restart"] != "success" and self.live.ask("is_active", str(folder))
        if not stopped:
            (folder / "stop").touch()
            self.stack.wait_for("the end of the query", (folder / "stopped").exists)
        self.live.ask("finish", str(folder))
        lacking, extra, rows = self.live.ask("differences", str(folder), list(case.retyped))
        took = time.monotonic() - began
        shutil.rmtree(folder, ignore_errors=True)
        return Result(case, ended_at(states), asked, killed, untouched, lacking, extra, rows, seconds=took)

    def _tasks(self, run: str) -> list[dict[str, Any]]:
        return self.stack.get(f"/dags/{DAG}/dagRuns/{run}/taskInstances")["task_instances"]

    def _has_paused(self, run: str) -> bool:
        """Whether the scheduler has seen the task that asks end its process; no route tells that."""
        lines = (self.stack.logs / "scheduler.log").read_text(errors="replace").splitlines()
        return any(f"task_id=approve, run_id={run}," in line and "state=awaiting_input" in line for line in lines)

    def _until_the_end(self, case: Case, run: str) -> tuple[bool, bool]:
        """Answer when a person is asked; whether one was, and whether the scheduler was killed."""
        asked, killed = False, False
        deadline = time.monotonic() + TIMEOUT_S
        while self.stack.get(f"/dags/{DAG}/dagRuns/{run}")["state"] not in ("success", "failed"):
            assert time.monotonic() < deadline, f"{case.name} did not end, see {self.stack.logs}"
            states = {item["task_id"]: item["state"] for item in self._tasks(run)}
            # A question that is still being written dies with the scheduler, and nobody is asked.
            at_work = "awaiting_input" if case.kill == "approve" else "running"
            if case.kill and not killed and states.get(case.kill) == at_work:
                self.stack.kill("scheduler")
                self.stack.restart("scheduler")
                killed = True
            if states.get("approve") == "awaiting_input":
                path = f"/api/v2/dags/{DAG}/dagRuns/{run}/taskInstances/approve/-1/hitlDetails"
                body = self.stack.request("GET", path)["body"]
                assert "The way back:" in body and "rows" in body, body
                # An answer that comes before the scheduler knows that the task has paused fails it (Airflow 3.3.2).
                # One that was killed in between has told nobody, and its successor has nothing to wait for.
                if not (killed and case.kill == "approve"):
                    self.stack.wait_for("the pause of the task", lambda: self._has_paused(run))
                self.stack.request("PATCH", path, {"chosen_options": [case.answer], "params_input": {}})
                asked = True
                self.stack.wait_for_task(DAG, run, "approve", "success", "failed", "skipped")
            time.sleep(1)
        return asked, killed


def params(case: Case, folder: Path) -> dict[str, Any]:
    """Params of a run."""
    checkpoint, out, fork, shadow = (str(folder / name) for name in ("checkpoint", "out", "fork", "shadow"))
    own = {**case.params, "confs": {**CONFS, **case.params.get("confs", {})}}
    return {
        "checkpoint": checkpoint,
        "backup_root": str(folder / "backups"),
        "sink": f"file:{out}",
        "fork": fork,
        "shadow_sink": f"file:{shadow}",
        "application": str(JOB),
        "application_args": [checkpoint, out, case.version],
        "shadow_args": [fork, shadow, case.version],
        "sources": ["file" if case.stream == "files" else "rate-micro-batch"],
        "spark_version": "4.3",
        "keys": ["value"],
        **own,
    }


def newest(checkpoint: Path) -> int:
    """The newest committed batch, or -1."""
    return max((int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")), default=-1)


def ended_at(states: dict[str, str]) -> str:
    """The task that a run ended at: ``deployed``, one that failed, or the question that was answered with no."""
    if states["deployed"] == "success":
        return "deployed"
    order = ("allowed", "gate", "backup", "fork", "next_batch", "stage", "shadow", "caught_up", "compare", "answered")
    later = ("stop_old", "stopped", "gate_again", "keep", "still_stopped", "restart", "wait", "continuity")
    failed = next((name for name in (*order, *later) if states[name] == "failed"), "")
    return failed or ("approve" if states["approve"] == "success" else "nowhere")


def taken_in_turn(*lists: list[Case]) -> list[Case]:
    """One of each list, and again."""
    return [case for cases in zip_longest(*lists) for case in cases if case]


def main(names: list[str]) -> int:
    """Run the deploys; 1 when one ended wrong."""

    def chosen(cases: tuple[Case, ...]) -> list[Case]:
        return [case for case in cases if not names or any(name in case.name for name in names)]

    base = Path(tempfile.mkdtemp(prefix="deploys-"))
    dags, home = base / "dags", base / "home"
    dags.mkdir()
    home.mkdir()
    (dags / f"{DAG}.py").write_text(DAG_FILE)
    (home / "config").mkdir()
    (home / "config" / "airflow_local_settings.py").write_text(PRELOADED)
    env = {
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[1]"}),
        "AIRFLOW__CORE__PARALLELISM": str(2 * AT_ONCE),
        "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "300",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "3600",
        # On a busy machine heartbeats are late; a scheduler that is taken for dead loses its tasks.
        "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "90",
        "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "1",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "180",
        "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "90",
        "PYTHONPATH": str(ROOT),
    }
    results: list[Result] = []
    live = LiveQueries(base / "live.log")
    try:
        with cluster() as database:
            stack = AirflowStack(home, dags, env, database=database)
            try:
                deploys = Deploys(base, stack.start(), live)
                print(HEADING, flush=True)
                with ThreadPoolExecutor(AT_ONCE) as pool:
                    running = [pool.submit(deploys.run, case) for case in taken_in_turn(chosen(BAD), chosen(GOOD))]
                    for done in as_completed(running):
                        results.append(done.result())
                        print(results[-1].line(), flush=True)
                for case in chosen(KILLED):
                    results.append(deploys.run(case))
                    print(results[-1].line(), flush=True)
            finally:
                stack.stop()
    finally:
        live.end()
    wrong = [result.case.name for result in results if not result.is_right]
    print(f"{len(results)} deploys, {len(wrong)} wrong" + (f": {', '.join(wrong)}; see {base}" if wrong else ""))
    if not wrong:
        shutil.rmtree(base, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
