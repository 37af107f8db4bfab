"""A deploy that keeps the place of a query: gate, backup, stop, start, proof, and a rollback when it goes wrong."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException, BaseOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, Param, TaskGroup

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.approval import ask_and_carry_out
from airflow_provider_ckpt.dags.engine_steps import StartOrAsk, StopOrAsk
from airflow_provider_ckpt.dags.steps import (
    PROGRESS_TIMEOUT,
    SUBMIT_PARAMS,
    require_begun,
    state_of,
    submit,
    task_of_step,
    wait_beside,
)
from airflow_provider_ckpt.dags.subject import OF_PARAMS, QueryGroup, Subject, dag_of, subject_of
from airflow_provider_ckpt.hooks.given import is_nothing
from airflow_provider_ckpt.operators.backup import CheckpointBackupOperator
from airflow_provider_ckpt.operators.changes.rollback import CheckpointRollbackOperator
from airflow_provider_ckpt.operators.continuity import CheckpointContinuityOperator
from airflow_provider_ckpt.operators.gate import CheckpointGateOperator
from airflow_provider_ckpt.operators.runs import QueryStartOperator
from airflow_provider_ckpt.operators.task_confs import can_read
from airflow_provider_ckpt.query.sink import parse_sink

#: The step ``stop`` of a query that is stopped before the DAG runs.
BEFORE = "before"

PARAMS: dict[str, Param] = {
    **params.QUERY,
    "backup_root": params.BACKUP_ROOT,
    **params.APPLICATION,
    "sources": params.SOURCES,
    "sink": params.SINK,
    "spark_version": params.SPARK_VERSION,
    "trim_sink_log": params.optional(
        ["null", "boolean"],
        "A rollback removes the dropped batches from a file sink's log, too; by default for a file sink",
    ),
}

_ABOUT = """The restart of `QUERY` failed, made no progress, or did not go on where the query had stopped;
the log of the red task says which.

Plan `{{ plan['plan_id'] }}` goes back to batch {{ plan['batch_id'] }}, the last one before the deploy,
in {{ plan['actions'] }} steps. What it removes is kept for `ckpt undo`."""

log = logging.getLogger("airflow.task")


def deploy_query(query: Any = None, *, group_id: str | None = None, **deploy: Any) -> TaskGroup:
    """A task group that deploys a query: gate, backup, stop, start, wait, continuity; and back when it goes wrong.

    What comes after the group comes after its task ``deployed``, and is not run when the deploy was not good.

    Args:
        query: Its name in the query file, one of ``queries()``, or its checkpointLocation.
        group_id: ``deploy_`` and the name by default.
        **deploy: ``checkpoint``, ``checkpoint_conn_id`` and ``query_file`` as operators take them, and what
            :func:`deploy_tasks` takes: stop, start, start_previous, backup_root, sources, sink, ….
    """
    subject = _subject_of(query, deploy)
    with QueryGroup(group_id=group_id or f"deploy_{subject.key}") as group:
        last = deploy_tasks(subject, **deploy)
    group.last = last
    return group


def deploy_dag(
    query: Any = None, *, dag_id: str | None = None, dag: Mapping[str, Any] | None = None, **deploy: Any
) -> DAG:
    """The DAG that deploys a query, with the tasks of :func:`deploy_query`.

    Args:
        query: Its name in the query file, one of ``queries()``, or its checkpointLocation.
        dag_id: ``deploy_`` and the name by default.
        dag: Arguments of the DAG, such as ``default_args`` and ``tags``.
        **deploy: ``checkpoint``, ``checkpoint_conn_id`` and ``query_file`` as operators take them, and what
            :func:`deploy_tasks` takes: stop, start, start_previous, backup_root, sources, sink, ….
    """
    subject = _subject_of(query, deploy)
    with dag_of(dag_id or f"deploy_{subject.key}", None, **(dag or {})) as made:
        deploy_tasks(subject, **deploy)
    return made


def _subject_of(query: Any, deploy: dict[str, Any]) -> Subject:
    """The query, whose arguments are taken out of those of a deploy."""
    return subject_of(
        query, **{key: deploy.pop(key, None) for key in ("checkpoint", "checkpoint_conn_id", "query_file")}
    )


def pre_deploy_gate_dag(dag_id: str = "pre_deploy_gate", **dag: Any) -> DAG:
    """The DAG that deploys the query of its params; stop the old run of the query before it runs."""
    with dag_of(dag_id, PARAMS, **dag) as made:
        deploy_tasks(
            OF_PARAMS,
            **params.arguments_of("backup_root", "sources", "sink", "trim_sink_log"),
            spark_version=params.VERSION_OF_PARAMS,
            stop=BEFORE,
            start=submit(**SUBMIT_PARAMS),
            start_id="restart",
            start_previous=False,
        )
    return made


def deploy_tasks(
    subject: Subject,
    *,
    backup_root: str | None = None,
    stop: Any = None,
    start: Any = None,
    start_id: str = "start",
    start_previous: Any = None,
    sources: Any = None,
    sink: str | None = None,
    spark_version: str | None = None,
    confs: Mapping[str, Any] | None = None,
    trim_sink_log: bool | str | None = None,
    gate: Mapping[str, Any] | None = None,
    asks: Mapping[str, Any] | None = None,
    progress_timeout: timedelta = PROGRESS_TIMEOUT,
) -> Any:
    """The tasks of a deploy, in the DAG or the group that is open; the one that succeeds after a good deploy alone.

    Args:
        subject: The query.
        backup_root: Where backups of the query live; by default as the query file says.
        stop: The step that stops the query, whichever version runs; without one, the engine of the query does, or a
            person where the query file declares none. It has to
            succeed for a query that does not run. ``"before"`` says that the query is stopped before the DAG runs, and
            that a person says so again when a rollback is approved.
        start: The step that starts the new version; without one, as ``stop``. The gate takes its confs when it can read
            them, as those of a ``SparkSubmitOperator``.
        start_id: The id of its task.
        start_previous: The step that starts the version before, after a rollback; without one, as ``stop``: an engine
            starts what was recorded. ``False`` leaves it to whoever has started the DAG.
        sources: As the gate takes them.
        sink: Such as ``file:s3://lake/orders``.
        spark_version: Such as ``4.3``.
        confs: SQL confs of the deploy, for the gate, where it cannot read them from ``start``.
        trim_sink_log: A rollback removes the dropped batches from a file sink's log, too; by default for a file sink.
        gate: Other arguments of ``CheckpointGateOperator``.
        asks: Arguments of the task that asks for the approval of a rollback, such as ``assigned_users``, ``notifiers``.
        progress_timeout: How long the query may take to its first commit.
    """
    starting = task_of_step(start, start_id, subject, "Start the new version of the query", {"operator": StartOrAsk})
    judge, backup = _gate_and_backup(
        *(subject, starting, backup_root, gate or {}),
        confs=confs,
        sources=sources,
        sink=sink,
        spark_version=spark_version,
    )
    stopped = backup
    if stop != BEFORE:
        of_one = {"operator": StopOrAsk, "of_one_query": True}
        stopped = task_of_step(stop, "stop", subject, "Stop the query", of_one)
        backup >> stopped
    deployed, wrong = _proof(subject, starting, stopped, judge, sources, progress_timeout)

    again = wrong
    if stop != BEFORE:
        failed = {"operator": StopOrAsk, "interrupt_batch": True}
        again = task_of_step(
            _repeatable(stop), "stop_again", subject, "Stop the query, whose deploy went wrong", failed
        )
        [wrong, stopped] >> again
    plan = CheckpointRollbackOperator(
        task_id="rollback_plan",
        to_before_deploy=judge.output["bookmark"],
        backup_root=backup_root,
        sink=sink,
        trim_sink_log=trim_sink_log,
        pre_execute=partial(goes_back, stop=stopped.task_id),
        plan_only=True,
        **subject.arguments,
    )
    # a backup or a stop that fails is no deploy that went wrong: nothing was started then
    [again, backup] >> plan
    back = ask_and_carry_out(
        *(CheckpointRollbackOperator, "rollback", subject, plan, "Roll back QUERY"), about=_ABOUT, asks=asks
    ).done
    if start_previous is not False:
        before = {"operator": StartOrAsk, "version": "previous", "gate": False}
        back >> task_of_step(start_previous, "start_previous", subject, "Start the version before the deploy", before)
    return deployed


def _gate_and_backup(
    subject: Subject, starting: Any, backup_root: str | None, gate: Mapping[str, Any], **deploy: Any
) -> tuple[Any, Any]:
    """The gate, which leads to the backup, or to a task that says what has closed it; the gate and the backup."""
    judge = CheckpointGateOperator(
        task_id="gate",
        spark_task=starting if can_read(starting) else None,
        on_block="branch",
        branch_pass="",
        branch_block="",
        **deploy,
        **gate,
        **subject.arguments,
    )
    backup = CheckpointBackupOperator(task_id="backup", backup_root=backup_root, **subject.arguments)
    # a function with @task would take three times as long to parse: a file may have hundreds of deploys
    closed = PythonOperator(task_id="blocked", python_callable=blocked, op_kwargs={"forecast": judge.output})
    judge.branch_pass, judge.branch_block = backup.task_id, closed.task_id
    judge >> backup
    return judge, backup


def _proof(
    subject: Subject, starting: Any, stopped: Any, judge: Any, sources: Any, timeout: timedelta
) -> tuple[Any, Any]:
    """What sees, after ``stopped``, that the query goes on; the task when it does, and the task when it does not."""
    require = require_begun(starting.task_id)
    # not in the triggerer, which does not see that the start fails
    wait = wait_beside(
        starting,
        subject,
        batch_id=f"{{{{ ti.xcom_pull(task_ids='{judge.task_id}')['resumes_at_batch'] }}}}",
        timeout=timeout,
        pre_execute=require,
    )
    continuity = CheckpointContinuityOperator(
        task_id="continuity",
        bookmark=judge.output["bookmark"],
        sources=sources,
        pre_execute=require,
        **subject.arguments,
    )
    deployed = EmptyOperator(task_id="deployed")
    wrong = PythonOperator(
        task_id="went_wrong",
        python_callable=went_wrong,
        op_kwargs={"continuity": continuity.task_id, "start": starting.task_id},
        trigger_rule="one_failed",
    )
    stopped >> [starting, wait]
    wait >> continuity >> deployed
    if isinstance(starting, QueryStartOperator):
        starting >> continuity  # it ends with the first commit, and the wait may have seen one of the version before
    [starting, wait, continuity] >> wrong
    return deployed, wrong


def _repeatable(stop: Any) -> Any:
    """A step that can be made twice; a person is asked where it was a task that is there already."""
    return None if isinstance(getattr(stop, "operator", stop), BaseOperator) else stop


def goes_back(context: Any, stop: str) -> None:
    """Take the batch at which the engine has stopped the query, in place of that at which it was judged.

    Args:
        context: Of the task that plans.
        stop: The task that has stopped it before the deploy.
    """
    trim_by_sink(context)
    told = context["ti"].xcom_pull(task_ids=stop)
    if isinstance(told, Mapping) and told.get("receipt") and told.get("batch_id") is not None:
        context["task"].to_batch, context["task"].to_before_deploy = told["batch_id"], None


def trim_by_sink(context: Any) -> None:
    """Remove the dropped batches from the log of a file sink, too, unless it is said whether to; before a plan is made.

    The sink may be one that only the query file knows.
    """
    planning = context["task"]
    if is_nothing(planning.trim_sink_log):
        with planning.running(context):
            planning.trim_sink_log = not is_nothing(planning.sink) and parse_sink(planning.sink).kind == "file"


def blocked(forecast: Mapping[str, Any]) -> None:
    """Fail with what closed the gate: in full in the log, because the headline of an error is cut off."""
    errors = [item for item in forecast["findings"] if item["severity"] == "error"]
    for item in errors:
        log.error("%s: %s %s", item["code"], item["message"], item["hint"] or "")
    codes = ", ".join(dict.fromkeys(item["code"] for item in errors))
    raise AirflowFailException(f"The gate blocks the deploy: {codes or forecast['spark_error']}. The log says why.")


def went_wrong(continuity: str, start: str, ti: Any) -> None:
    """Fail when the deploy was right and the application has failed since."""
    if state_of(continuity, ti) == "success":
        raise AirflowFailException(
            "The application failed after the deploy had gone on where the query had stopped, so no rollback is "
            f"planned. The log of {start} says why. To go back nevertheless, run checkpoint_rollback."
        )
