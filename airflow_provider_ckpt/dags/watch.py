"""Queries that are watched: each run compares their progress with that of the run before."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from airflow.sdk import DAG, TaskGroup, task

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.subject import QueryGroup, dag_of, subject_of
from airflow_provider_ckpt.operators.check import CheckpointCheckOperator
from airflow_provider_ckpt.operators.continuity import CheckpointContinuityOperator
from airflow_provider_ckpt.operators.queries import CheckpointQueriesOperator


def watch_queries(
    queries: Sequence[Any],
    *,
    checkpoint_conn_id: str | None = None,
    query_file: str | None = None,
    group_id: str = "watch_queries",
) -> TaskGroup:
    """A task group that fails when a query did not go on where it was, is past a threshold, or is damaged.

    ``look_back`` is mapped over the queries; the progress of each is kept in an Airflow Variable. ``thresholds`` reads
    all queries that are named, and ``check`` those that are not.

    Args:
        queries: Their names in the query file, those of ``queries()``, or checkpointLocations.
        checkpoint_conn_id: Connection of type ``checkpoint``.
        query_file: The query file, in place of that of Airflow.
        group_id: The id of the group.
    """
    access: dict[str, Any] = {"checkpoint_conn_id": checkpoint_conn_id, "query_file": query_file}
    subjects = [subject_of(query, **access) for query in queries]
    names = [item.name for item in subjects if "query" in item.arguments]
    located = [dict(item.arguments) for item in subjects if "query" not in item.arguments]
    with QueryGroup(group_id=group_id) as group:
        look_back([{**item.arguments, "bookmark_variable": variable_of(item.name)} for item in subjects])
        if names:
            CheckpointQueriesOperator(task_id="thresholds", query=names, **access)
        if located:
            CheckpointCheckOperator.partial(task_id="check", map_index_template="{{ task.checkpoint }}").expand_kwargs(
                located
            )
    return group


def watch_dag(dag_id: str = "checkpoint_continuity", *, checkpoints: Sequence[str] = (), **dag: Any) -> DAG:
    """The DAG that compares the progress of the queries of its params with that of the run before, every ten minutes.

    Args:
        dag_id: Its id.
        checkpoints: The param ``checkpoints`` of a run that does not give it.
        **dag: Arguments of the DAG.
    """
    declared = {
        "checkpoints": params.roots(checkpoints, "Checkpoints"),
        "queries": params.QUERIES,
        "checkpoint_conn_id": params.CONN_ID,
    }
    plain = {"schedule": "*/10 * * * *", "render_template_as_native_obj": False}
    with dag_of(dag_id, declared, **{**plain, **dag}) as made:
        look_back(task(task_id="checkpoints")(watched_of_params)())
    return made


def look_back(watched: Any) -> Any:
    """The task, mapped over queries, that compares."""
    return CheckpointContinuityOperator.partial(
        task_id="look_back", map_index_template="{{ task.query or task.checkpoint }}"
    ).expand_kwargs(watched)


def variable_of(name: str) -> str:
    """The Variable that keeps the progress of a query between runs."""
    return f"ckpt_bookmark_{zlib.crc32(name.encode())}_of_{name.rsplit('/', 1)[-1]}"


def watched_of_params(params: Any = None) -> list[dict[str, str | None]]:
    """What ``look_back`` takes of each query of a run."""
    conn_id = params["checkpoint_conn_id"]
    located = [checkpoint.rstrip("/") for checkpoint in params["checkpoints"]]
    return [
        *(
            {"checkpoint": each, "checkpoint_conn_id": conn_id, "bookmark_variable": variable_of(each)}
            for each in located
        ),
        *({"query": name, "bookmark_variable": variable_of(name)} for name in params["queries"]),
    ]
