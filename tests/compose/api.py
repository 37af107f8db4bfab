"""Airflow's API, as a user of the stack."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection
from typing import Any

from tests.airflow_api import AirflowApi
from tests.compose.native import Services

#: Of one step: on a machine that does much else, a query takes minutes to start.
TIMEOUT_S = 1200.0
WATCHED = ("scheduler", "triggerer")


class Airflow(AirflowApi):
    """Its API, for a user whose password is where Airflow has written it."""

    def __init__(self, services: Services, user: str) -> None:
        super().__init__(services.text("api-server", "http://localhost:8080"))
        self.services, self.user = services, user
        self.password = json.loads((services.home / "volumes" / "passwords" / "passwords.json").read_text())[user]
        self.log_in(user, self.password)

    def wait(self, what: str, condition: Callable[[], Any], watched: Collection[str] = WATCHED) -> Any:
        """Ask until the answer is true, and return it; the services that are watched have to stay healthy."""
        deadline = time.monotonic() + TIMEOUT_S
        while not (answer := condition()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} did not come in {TIMEOUT_S:.0f} s: {self.services.ends()}")
            assert all(self.services.healthy(name) for name in watched), self.services.ends()
            time.sleep(2)
        return answer

    def trigger(self, dag_id: str, **conf: object) -> str:
        """Start a run, when the DAG is there; its path."""
        self.wait(f"the DAG {dag_id}", lambda: self.has_dag(dag_id))
        return f"/api/v2/dags/{dag_id}/dagRuns/{self.start_run(dag_id, conf)}"

    def states(self, run: str) -> dict[str, str]:
        """The state of each task."""
        return {
            task["task_id"]: task["state"] for task in self.request("GET", f"{run}/taskInstances")["task_instances"]
        }

    def finish(self, run: str, *wanted: str) -> None:
        """Wait until a run has ended, and see that some of its tasks have succeeded."""
        ended = ("success", "failed")
        self.wait(f"the end of {run}", lambda: self.request("GET", run)["state"] in ended)
        states = self.states(run)
        failed = [task for task, state in states.items() if state in ("failed", "upstream_failed")]
        assert not failed, f"{run}: {states}\n{self.log(run, failed[0])}"
        assert all(states[task] == "success" for task in wanted), f"{run}: {states}"

    def log(self, run: str, task: str) -> str:
        """The log of a task's first try."""
        return json.dumps(self.request("GET", f"{run}/taskInstances/{task}/logs/1?full_content=true"))[-4000:]

    def xcom(self, run: str, task: str, key: str = "return_value") -> Any:
        """What a task has pushed."""
        return self.request("GET", f"{run}/taskInstances/{task}/xcomEntries/{key}")["value"]
