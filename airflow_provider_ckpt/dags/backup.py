"""Backups of many queries: taken, pruned, and rehearsed once a week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, Param, TaskGroup, get_current_context, task

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.subject import QueryGroup, dag_of
from airflow_provider_ckpt.hooks.checkpoint import CheckpointHook, airflow_errors
from airflow_provider_ckpt.operators.backup import CheckpointBackupOperator
from airflow_provider_ckpt.operators.prune import CheckpointPruneOperator
from airflow_provider_ckpt.operators.verify import CheckpointVerifyOperator

#: What a prune keeps of each query.
KEEP: Mapping[str, Any] = {
    "keep_last": 3,
    "keep_daily": 7,
    "keep_weekly": 4,
    "keep_monthly": 12,
    "keep_tags": ("keep",),
    "min_redundancy": 2,
}


def back_up_queries(
    checkpoints: Sequence[str],
    *,
    backup_root: str,
    checkpoint_conn_id: str | None = None,
    tags: Any = (),
    keep: Mapping[str, Any] = KEEP,
    rehearsal_weekday: int | None = 7,
    group_id: str = "back_up_queries",
) -> TaskGroup:
    """A task group that backs queries up, prunes their backups, and rehearses a restore on one day of the week.

    Args:
        checkpoints: The checkpointLocations, or what another task has returned.
        backup_root: Where backups of all of them live.
        checkpoint_conn_id: Connection of type ``checkpoint``.
        tags: Names for the backups.
        keep: What :class:`CheckpointPruneOperator` keeps of each query.
        rehearsal_weekday: ISO weekday (1 is Monday), or None. A rehearsal needs PySpark and Java.
        group_id: The id of the group.
    """
    with QueryGroup(group_id=group_id) as group:
        backup_tasks(
            checkpoints,
            backup_root=backup_root,
            checkpoint_conn_id=checkpoint_conn_id,
            tags=tags,
            keep=keep,
            rehearsal_weekday=rehearsal_weekday,
        )
    return group


def backup_dag(
    dag_id: str = "checkpoint_backup",
    *,
    roots: Sequence[str] = (),
    backup_root: str = "",
    keep: Mapping[str, Any] = KEEP,
    **dag: Any,
) -> DAG:
    """The DAG that backs up every checkpoint under some roots, each day.

    Args:
        dag_id: Its id.
        roots: The param ``roots`` of a run that does not give it.
        backup_root: The param ``backup_root`` of a run that does not give it.
        keep: What a prune keeps of each query.
        **dag: Arguments of the DAG.
    """
    own = {
        "roots": params.places(roots, "Where checkpoints are, relative to the connection's base or any fsspec URL"),
        "backup_root": Param(backup_root, type="string", description="Where backups live"),
        "checkpoint_conn_id": params.CONN_ID,
        "depth": params.depth(),
        "tags": params.places((), "Names for the backups of this run"),
        "rehearsal_weekday": Param(7, type=["null", "integer"], description="ISO weekday (1 is Monday), or none"),
    }
    again = {"retries": 2, "retry_delay": timedelta(minutes=1)}
    with dag_of(dag_id, own, **{"schedule": "@daily", "default_args": again, **dag}) as made:
        locations = task(find)()
        back_up, prune = backup_tasks(
            locations,
            **params.arguments_of("backup_root", "checkpoint_conn_id", "tags", "rehearsal_weekday"),
            keep=keep,
        )
        left_out = task(trigger_rule="none_failed", retries=0)(nothing_was_left_out)(locations["unreadable"])
        [back_up, prune] >> left_out
    return made


def backup_tasks(
    checkpoints: Any,
    *,
    backup_root: str,
    checkpoint_conn_id: str | None,
    tags: Any,
    keep: Mapping[str, Any],
    rehearsal_weekday: Any,
) -> tuple[Any, Any]:
    """The tasks of the backups in the DAG or group that is open; those that back up and prune."""
    places: dict[str, Any] = {"checkpoint_conn_id": checkpoint_conn_id, "backup_root": backup_root}
    back_up = CheckpointBackupOperator.partial(task_id="back_up", tags=tags, **places).expand(checkpoint=checkpoints)
    prune = CheckpointPruneOperator(task_id="prune", trigger_rule="all_done", **keep, **places)
    is_day = task.short_circuit(ignore_downstream_trigger_rules=False)(is_rehearsal_day)(rehearsal_weekday)
    rehearse = CheckpointVerifyOperator.partial(task_id="rehearse", rehearse=True, **places).expand(
        backup_id=back_up.output.map(backup_id_of)
    )
    back_up >> prune >> is_day >> rehearse
    return back_up, prune


def find(params: Any = None) -> list[str]:
    """The locations of all checkpoints below the roots of the params."""
    from airflow_provider_ckpt import api

    if not params["roots"] or not params["backup_root"]:
        raise AirflowFailException("Set CKPT_BACKUP_ROOTS and CKPT_BACKUP_TO, or the params roots and backup_root.")
    hook = CheckpointHook(params["checkpoint_conn_id"])
    with airflow_errors():
        found = list(api.find_checkpoints([hook.store(root) for root in params["roots"]], depth=params["depth"]))
    unreadable = [row for row in found if isinstance(row, api.FleetRow) and row.error]
    get_current_context()["ti"].xcom_push("unreadable", [f"{row.location}: {row.error}" for row in unreadable])
    return [item.store.location for item in found if isinstance(item, api.Found)]


def is_rehearsal_day(weekday: Any) -> bool:
    """Whether backups are rehearsed by this run."""
    return bool(str(get_current_context()["dag_run"].run_after.isoweekday()) == str(weekday))


def backup_id_of(backup: Mapping[str, Any]) -> Any:
    """The id of a backup that a task has taken."""
    return backup["backup_id"]


def nothing_was_left_out(unreadable: Sequence[str]) -> None:
    """Fail when there may be checkpoints that were not found; a backup or a prune that failed is one by itself."""
    if unreadable:
        raise AirflowFailException("\n".join(["Could not be read:", *unreadable]))
