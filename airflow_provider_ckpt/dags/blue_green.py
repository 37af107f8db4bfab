"""A deploy that has shown, beside the live query, that its rows are right."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, Param

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.approval import approve
from airflow_provider_ckpt.dags.steps import POLL, PROGRESS_TIMEOUT, SUBMIT_PARAMS, submit, task_of_step, wait_beside
from airflow_provider_ckpt.dags.subject import OF_PARAMS, dag_of
from airflow_provider_ckpt.operators.backup import CheckpointBackupOperator
from airflow_provider_ckpt.operators.changes.restore import CheckpointRestoreOperator
from airflow_provider_ckpt.operators.compare import CheckpointCompareOperator
from airflow_provider_ckpt.operators.continuity import CheckpointContinuityOperator
from airflow_provider_ckpt.operators.gate import CheckpointGateOperator
from airflow_provider_ckpt.operators.stage import CheckpointStageOperator
from airflow_provider_ckpt.operators.switch import CheckpointSwitchOperator
from airflow_provider_ckpt.operators.task_confs import can_read
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

#: How long the new version may take to the range that is compared.
SHADOW_TIMEOUT = timedelta(hours=2)

PARAMS: dict[str, Param] = {
    **params.QUERY,
    "backup_root": params.BACKUP_ROOT,
    "sink": params.optional(params.TEXT, "The sink of the live query, such as file:s3://lake/orders"),
    "accept_sink": Param([], type="array", description="Effects of the switch that are accepted, such as duplicated"),
    "fork": Param(type="string", description="The checkpointLocation of the new version beside it: new or empty"),
    "shadow_sink": Param(
        type="string", description="Its output, the only sink that it declares, such as file:s3://lake/orders-shadow"
    ),
    "application": params.APPLICATION["application"],
    "application_args": Param([], type="array", description="Its arguments for the live checkpoint and sink"),
    "shadow_args": Param([], type="array", description="Its arguments for the fork and the shadow sink"),
    "judge_shadow_args": Param(
        True,
        type="boolean",
        description="False: the application finds the fork and the shadow sink elsewhere than in shadow_args",
    ),
    "confs": params.APPLICATION["confs"],
    # The output of a fork begins with a later batch than 0, so a file sink would find a hole when it compacts its log.
    "shadow_confs": Param(
        {"spark.sql.streaming.fileSink.log.compactInterval": "1000000000"},
        type="object",
        description="What it gets besides on the fork",
    ),
    "sources": params.SOURCES,
    "spark_version": params.SPARK_VERSION,
    "compare_batches": Param(1, type="integer", minimum=1, description="How many batches to compare; 1 is exact"),
    "keys": Param([], type="array", description="Columns that name a row, for the examples"),
    "ignore": Param([], type="array", description="Columns that may differ"),
    "added": Param([], type="array", description="Columns that the new version adds"),
    "on_difference": Param("fail", enum=["fail", "report"], description="report: let the person decide"),
}

log = logging.getLogger("airflow.task")

APPROVAL = """
{% set allowed = ti.xcom_pull(task_ids='allowed') %}
{% set found = ti.xcom_pull(task_ids='compare') %}
{% set staged = ti.xcom_pull(task_ids='stage') %}
Comparison of batches {{ staged['first_batch'] }} to {{ staged['last_batch'] }} of
`{{ params.query or params.checkpoint }}`:
**{{ found['sentence'] }}** ({{ found['live_rows'] }} live rows, {{ found['shadow_rows'] }} of the new version).

{% for example in found['examples'] %}
* live: `{{ example['live'] or 'none' }}`, new version: `{{ example['shadow'] or 'none' }}`
{% endfor %}

The new version has run on the fork `{{ params.fork }}`, and `{{ params.shadow_sink }}` is the only sink that it has
declared there. `{{ params.application }}` will go on with the checkpoint and the sink of the old one:

{% for sink in allowed['sink_effects'] %}
* Sink {{ sink['sink'] }}: **{{ sink['effect'] }}**: {{ sink['reason'] }}. {{ sink['remedy'] }}
{% endfor %}

The way back:

{% for way in allowed['way_back'] %}
* {{ way }}
{% endfor %}

**Approve only when the old version is stopped, or the task `stop_old` stops it.** Rejected, it runs on as before.
"""


def stopped_by_the_approver(query: str) -> None:
    """The step of a user who stops nothing: the person who has approved says that the query is stopped."""
    log.info("The person who has approved says that the query %s is stopped.", query)


class ForkSensor(CheckpointProgressSensor):
    """Waits for a fork of the query that it names."""

    has_own_checkpoint = True


def blue_green_dag(
    dag_id: str = "blue_green_deploy",
    *,
    stop_old: Any = stopped_by_the_approver,
    shadow_timeout: timedelta = SHADOW_TIMEOUT,
    poll: timedelta = POLL,
    **dag: Any,
) -> DAG:
    """The DAG that runs a new version beside the query of its params, compares both, and switches on an approval.

    Args:
        dag_id: Its id.
        stop_old: The step that stops the old version; without one, to approve is to say that it is stopped.
        shadow_timeout: How long the new version may take to the range that is compared.
        poll: How often the waits poll.
        **dag: Arguments of the DAG.
    """
    with dag_of(dag_id, PARAMS, **dag) as made:
        _tasks(stop_old, shadow_timeout, poll)
    return made


def _tasks(stop_old: Any, shadow_timeout: timedelta, poll: timedelta) -> None:
    switch: dict[str, Any] = {
        "sinks": "{{ params.sink }}",
        **params.arguments_of("accept_sink", "backup_root"),
        **OF_PARAMS.arguments,
    }
    restart = submit(**SUBMIT_PARAMS)(task_id="restart")
    deploy: dict[str, Any] = {
        "spark_task": restart if can_read(restart) else None,
        **params.arguments_of("sources", "sink"),
        "spark_version": params.VERSION_OF_PARAMS,
        **OF_PARAMS.arguments,
    }
    allowed = CheckpointSwitchOperator(task_id="allowed", **switch)
    gate = CheckpointGateOperator(task_id="gate", **deploy)
    allowed >> gate
    compared = _rehearsal(gate, shadow_timeout, poll)
    approving = approve(OF_PARAMS, "Switch QUERY to the new version", APPROVAL)
    by_a_person = PythonOperator(task_id="answered", python_callable=answered)
    stopping = task_of_step(stop_old, "stop_old", OF_PARAMS, "Stop the old version of the query")
    compared >> approving >> by_a_person >> stopping
    _switch(stopping, restart, switch, deploy, poll)


def _rehearsal(gate: Any, shadow_timeout: timedelta, poll: timedelta) -> Any:
    """The new version on a fork, beside the live query; the task that compares both."""
    conn_id, fork_at = OF_PARAMS.arguments["checkpoint_conn_id"], "{{ params.fork }}"
    last_batch = "{{ ti.xcom_pull(task_ids='backup')['batch_id'] + params.compare_batches }}"
    wait: dict[str, Any] = {"deferrable": True, "poke_interval": poll}
    backup = _backup("backup")
    fork = CheckpointRestoreOperator(
        task_id="fork",
        checkpoint=fork_at,
        checkpoint_conn_id=conn_id,
        backup_id="{{ ti.xcom_pull(task_ids='backup')['backup_id'] }}",
        query=OF_PARAMS.arguments["query"],
        new_query_id=True,
        accept_sink="unknown",  # of the shadow sink, which stage judges: it is new, and may not be there yet
        **params.arguments_of("backup_root"),
    )
    next_batch = CheckpointProgressSensor(
        task_id="next_batch", batch_id=last_batch, timeout=PROGRESS_TIMEOUT, **wait, **OF_PARAMS.arguments
    )
    stage = CheckpointStageOperator(
        task_id="stage",
        last_batch=last_batch,
        shadow_args="{{ params.shadow_args if params.judge_shadow_args else None }}",
        **params.arguments_of("fork", "sink", "shadow_sink"),
        **OF_PARAMS.arguments,
    )
    shadow = submit(
        application="{{ params.application }}",
        application_args="{{ params.shadow_args }}",
        conf="{{ dict(params.confs, **params.shadow_confs) }}",
    )(task_id="shadow", pre_execute=first_start, execution_timeout=shadow_timeout)
    caught_up = ForkSensor(
        task_id="caught_up",
        checkpoint=fork_at,
        query=OF_PARAMS.arguments["query"],
        checkpoint_conn_id=conn_id,
        batch_id="{{ ti.xcom_pull(task_ids='stage')['first_batch'] }}",
        timeout=shadow_timeout,
        **wait,
    )
    compare = CheckpointCompareOperator(
        task_id="compare",
        batches=stage.output,
        keys="{{ params['keys'] }}",  # params.keys is a method
        **params.arguments_of("fork", "sink", "shadow_sink", "ignore", "added", "on_difference"),
        **OF_PARAMS.arguments,
    )
    gate >> backup >> [fork, next_batch] >> stage >> shadow >> caught_up >> compare
    return compare


def _switch(stop_old: Any, restart: Any, switch: dict[str, Any], deploy: dict[str, Any], poll: timedelta) -> None:
    """The new version on the checkpoint and the sink of the old one, once that is stopped."""
    stopped = CheckpointSwitchOperator(task_id="stopped", query_is_stopped=True, **switch)
    gate_again = CheckpointGateOperator(task_id="gate_again", **deploy)
    keep = _backup("keep")
    still_stopped = CheckpointSwitchOperator(
        task_id="still_stopped", query_is_stopped=True, unchanged_since=stopped.output, **switch
    )
    resumed = "{{ ti.xcom_pull(task_ids='gate_again')['resumes_at_batch'] }}"
    wait = wait_beside(restart, OF_PARAMS, batch_id=resumed, poke_interval=poll)
    continuity = CheckpointContinuityOperator(
        task_id="continuity",
        bookmark=gate_again.output["bookmark"],
        **params.arguments_of("sources"),
        **OF_PARAMS.arguments,
    )
    wrong = PythonOperator(task_id="went_wrong", python_callable=went_wrong, trigger_rule="one_failed")
    stop_old >> stopped >> gate_again >> keep >> still_stopped >> [restart, wait]
    wait >> continuity >> EmptyOperator(task_id="deployed")
    [restart, wait, continuity] >> wrong


def _backup(task_id: str) -> Any:
    return CheckpointBackupOperator(task_id=task_id, **params.arguments_of("backup_root"), **OF_PARAMS.arguments)


def first_start(context: Any) -> None:
    """Refuse when an application has run on the fork: cleared, this task would not write the batch again."""
    params, staged = context["params"], context["ti"].xcom_pull(task_ids="stage")
    CheckpointStageOperator.require_unstarted(
        params["fork"], staged, params["shadow_sink"], params["checkpoint_conn_id"], params["query"]
    )


def answered(ti: Any = None) -> None:
    """Fail when nobody has approved: a task that was marked as a success has no answer."""
    if not (ti.xcom_pull(task_ids="approve") or {}).get("responded_at"):
        raise AirflowFailException("Nobody has approved the switch. Clear the task approve, and answer it.")


def went_wrong(ti: Any = None) -> None:
    """Fail with the ways back; when the new version was never started, there is nothing to go back from."""
    if (ti.xcom_pull(task_ids="continuity") or {}).get("status") == "continued":
        raise AirflowFailException("The new version went on right, and has failed since: see the log of restart.")
    switched = ti.xcom_pull(task_ids="still_stopped")
    if switched is None:
        raise AirflowSkipException("The switch was not made. If the old version was stopped, start it again.")
    ways = switched["way_back"]
    for way in ways:
        log.error("%s", way)
    raise AirflowFailException("\n".join(["The new version did not go on where the old one had stopped.", *ways]))
