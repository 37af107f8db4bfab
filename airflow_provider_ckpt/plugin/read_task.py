"""The checkpoints of tasks: the location that a task was given, as its rendered template fields have it.

They are read from Airflow's database: the right ones for mapped tasks too, and for tasks that failed or wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow.models.dagrun import DagRun
from airflow.models.renderedtifields import RenderedTaskInstanceFields
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from sqlalchemy import and_, select

from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook
from airflow_provider_ckpt.query.query_file import QueryFile

#: So many task instances of a run are asked for their fields.
MOST_TASKS = 1_000
_LOCATION, _CONNECTION = "checkpoint", "checkpoint_conn_id"


@dataclass(frozen=True, slots=True)
class TaskCheckpoint:
    """Checkpoint that a task instance was given.

    Args:
        task_id: The task.
        map_index: -1 for one that is not mapped.
        state: State of the task instance.
        location: Its checkpoint, as a URL; None when it was given none.
        problem: Why the location is not known.
    """

    task_id: str
    map_index: int
    state: str | None
    location: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class RunTasks:
    """Task instances of one run.

    Args:
        run_id: The run.
        tasks: Those that were asked for, by task and map index.
    """

    run_id: str
    tasks: tuple[TaskCheckpoint, ...]


def read_tasks(
    dag_id: str, run_id: str | None, task_id: str | None, map_index: int | None, file: QueryFile | None = None
) -> RunTasks | None:
    """The task instances of a run, or of the newest run that has some; None when there are none.

    Args:
        dag_id: The DAG.
        run_id: The run; None for the newest.
        task_id: The task; None for all.
        map_index: Map index of a mapped task; None for all.
        file: The query file, by whose names tasks may know their queries.
    """
    wanted = [TaskInstance.dag_id == dag_id]
    wanted += [] if task_id is None else [TaskInstance.task_id == task_id]
    wanted += [] if map_index is None else [TaskInstance.map_index == map_index]
    with create_session() as session:
        if run_id is None:
            of_run = and_(TaskInstance.dag_id == DagRun.dag_id, TaskInstance.run_id == DagRun.run_id)
            newest = select(TaskInstance.run_id).join(DagRun, of_run).where(*wanted).order_by(DagRun.id.desc())
            run_id = session.scalar(newest.limit(1))
        fields = RenderedTaskInstanceFields
        same = [getattr(fields, name) == getattr(TaskInstance, name) for name in _KEY]
        found = session.execute(
            select(TaskInstance.task_id, TaskInstance.map_index, TaskInstance.state, fields.rendered_fields)
            .outerjoin(fields, and_(*same))
            .where(*wanted, TaskInstance.run_id == run_id)
            .order_by(TaskInstance.task_id, TaskInstance.map_index)
            .limit(MOST_TASKS)
        ).all()
    return RunTasks(run_id, tuple(_task(*row, file=file) for row in found)) if run_id is not None and found else None


_KEY = ("dag_id", "run_id", "task_id", "map_index")


def _task(
    task_id: str, map_index: int, state: Any, given: Mapping[str, Any] | None, *, file: QueryFile | None
) -> TaskCheckpoint:
    name = (task_id, map_index, None if state is None else str(state))
    if given is None:
        return TaskCheckpoint(
            *name,
            problem="Airflow has no rendered fields of this task: no worker has run it yet, it needs none, or they "
            "were removed as those of an old run.",
        )
    location, conn_id = given.get(_LOCATION), given.get(_CONNECTION)
    if location in (None, "", "None") and isinstance(query := given.get("query"), str) and query not in ("", "None"):
        return _named(name, query, given.get("query_file"), file)
    if not isinstance(location, str) or not location:
        return TaskCheckpoint(*name)
    location = location if file is None else file.paths.opened(location)
    try:
        return TaskCheckpoint(*name, CheckpointHook(conn_id if isinstance(conn_id, str) else None).url(location))
    except Exception:  # no such connection, or a secrets backend that does not answer
        return TaskCheckpoint(
            *name,
            problem=f"The connection {conn_id} of this task cannot be read here, so it is not "
            "known which location it means.",
        )


def _named(name: tuple[str, int, str | None], query: str, own_file: Any, file: QueryFile | None) -> TaskCheckpoint:
    """A task that was given the name of a query; no other file is opened here than that of the configuration."""
    if own_file not in (None, "", "None"):
        return TaskCheckpoint(*name, problem=f"The query {query} of this task is one of a file that is not read here.")
    known = None if file is None else file.queries.get(query)
    if known is None:
        return TaskCheckpoint(*name, problem=f"The query file has no query {query}, or cannot be read here.")
    return TaskCheckpoint(*name, known.checkpoint)
