"""Runs of DAGs in a real Airflow on PostgreSQL, with a person who answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import airflow
from packaging.version import Version

from tests.airflow.conftest import ROOT
from tests.airflow_stack import AirflowStack
from tests.postgres import cluster

#: The state of a task that has asked a question; before Airflow 3.3 it waits for the answer in the triggerer.
ASKING = "awaiting_input" if Version(airflow.__version__) >= Version("3.3") else "deferred"
#: What each component imports before it forks a task.
PRELOADED = """
import airflow.providers.standard.operators.hitl
import airflow_provider_ckpt.dags.deploy
"""


class Run:
    """A run of a DAG."""

    def __init__(self, stack: AirflowStack, dag_id: str, **params: object) -> None:
        self.stack, self.dag_id = stack, dag_id
        self.run_id = stack.trigger(dag_id, **params)

    def answer(self, task_id: str, option: str) -> str:
        """Wait to be asked, and answer; what was shown."""
        ended = ("success", "failed", "upstream_failed", "skipped")
        asked = self.stack.wait_for_task(self.dag_id, self.run_id, task_id, ASKING, *ended)
        assert asked["state"] == ASKING, f"{task_id} is {asked['state']}, see {self.stack.home / 'logs'}"
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


@contextmanager
def airflow_on_postgres(home: Path, dags: Path, env: Mapping[str, str]) -> Iterator[AirflowStack]:
    """An Airflow with the DAGs of a folder."""
    (home / "config").mkdir(parents=True)
    (home / "config" / "airflow_local_settings.py").write_text(PRELOADED)
    settings = {
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
        "PYTHONPATH": str(ROOT),
    }
    with cluster() as database:
        stack = AirflowStack(home, dags, {**settings, **env}, database=database)
        try:
            yield stack.start()
        finally:
            stack.stop()
