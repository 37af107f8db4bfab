"""A query that goes back: the task group, and the DAG that the pages of a checkpoint start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import DAG, Param, TaskGroup, task

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.approval import ask_and_carry_out, preview_of
from airflow_provider_ckpt.dags.engine_steps import StartOrAsk, StartWhereDeclared, StopOrAsk, StopWhereDeclared
from airflow_provider_ckpt.dags.steps import restart_of_params, task_of_step, wait_after
from airflow_provider_ckpt.dags.subject import OF_PARAMS, QueryGroup, dag_of, subject_of
from airflow_provider_ckpt.operators.changes.rollback import CheckpointRollbackOperator

#: What of the params says which plan it is: the preview of the pages takes the same.
GOAL = {
    "to_batch": params.optional(params.NUMBER, "The last batch to keep"),
    "to_timestamp": params.optional(params.TEXT, "Or: batches that began after this time go"),
    "to_watermark": params.optional(params.TEXT, "Or: batches with a later watermark go"),
    "to_offsets": params.optional(params.MAPPING, "Or: batches past these offsets go, by source id"),
    "to_backup": params.optional(params.TEXT, "Or: the batch of a backup, ROOT/ID; also a purged one"),
    "to_before_deploy": params.optional(params.MAPPING, "Or: the batch before a deploy, by the bookmark of its gate"),
    "sources": params.optional(params.MAPPING, "Types of the sources by id, such as kafka"),
    "sink": params.SINK,
    "trigger": params.TRIGGER,
    "trim_sink_log": params.flag("Remove the dropped batches from a file sink's log, too"),
    "backup_root": params.optional(params.TEXT, "Where a batch that was purged may be"),
}
_QUESTION = "Roll back QUERY"
_ABOUT = """Plan `{{ plan['plan_id'] }}` takes `QUERY` back to batch {{ plan['batch_id'] }} in
{{ plan['actions'] }} steps. What it removes is kept for `ckpt undo`; every step is in the log of the task `plan`."""


def roll_back_query(
    query: Any = None,
    *,
    stop: Any = None,
    start: Any = None,
    checkpoint: str | None = None,
    checkpoint_conn_id: str | None = None,
    query_file: str | None = None,
    group_id: str | None = None,
    asks: dict[str, Any] | None = None,
    **goal: Any,
) -> TaskGroup:
    """A task group that takes a query back when a person has approved: stop, plan, approve, rollback, start, wait.

    It stops before it plans: a plan that is made beside a running query is out of date with the next batch, and is
    refused. What comes after the group comes after ``wait``, the first commit of the query that was started.

    Args:
        query: Its name in the query file, one of ``queries()``, or its checkpointLocation.
        stop: The step that stops it; without one, its engine does, or a person where none is declared.
        start: The step that starts it; without one, its engine does, or a person where none is declared.
        checkpoint: The checkpointLocation, in place of ``query``.
        checkpoint_conn_id: Connection of type ``checkpoint``.
        query_file: The query file, in place of that of Airflow.
        group_id: The id of the group, ``roll_back_`` and the name by default.
        asks: Arguments of the task that asks for the approval, such as ``assigned_users`` and ``notifiers``.
        **goal: Arguments of ``CheckpointRollbackOperator``: where to, sink, sources, backup_root, ….
    """
    subject = subject_of(query, checkpoint=checkpoint, checkpoint_conn_id=checkpoint_conn_id, query_file=query_file)
    with QueryGroup(group_id=group_id or f"roll_back_{subject.key}") as group:
        stopped = task_of_step(stop, "stop", subject, "Stop the query", {"operator": StopOrAsk})
        plan = CheckpointRollbackOperator(task_id="plan", plan_only=True, **goal, **subject.arguments)
        asked = ask_and_carry_out(
            *(CheckpointRollbackOperator, "rollback", subject, plan, _QUESTION, _ABOUT), asks=asks
        )
        started = task_of_step(start, "start", subject, "Start the query", {"operator": StartOrAsk})
        waited = wait_after(plan, started, subject)
        stopped >> plan
        asked.done >> [started, waited]
    group.last = waited
    return group


def rollback_dag(dag_id: str = "checkpoint_rollback", **dag: Any) -> DAG:
    """The DAG that takes the query of its params back; the pages of a checkpoint start it.

    Without the param ``application`` nothing is started: the person who has stopped the query starts it again.
    """
    return change_dag(dag_id, CheckpointRollbackOperator, "rollback", GOAL, _QUESTION, _ABOUT, **dag)


def change_dag(
    dag_id: str, operator: Any, kind: str, goal: Mapping[str, Param], question: str, about: str, **dag: Any
) -> DAG:
    """The DAG of a change of the query of its params: stop, plan, ask, approve, the change, start, restart, wait.

    ``stop`` and ``start`` are for a query whose engine is declared, ``restart`` and ``wait`` for another.

    Args:
        dag_id: Its id.
        operator: Of the change.
        kind: The id of the task that carries the plan out, and the change as the page of the checkpoint names it.
        goal: The params that say which plan it is.
        question: What a person is asked, as :func:`ask_and_carry_out` takes it.
        about: A paragraph of the change, too.
        **dag: Arguments of the DAG.
    """
    with dag_of(dag_id, {**params.QUERY, **goal, **params.EXPECTED_PLAN, **params.START}, **dag) as made:
        stopped = stop_where_declared("expected_plan")
        said = params.arguments_of(*goal, "expected_plan")
        plan = operator(task_id="plan", plan_only=True, **said, **OF_PARAMS.arguments)
        asked = ask_and_carry_out(operator, kind, OF_PARAMS, plan, question, about, preview=preview_of(kind, goal))
        stopped >> plan
        start_or_restart(asked.done, plan)
    return made


def stop_where_declared(*names: str) -> StopWhereDeclared:
    """The first task of a change: it stops the query where an engine is declared of it."""
    return StopWhereDeclared(task_id="stop", **params.arguments_of("application", *names), **OF_PARAMS.arguments)


def start_or_restart(done: Any, plan: Any) -> None:
    """After a change: the engine starts the query where one is declared, otherwise the application of the params."""
    started = StartWhereDeclared(task_id="start", **OF_PARAMS.arguments)
    done >> started >> task.short_circuit(restarts)("{{ params.application }}") >> restart_of_params(plan)


def restarts(application: str | None) -> bool:
    """Nothing to submit: the engine has started it, or the person who has stopped it starts it again."""
    return bool(application)
