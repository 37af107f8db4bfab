"""Queries that are watched: each run compares their progress with that of the run before."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from airflow.sdk import DAG, TaskGroup, task

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.subject import QueryGroup, dag_of
from airflow_provider_ckpt.operators.check import CheckpointCheckOperator
from airflow_provider_ckpt.operators.continuity import CheckpointContinuityOperator


def watch_queries(
    checkpoints: Sequence[str],
    *,
    checkpoint_conn_id: str | None = None,
    check: bool = True,
    group_id: str = "watch_queries",
) -> TaskGroup:
    """A task group that fails when a query did not go on where it was, or its checkpoint is damaged.

    ``look_back`` is mapped over the queries, and ``check`` too. The progress of each is kept in an Airflow Variable.

    Args:
        checkpoints: The checkpointLocations.
        checkpoint_conn_id: Connection of type ``checkpoint``.
        check: Check each checkpoint as well.
        group_id: The id of the group.
    """
    with QueryGroup(group_id=group_id) as group:
        watched = watched_of(checkpoints, checkpoint_conn_id)
        look_back(watched)
        if check:
            CheckpointCheckOperator.partial(task_id="check", map_index_template="{{ task.checkpoint }}").expand_kwargs(
                [{key: each[key] for key in ("checkpoint", "checkpoint_conn_id")} for each in watched]
            )
    return group


def watch_dag(dag_id: str = "checkpoint_continuity", *, checkpoints: Sequence[str] = (), **dag: Any) -> DAG:
    """The DAG that compares the progress of the queries of its params with that of the run before, every ten minutes.

    Args:
        dag_id: Its id.
        checkpoints: The param ``checkpoints`` of a run that does not give it.
        **dag: Arguments of the DAG.
    """
    own = {
        "checkpoints": params.places(checkpoints, "Checkpoints, relative to the connection's base or any fsspec URL"),
        "checkpoint_conn_id": params.CONN_ID,
    }
    plain = {"schedule": "*/10 * * * *", "render_template_as_native_obj": False}
    with dag_of(dag_id, own, **{**plain, **dag}) as made:
        look_back(task(task_id="checkpoints")(watched_of_params)())
    return made


def look_back(watched: Any) -> Any:
    """The task, mapped over queries, that compares."""
    return CheckpointContinuityOperator.partial(
        task_id="look_back", map_index_template="{{ task.checkpoint }}"
    ).expand_kwargs(watched)


def watched_of(checkpoints: Sequence[str], checkpoint_conn_id: str | None) -> list[dict[str, str | None]]:
    """The checkpoints, and the Variable of each."""
    return [
        {
            "checkpoint": location,
            "checkpoint_conn_id": checkpoint_conn_id,
            "bookmark_variable": f"ckpt_bookmark_{zlib.crc32(location.encode())}_of_{location.rsplit('/', 1)[-1]}",
        }
        for location in (checkpoint.rstrip("/") for checkpoint in checkpoints)
    ]


def watched_of_params(params: Any = None) -> list[dict[str, str | None]]:
    """Those of a run."""
    return watched_of(params["checkpoints"], params["checkpoint_conn_id"])
