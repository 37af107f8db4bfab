"""What the runs of DAGs have shown: a row each, which ``make dags`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tests.airflow.dag_runs import Run

HEADING = ("DAG", "file", "how started", "ended", "s", "compared")
#: What of the params of a run says how it was started.
NAMED = ("query", "queries", "run_id", "hours")


@dataclass(frozen=True)
class Row:
    """A run that has shown what it had to."""

    dag_id: str
    file: str
    started: str
    ended: str
    seconds: float
    compared: str

    def cells(self) -> tuple[str, ...]:
        """What the table says of it."""
        return (self.dag_id, self.file, self.started, self.ended, f"{self.seconds:.0f}", self.compared)


class Table:
    """The rows of a session."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, run: Run, compared: str, started: str = "") -> None:
        """Take in a run that has ended.

        Args:
            run: It.
            compared: What of the checkpoint and the sink has been compared.
            started: How, where its params do not say it.
        """
        found = run.stack.get(f"/dags/{run.dag_id}/dagRuns/{run.run_id}")
        began, ended = (datetime.fromisoformat(found[key]) for key in ("start_date", "end_date"))
        file = run.stack.get(f"/dags/{run.dag_id}")["relative_fileloc"] or ""
        seconds = (ended - began).total_seconds()
        row = Row(run.dag_id, file, started or _started(found["conf"] or {}), _ended(run), seconds, compared)
        self.rows.append(row)

    def without_success(self, files: Iterable[str]) -> set[str]:
        """The files of which no DAG has succeeded."""
        return {*files} - {row.file.rpartition("/")[2] for row in self.rows if row.ended == "success"}

    def lines(self) -> list[str]:
        """The table as text."""
        cells = [HEADING, *(row.cells() for row in self.rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(HEADING))]
        return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _started(params: Mapping[str, object]) -> str:
    """The params that name queries."""
    return " ".join(f"{key}={params[key]}" for key in NAMED if params.get(key))


def _ended(run: Run) -> str:
    """``success``, or the first of the tasks that have failed."""
    path = f"/dags/{run.dag_id}/dagRuns/{run.run_id}"
    if run.stack.get(path)["state"] == "success":
        return "success"
    tasks = run.stack.get(f"{path}/taskInstances")["task_instances"]
    failed = [item for item in tasks if item["state"] == "failed"]
    return "failed at " + min(failed, key=lambda item: item["end_date"])["task_id"]
