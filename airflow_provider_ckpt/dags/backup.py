"""Backups of many queries: taken, pruned, and rehearsed once a week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, Param, TaskGroup, get_current_context, task

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.subject import QueryGroup, dag_of, subject_of
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors
from airflow_provider_ckpt.hooks.query_file import as_opened
from airflow_provider_ckpt.operators.backup import CheckpointBackupOperator
from airflow_provider_ckpt.operators.prune import CheckpointPruneOperator
from airflow_provider_ckpt.operators.verify import CheckpointVerifyOperator

#: What a prune keeps of each query, where neither its file nor an argument says it.
KEEP: Mapping[str, Any] = {
    "keep_last": 3,
    "keep_daily": 7,
    "keep_weekly": 4,
    "keep_monthly": 12,
    "keep_tags": ("keep",),
}
#: Backups of each query that a prune never goes below, where nobody says which it keeps.
LEAST = 2


def back_up_queries(
    queries: Sequence[Any],
    *,
    backup_root: str | None = None,
    checkpoint_conn_id: str | None = None,
    query_file: str | None = None,
    tags: Any = (),
    keep: Mapping[str, Any] | None = None,
    rehearsal_weekday: int | None = 7,
    group_id: str = "back_up_queries",
) -> TaskGroup:
    """A task group that backs queries up, prunes their backups, and rehearses a restore on one day of the week.

    Args:
        queries: Their names in the query file, those of ``queries()``, or checkpointLocations.
        backup_root: Where backups of all of them live; by default of each as the query file says.
        checkpoint_conn_id: Connection of type ``checkpoint``.
        query_file: The query file, in place of that of Airflow.
        tags: Names for the backups.
        keep: What :class:`CheckpointPruneOperator` keeps of each query; by default as the query file says, or KEEP.
        rehearsal_weekday: ISO weekday (1 is Monday), or None. A rehearsal needs PySpark and Java.
        group_id: The id of the group.

    Raises:
        ValueError: A location is among the queries, and no root is given.
    """
    access = {"checkpoint_conn_id": checkpoint_conn_id, "query_file": query_file}
    subjects = [subject_of(query, **access) for query in queries]
    named = [{"query": item.arguments.get("query")} for item in subjects]
    if not backup_root and {"query": None} in named:
        raise ValueError("give backup_root, or the names of queries whose file says where backups of them live")
    with QueryGroup(group_id=group_id) as group:
        backup_tasks(
            [dict(item.arguments) for item in subjects],
            [{"backup_root": backup_root}] if backup_root else named,
            rehearsal_weekday,
            backup_root=backup_root,
            tags=tags,
            keep=keep,
            **({"query_file": query_file} if query_file else {}),
        )
    return group


def backup_dag(
    dag_id: str = "checkpoint_backup",
    *,
    roots: Sequence[str] = (),
    backup_root: str = "",
    keep: Mapping[str, Any] | None = None,
    **dag: Any,
) -> DAG:
    """The DAG that backs up every checkpoint under some roots, each day.

    Args:
        dag_id: Its id.
        roots: The param ``roots`` of a run that does not give it.
        backup_root: The param ``backup_root`` of a run that does not give it.
        keep: What a prune keeps of each query; by default as the query file says, or KEEP.
        **dag: Arguments of the DAG.
    """
    declared = {
        "roots": params.roots(roots),
        "queries": params.QUERIES,
        "backup_root": Param(backup_root, type="string", description="Where backups live; or as the query file says"),
        "checkpoint_conn_id": params.CONN_ID,
        "depth": params.depth(),
        "tags": params.texts((), "Names for the backups of this run"),
        "rehearsal_weekday": Param(7, type=["null", "integer"], description="ISO weekday (1 is Monday), or none"),
    }
    again = {"retries": 2, "retry_delay": timedelta(minutes=1)}
    with dag_of(dag_id, declared, **{"schedule": "@daily", "default_args": again, **dag}) as made:
        found, prunes = task(find)(), task(roots_of_backups)()
        found >> prunes
        back_up, prune = backup_tasks(
            found,
            prunes,
            "{{ params.rehearsal_weekday }}",
            keep=keep,
            **params.arguments_of("backup_root", "tags"),
            checkpoint_conn_id="{{ params.checkpoint_conn_id }}",
        )
        left_out = task(trigger_rule="none_failed", retries=0)(nothing_was_left_out)(found["unreadable"])
        [back_up, prune] >> left_out
    return made


def backup_tasks(
    queries: Any,
    roots: Any,
    rehearsal_weekday: Any,
    *,
    backup_root: str | None,
    tags: Any,
    keep: Mapping[str, Any] | None,
    **access: Any,
) -> tuple[Any, Any]:
    """The tasks of the backups in the DAG or group that is open; those that back up and prune.

    Args:
        queries: What a backup takes of each query; or the task that returns that.
        roots: What a prune takes of each root; or the task that returns that.
        rehearsal_weekday: The day of rehearsals.
        backup_root: The root of all backups, or None.
        tags: Names for the backups.
        keep: What a prune keeps of each query; by default as the query file says, or KEEP.
        **access: ``checkpoint_conn_id`` and ``query_file`` of all operators.
    """
    taken = {"task_id": "back_up", "map_index_template": "{{ task.query or task.checkpoint }}", "tags": tags}
    back_up = CheckpointBackupOperator.partial(backup_root=backup_root, **taken, **access).expand_kwargs(queries)
    # queries may have one root, which one prune locks
    pruned = {"task_id": "prune", "trigger_rule": "all_done", "max_active_tis_per_dagrun": 1}
    kept = {"keep_otherwise": KEEP, "min_redundancy": LEAST} if keep is None else keep
    prune = CheckpointPruneOperator.partial(**pruned, **kept, **access).expand_kwargs(roots)
    is_day = task.short_circuit(ignore_downstream_trigger_rules=False)(is_rehearsal_day)(rehearsal_weekday)
    rehearse = CheckpointVerifyOperator.partial(
        task_id="rehearse", rehearse=True, backup_root=backup_root, **access
    ).expand_kwargs(back_up.output.map(rehearsed))
    back_up >> prune >> is_day >> rehearse
    return back_up, prune


def find(params: Any = None) -> list[dict[str, str]]:
    """All checkpoints below the roots of the params, and the queries that these name."""
    from airflow_provider_ckpt import api

    if not params["queries"] and not (params["roots"] and params["backup_root"]):
        raise AirflowFailException(
            "Set the params roots and backup_root, or these arguments of backup_dag, or the param queries."
        )
    hook = CheckpointHook(params["checkpoint_conn_id"])
    with airflow_errors():
        found = list(
            api.find_checkpoints([hook.store(root) for root in as_opened(params["roots"])], depth=params["depth"])
        )
    unreadable = [row for row in found if isinstance(row, api.FleetRow) and row.error]
    ti = get_current_context()["ti"]
    ti.xcom_push("unreadable", [f"{row.location}: {row.error}" for row in unreadable])
    named = [{"query": name} for name in params["queries"]]
    return [*named, *({"checkpoint": item.store.location} for item in found if isinstance(item, api.Found))]


def roots_of_backups(params: Any = None) -> list[dict[str, str]]:
    """What a prune takes of each root: the one of the params, or the query whose root the query file says."""
    root = params["backup_root"]
    return [{"backup_root": root}] if root else [{"query": name} for name in params["queries"]]


def is_rehearsal_day(weekday: Any) -> bool:
    """Whether backups are rehearsed by this run."""
    return bool(str(get_current_context()["dag_run"].run_after.isoweekday()) == str(weekday))


def rehearsed(backup: Mapping[str, Any]) -> dict[str, Any]:
    """What a rehearsal takes of a backup that a task has taken."""
    return {key: backup[key] for key in ("backup_id", "query") if key in backup}


def nothing_was_left_out(unreadable: Sequence[str]) -> None:
    """Fail when there may be checkpoints that were not found; a backup or a prune that failed is one by itself."""
    if unreadable:
        raise AirflowFailException("\n".join(["Could not be read:", *unreadable]))
