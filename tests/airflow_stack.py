"""A real Airflow for tests: scheduler, triggerer, DAG processor and API server, each of which can be killed and restarted.

The test side, :class:`AirflowStack`, talks to Airflow over REST and to a *supervisor*, which owns every process of the
stack and dies with the test. Rules that keep a machine clean, each of which was learnt from processes left behind:

* The supervisor is a subreaper: whatever a component leaves behind becomes its child, also what has a session or a
  process group of its own, as Airflow's tasks have.
* It reads commands from a pipe that the test holds; the end of that pipe, also by ``kill -9`` of the test, ends the stack.
* It has ended all when the kernel says that it has no children; a look into /proc can miss those of a dying parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.airflow_api import AirflowApi
from tests.ports import free_ports

COMPONENTS = ("api-server", "scheduler", "dag-processor", "triggerer")
PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 5.0

#: Everything that is waited for is waited for briefly: a dead process is noticed after seconds.
QUICK = {
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    "AIRFLOW__CORE__PARALLELISM": "2",
    "AIRFLOW__API__WORKERS": "1",
    "AIRFLOW__API__MAXIMUM_PAGE_LIMIT": "1000",
    "AIRFLOW__API__HOST": "127.0.0.1",
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin",
    "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.3",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "8",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "2",
    "AIRFLOW__SCHEDULER__TRIGGER_TIMEOUT_CHECK_INTERVAL": "1",
    "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "5",
    # A request that takes longer is sent again, and SQLite, which locks no rows, then carries it out twice.
    "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "120",
    "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "5",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
    "PYTHONWARNINGS": "ignore",
}


class AirflowStack(AirflowApi):
    """A stack with an AIRFLOW_HOME of its own.

    Args:
        home: Where its migrated database is (``airflow_database`` gives one), its logs and its configuration.
        dags: The folder with its DAGs.
        env: More environment variables.
        standalone: One ``airflow standalone`` in place of a process for each component.
        database: URL of an empty database for SQLAlchemy (``tests.postgres.cluster`` gives one), in place of that in
            the home; it is migrated at the start.
    """

    def __init__(
        self, home: Path, dags: Path, env: Mapping[str, str], *, standalone: bool = False, database: str | None = None
    ) -> None:
        self.home = home
        self.database = database
        self.logs = home / "processes"
        self.airflow = str(Path(sys.executable).with_name("airflow"))
        self.components = ("standalone",) if standalone else COMPONENTS
        port, worker_logs, trigger_logs = free_ports(3)
        super().__init__(f"http://127.0.0.1:{port}")
        passwords = home / "passwords.json"
        self.logs.mkdir(parents=True)
        passwords.write_text(json.dumps({"admin": "admin"}))
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
        self.env = {
            **inherited,
            **QUICK,
            "PATH": f"{Path(self.airflow).parent}{os.pathsep}{os.environ['PATH']}",  # standalone runs "airflow"
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(worker_logs),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(trigger_logs),
            **({"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database} if database else {}),
            **env,
        }
        self._supervisor: subprocess.Popen[str] | None = None

    # --- processes ---------------------------------------------------------------------------------------------

    def start(self) -> AirflowStack:
        """Start every component, and wait until all are healthy."""
        if self.database:  # the migration also writes the configuration, which the components then share
            with (self.logs / "migrate.log").open("wb") as log:
                subprocess.run([self.airflow, "db", "migrate"], env=self.env, check=True, stdout=log, stderr=log)
        commands = {name: [self.airflow, name] for name in self.components}
        config = json.dumps({"commands": commands, "logs": str(self.logs)})
        self._supervisor = subprocess.Popen(
            [sys.executable, __file__, config],
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            for name in self.components:
                self._command("start", name)
            self.wait_until_healthy()
            self.log_in("admin", "admin")
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End every process."""
        if self._supervisor is not None:
            assert self._supervisor.stdin and self._supervisor.stdout
            self._supervisor.stdin.close()
            self._supervisor.wait(GRACE_S + 30)
            self._supervisor.stdout.close()
            self._supervisor = None

    def kill(self, name: str) -> None:
        """``kill -9`` a component and all that it has started, as a machine that goes down."""
        self._command("kill", name)

    def restart(self, name: str) -> None:
        """Start a component that was killed; does not wait until it is healthy."""
        self._command("start", name)

    def _command(self, verb: str, name: str) -> None:
        assert self._supervisor and self._supervisor.stdin and self._supervisor.stdout
        self._supervisor.stdin.write(f"{verb} {name}\n")
        self._supervisor.stdin.flush()
        assert self._supervisor.stdout.readline() == "done\n", f"the stack has ended, see {self.logs}"

    def wait_until_healthy(self, timeout_s: float = 600) -> None:
        """Wait until every component has a heartbeat."""
        wanted = ("metadatabase", "scheduler", "triggerer", "dag_processor")

        def healthy() -> bool:
            assert self._supervisor and self._supervisor.poll() is None, f"the stack has ended, see {self.logs}"
            try:
                health = self.request("GET", "/api/v2/monitor/health")
            except OSError:
                return False
            return all(health[name]["status"] == "healthy" for name in wanted)

        self.wait_for("a healthy stack", healthy, timeout_s)

    # --- REST --------------------------------------------------------------------------------------------------

    def wait_for(self, what: str, condition: Callable[[], Any], timeout_s: float = 600) -> Any:
        """Ask until the answer is true, and return it. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while not (answer := condition()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} did not come in {timeout_s} s, see {self.logs}")
            time.sleep(0.2)
        return answer

    def trigger(self, dag_id: str, **conf: object) -> str:
        """Start a run; its id."""
        self.wait_for(f"the DAG {dag_id}", lambda: self.has_dag(dag_id))
        return self.start_run(dag_id, conf)

    def runs(self, dag_id: str) -> list[dict[str, Any]]:
        """All runs of a DAG, oldest first."""
        return self.get(f"/dags/{dag_id}/dagRuns?order_by=id&limit=1000")["dag_runs"]

    def task(self, dag_id: str, run_id: str, task_id: str) -> dict[str, Any]:
        """A task instance."""
        return self.get(f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}")

    def wait_for_task(
        self, dag_id: str, run_id: str, task_id: str, *states: str, timeout_s: float = 600
    ) -> dict[str, Any]:
        """Wait until a task is in one of some states."""

        def in_state() -> dict[str, Any] | None:
            task = self.task(dag_id, run_id, task_id)
            return task if task["state"] in states else None

        return self.wait_for(f"{dag_id}.{task_id} in {states}", in_state, timeout_s)

    def returned(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """What a task has returned."""
        path = f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/xcomEntries/return_value"
        return self.get(path)["value"]

    def events(self, asset: str) -> list[dict[str, Any]]:
        """All events of an asset, oldest first."""
        found = [item for item in self.get(f"/assets?name_pattern={asset}")["assets"] if item["name"] == asset]
        if not found:
            return []
        path = f"/assets/events?asset_id={found[0]['id']}&limit=1000"
        events = self.wait_for(f"the events of {asset}", lambda: self._events(path))
        return sorted(events["asset_events"], key=lambda event: event["id"])

    def _events(self, path: str) -> Any:
        """Events, or None: Airflow up to 3.3.2 cannot show them while a run of theirs is queued, apache/airflow#71360."""
        try:
            return self.get(path)
        except urllib.error.HTTPError as error:
            if error.code != 500:
                raise
            return None


# --- the supervisor's process ----------------------------------------------------------------------------------


class Supervisor:
    """Owns every process of a stack."""

    def __init__(self, commands: Mapping[str, list[str]], logs: str) -> None:
        self.commands, self.logs = commands, Path(logs)
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def run(self) -> None:
        """Obey until the pipe ends or a component dies by itself; then leave no process behind."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        verbs = {"start": self.start, "kill": self.kill, "run": self.run_once, "stop": self.stop}
        try:
            while all(process.poll() is None for process in self.running.values()):
                if not select.select([sys.stdin], [], [], 0.5)[0]:
                    continue
                line = sys.stdin.readline()
                if not line:
                    break
                verb, name = line.split()
                print(verbs[verb](name) or "done", flush=True)
        finally:  # also when it was told what cannot be done, or nobody listens any more
            self.end()

    def start(self, name: str) -> None:
        """Start a component, in a session of its own: Airflow may signal its whole group."""
        with (self.logs / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                self.commands[name], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def run_once(self, name: str) -> str | None:
        """Run a component that ends by itself; what went wrong."""
        self.start(name)
        code = self.running.pop(name).wait()
        return f"{name} exited with {code}" if code else None

    def stop(self, name: str) -> None:
        """Ask a component and what it has started to end, as a container that is stopped; kill what does not."""
        os.killpg(self.running[name].pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.running[name].wait(GRACE_S * 4)
        self.kill(name)

    def kill(self, name: str) -> None:
        """Kill a component, what it has started, and what that leaves behind."""
        process = self.running.pop(name)
        for pid in [process.pid, *descendants(process.pid)]:
            kill(pid)
        process.wait()
        kept = {other.pid for other in self.running.values()}
        while orphans := [pid for pid in children().get(os.getpid(), []) if pid not in kept]:
            for pid in orphans:
                kill(pid)
            time.sleep(0.05)

    def end(self) -> None:
        """Ask every component to end, then kill whatever is left."""
        for process in self.running.values():
            process.terminate()
        deadline = time.monotonic() + GRACE_S
        while not none_left():
            if time.monotonic() > deadline:
                for pid in descendants(os.getpid()):
                    kill(pid)
            time.sleep(0.05)


def children() -> dict[int, list[int]]:
    """Living children of every process."""
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    found.setdefault(int(parent), []).append(int(entry.name))
    return found


def descendants(root: int) -> list[int]:
    """Living descendants of a process."""
    tree, found = children(), [root]
    for pid in found:
        found += tree.get(pid, [])
    return found[1:]


def kill(pid: int) -> None:
    """``kill -9``."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def none_left() -> bool:
    """Reap what has ended; whether there are no children at all."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


if __name__ == "__main__":
    Supervisor(**json.loads(sys.argv[1])).run()
