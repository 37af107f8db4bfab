"""The tab of task instances, tasks and runs: how the queries of these tasks are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response

from airflow_provider_ckpt.clock import now_ms
from airflow_provider_ckpt.errors import CheckpointError
from airflow_provider_ckpt.fleet.find import Found
from airflow_provider_ckpt.fleet.judge import judge_checkpoints
from airflow_provider_ckpt.fleet.row import FleetRow
from airflow_provider_ckpt.plugin import fleet_table
from airflow_provider_ckpt.plugin.access import require_task
from airflow_provider_ckpt.plugin.read_task import RunTasks, read_tasks
from airflow_provider_ckpt.plugin.render import render
from airflow_provider_ckpt.plugin.settings import read_settings
from airflow_provider_ckpt.plugin.stores import open_below
from airflow_provider_ckpt.storage.roots import OutsideRootsError, Roots
from airflow_provider_ckpt.untrusted.secrets import scrub

router = APIRouter(dependencies=[Depends(require_task)])

#: So many checkpoints of a run are read; the others are links.
MOST_READ = 20

Id = Annotated[str, Query(min_length=1, max_length=250)]


@router.get("/task")
def show_task(request: Request, dag_id: Id, task_id: Id, run_id: str | None = None, map_index: str = "") -> Response:
    """The checkpoint of a task instance; of all those of the newest run where the address names no run.

    Airflow leaves a part of the address that it does not know as it is, such as ``{MAP_INDEX}``.
    """
    number = int(map_index) if map_index.isascii() and map_index.isdecimal() and len(map_index) < 10 else None
    if run_id is not None and number is None:
        number = -1
    return _shown(request, dag_id, read_tasks(dag_id, run_id, task_id, number, read_settings().queries))


@router.get("/run")
def show_run(request: Request, dag_id: Id, run_id: Id) -> Response:
    """The checkpoints of all tasks of a run."""
    return _shown(request, dag_id, read_tasks(dag_id, run_id, None, None, read_settings().queries))


def _shown(request: Request, dag_id: str, found: RunTasks | None) -> Response:
    if found is None:
        raise HTTPException(404)
    roots = read_settings().roots
    locations = list(dict.fromkeys(task.location for task in found.tasks if task.location))
    shown = [location for location in locations if roots.hold(location)]
    return render(
        request,
        "task.html",
        dag_id=dag_id,
        found=found,
        locations=locations,
        rows=_read(roots, shown[:MOST_READ]),
        shown={location: scrub(location) for location in shown},
        now_ms=now_ms(),
        cells=fleet_table,
        has_roots=bool(roots),
    )


def _read(roots: Roots, locations: Iterable[str]) -> dict[str, FleetRow]:
    """How each of some checkpoints is now; one that cannot be read is a row with its error."""
    rows = {}
    for location in locations:
        try:
            (rows[location],) = judge_checkpoints([Found(open_below(roots, location))])
        except CheckpointError as error:
            rows[location] = FleetRow(location, error=str(error))
        except OutsideRootsError:  # a link has changed since
            continue
    return rows
