"""Airflow's API, as a user of the stack."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection
from typing import Any

from tests.compose.native import Services

#: Of one step: on a machine that does much else, a query takes minutes to start.
TIMEOUT_S = 1200.0
WATCHED = ("scheduler", "triggerer")


class Airflow:
    """Its API, for a user whose password is where Airflow has written it."""

    def __init__(self, services: Services, user: str) -> None:
        self.services, self.user = services, user
        self.url = services.text("api-server", "http://localhost:8080")
        self.password = json.loads((services.home / "volumes" / "passwords" / "passwords.json").read_text())[user]
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._token = None
        self._token = self.request("POST", "/auth/token", {"username": user, "password": self.password})["access_token"]

    def request(self, method: str, path: str, body: object = None) -> Any:
        """One request; the answer from its JSON."""
        request = urllib.request.Request(f"{self.url}{path}", method=method)
        request.add_header("Content-Type", "application/json")
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        with self._opener.open(request, None if body is None else json.dumps(body).encode(), timeout=120) as answer:
            return json.loads(answer.read() or b"null")

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

        def known() -> bool:
            try:
                return bool(self.request("GET", f"/api/v2/dags/{dag_id}"))
            except urllib.error.HTTPError:
                return False

        self.wait(f"the DAG {dag_id}", known)
        run = self.request("POST", f"/api/v2/dags/{dag_id}/dagRuns", {"logical_date": None, "conf": conf})
        return f"/api/v2/dags/{dag_id}/dagRuns/{run['dag_run_id']}"

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
