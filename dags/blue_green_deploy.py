"""Deploy a new version of a streaming query when it has shown, beside the live query, that its rows are right.

    allowed ── gate ── backup ─┬─ fork ───────┬─ stage ── shadow ── caught_up ── compare ── approve ──┐
                               └─ next_batch ─┘                                                       │
  ┌───────────────────────────────────────────────────────────────────────────────────────────────────┘
  └─ answered ── stop_old ── stopped ── gate_again ── keep ── still_stopped ─┬─ restart
                                                                             └─ wait ── continuity ── deployed
                                                                     (any of the three fails) ── went_wrong

* ``allowed`` says what a switch does at the sink, before anything starts. An effect that is not exact is refused
  unless it is accepted by name (``accept_sink``). ``gate`` forecasts the restart with the confs of ``restart``.
* ``fork`` restores a backup under a new query id; the live query goes on running. ``next_batch`` waits until it has
  committed ``compare_batches`` more, and ``stage`` plans the first batch of the fork to read what these have read. It
  refuses ``shadow_args`` that name the live checkpoint or sink, or not the fork, and a ``shadow_sink`` with batches.
* ``shadow`` starts the new version on the fork, with ``shadow_args``: another checkpoint, and another output. It ends
  when the application does (a trigger ``availableNow``) or when a cluster has accepted the application. A fork is for
  one start: to try a mended application, begin a new run with a new ``fork`` and ``shadow_sink``.
* ``compare`` fails unless the rows of both, and the watermark after them, are equal. Declare what may differ: columns
  to ``ignore``, columns that are ``added``. For outputs other than files, give it a function that reads rows.
* ``approve`` shows a person what was found and what the sink allows (Browse > Required Actions). Rejected, nothing has
  been touched: the live query runs as before. When the scheduler was away long, Airflow may ask again (3.3.2).
* ``answered`` sees that a person has answered: an approval that was marked as a success is none.
* ``stop_old`` is yours: stop the old version there. Left as it is, to approve is to say that it is stopped.
* ``stopped`` refuses the switch when somebody still writes to the checkpoint, and judges the effect as it is now.
* ``still_stopped`` watches again, and refuses when a query has run since ``stopped``, whoever started it.
* ``restart`` starts the new version on the checkpoint and the sink of the old one; so the sink knows each batch again.
  The fork was the rehearsal, and is never used for anything else. ``keep`` has the way back, ``went_wrong`` tells it.
  ``wait`` runs beside it, as spark-submit may follow a query for as long as that runs, and fails when it does.

When ``shadow`` is a job that goes on running on a cluster, stop it, too. The fork and its output can then be deleted.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param, task

from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointCompareOperator,
    CheckpointContinuityOperator,
    CheckpointGateOperator,
    CheckpointRestoreOperator,
    CheckpointStageOperator,
    CheckpointSwitchOperator,
)
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

#: How long the live query may take to its next batches, the new version to the range and to its first commit, and a
#: person to the answer.
PROGRESS_TIMEOUT = timedelta(minutes=30)
SHADOW_TIMEOUT = timedelta(hours=2)
APPROVAL_TIMEOUT = timedelta(days=1)

PARAMS = {
    "checkpoint": Param(type="string", description="The checkpointLocation of the live query"),
    "checkpoint_conn_id": Param(None, type=["null", "string"], description="Connection of type checkpoint"),
    "backup_root": Param(type="string", description="Where backups of the query live"),
    "sink": Param(type="string", description="The sink of the live query, such as file:s3://lake/orders"),
    "accept_sink": Param([], type="array", description="Effects of the switch that are accepted, such as duplicated"),
    "fork": Param(type="string", description="The checkpointLocation of the new version beside it: new or empty"),
    "shadow_sink": Param(type="string", description="Its output, such as file:s3://lake/orders-shadow"),
    "application": Param(type="string", description="What spark-submit runs: a .py file or a jar"),
    "application_args": Param([], type="array", description="Its arguments for the live checkpoint and sink"),
    "shadow_args": Param([], type="array", description="Its arguments for the fork and the shadow sink"),
    "judge_shadow_args": Param(
        True,
        type="boolean",
        description="False: the application finds the fork and the shadow sink elsewhere than in shadow_args",
    ),
    "confs": Param({}, type="object", description="What spark-submit gets as --conf"),
    # The output of a fork begins with a later batch than 0, so a file sink would find a hole when it compacts its log.
    "shadow_confs": Param(
        {"spark.sql.streaming.fileSink.log.compactInterval": "1000000000"},
        type="object",
        description="What it gets besides on the fork",
    ),
    "sources": Param(
        None,
        type=["null", "integer", "array", "object"],
        description="The sources: their number, a list of types in order, or types by name",
    ),
    "spark_version": Param(None, type=["null", "string"], description="Such as 4.3"),
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
Comparison of batches {{ staged['first_batch'] }} to {{ staged['last_batch'] }} of `{{ params.checkpoint }}`:
**{{ found['sentence'] }}** ({{ found['live_rows'] }} live rows, {{ found['shadow_rows'] }} of the new version).

{% for example in found['examples'] %}
* live: `{{ example['live'] or 'none' }}`, new version: `{{ example['shadow'] or 'none' }}`
{% endfor %}

The new version, `{{ params.application }}`, will go on with the checkpoint and the sink of the old one:

{% for sink in allowed['sink_effects'] %}
* Sink {{ sink['sink'] }}: **{{ sink['effect'] }}**: {{ sink['reason'] }}. {{ sink['remedy'] }}
{% endfor %}

The way back:

{% for way in allowed['way_back'] %}
* {{ way }}
{% endfor %}

**Approve only when the old version is stopped, or the task `stop_old` stops it.** Rejected, it runs on as before.
"""

with DAG(
    "blue_green_deploy",
    schedule=None,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    render_template_as_native_obj=True,
    params=PARAMS,
    tags=["ckpt"],
    doc_md=__doc__,
) as dag:
    conn_id = "{{ params.checkpoint_conn_id }}"
    checkpoint = {"checkpoint": "{{ params.checkpoint }}", "checkpoint_conn_id": conn_id}
    switch = {
        "sinks": "{{ params.sink }}",
        "accept_sink": "{{ params.accept_sink }}",
        "backup_root": "{{ params.backup_root }}",
    }
    declared = {
        "sources": "{{ params.sources }}",
        "sink": "{{ params.sink }}",
        "spark_version": "{{ (params.spark_version or '') | tojson }}",
    }

    # --- the rehearsal, while the old version runs -----------------------------------------------------------------

    allowed = CheckpointSwitchOperator(task_id="allowed", **switch, **checkpoint)

    gate = CheckpointGateOperator(task_id="gate", spark_task="restart", **declared, **checkpoint)

    backup = CheckpointBackupOperator(task_id="backup", backup_root="{{ params.backup_root }}", **checkpoint)

    fork = CheckpointRestoreOperator(
        task_id="fork",
        checkpoint="{{ params.fork }}",
        checkpoint_conn_id=conn_id,
        backup_root="{{ params.backup_root }}",
        backup_id="{{ ti.xcom_pull(task_ids='backup')['backup_id'] }}",
        new_query_id=True,
        accept_sink="unknown",  # that of the live sink: the fork writes to another one
    )

    last_batch = "{{ ti.xcom_pull(task_ids='backup')['batch_id'] + params.compare_batches }}"

    next_batch = CheckpointProgressSensor(
        task_id="next_batch",
        batch_id=last_batch,
        deferrable=True,
        poke_interval=15,
        timeout=PROGRESS_TIMEOUT,
        **checkpoint,
    )

    stage = CheckpointStageOperator(
        task_id="stage",
        fork="{{ params.fork }}",
        last_batch=last_batch,
        sink="{{ params.sink }}",
        shadow_sink="{{ params.shadow_sink }}",
        shadow_args="{{ params.shadow_args if params.judge_shadow_args else None }}",
        **checkpoint,
    )

    def first_start(context: Any) -> None:
        """Refuse when an application has run on the fork: cleared, this task would not write the batch again."""
        params, staged = context["params"], context["ti"].xcom_pull(task_ids="stage")
        CheckpointStageOperator.require_unstarted(
            params["fork"], staged, params["shadow_sink"], params["checkpoint_conn_id"]
        )

    shadow = SparkSubmitOperator(
        task_id="shadow",
        pre_execute=first_start,
        application="{{ params.application }}",
        application_args="{{ params.shadow_args }}",
        conf="{{ dict(params.confs, **params.shadow_confs) }}",
        execution_timeout=SHADOW_TIMEOUT,
    )

    caught_up = CheckpointProgressSensor(
        task_id="caught_up",
        checkpoint="{{ params.fork }}",
        checkpoint_conn_id=conn_id,
        batch_id="{{ ti.xcom_pull(task_ids='stage')['first_batch'] }}",
        deferrable=True,
        poke_interval=15,
        timeout=SHADOW_TIMEOUT,
    )

    compare = CheckpointCompareOperator(
        task_id="compare",
        fork="{{ params.fork }}",
        sink="{{ params.sink }}",
        shadow_sink="{{ params.shadow_sink }}",
        batches=stage.output,
        keys="{{ params['keys'] }}",
        ignore="{{ params.ignore }}",
        added="{{ params.added }}",
        on_difference="{{ params.on_difference }}",
        **checkpoint,
    )

    approve = ApprovalOperator(
        task_id="approve",
        subject="Switch {{ params.checkpoint }} to the new version?",
        body=APPROVAL,
        response_timeout=APPROVAL_TIMEOUT,
    )

    # --- the switch ------------------------------------------------------------------------------------------------

    @task
    def answered(ti: Any = None) -> None:
        """Fail when nobody has approved: a task that was marked as a success has no answer."""
        if not (ti.xcom_pull(task_ids="approve") or {}).get("responded_at"):
            raise AirflowFailException("Nobody has approved the switch. Clear the task approve, and answer it.")

    @task
    def stop_old(params: Any = None) -> None:
        """Stop the old version here, and return when it has ended."""
        log.info("The person who has approved says that the query of %s is stopped.", params["checkpoint"])

    stopped = CheckpointSwitchOperator(task_id="stopped", query_is_stopped=True, **switch, **checkpoint)

    gate_again = CheckpointGateOperator(task_id="gate_again", spark_task="restart", **declared, **checkpoint)

    keep = CheckpointBackupOperator(task_id="keep", backup_root="{{ params.backup_root }}", **checkpoint)

    still_stopped = CheckpointSwitchOperator(
        task_id="still_stopped", query_is_stopped=True, unchanged_since=stopped.output, **switch, **checkpoint
    )

    restart = SparkSubmitOperator(
        task_id="restart",
        application="{{ params.application }}",
        application_args="{{ params.application_args }}",
        conf="{{ params.confs }}",
    )

    wait = CheckpointProgressSensor(
        task_id="wait",
        batch_id="{{ ti.xcom_pull(task_ids='gate_again')['resumes_at_batch'] }}",
        fails_with="restart",
        deferrable=False,
        mode="reschedule",
        poke_interval=15,
        timeout=PROGRESS_TIMEOUT,
        **checkpoint,
    )

    continuity = CheckpointContinuityOperator(
        task_id="continuity", bookmark=gate_again.output["bookmark"], sources="{{ params.sources }}", **checkpoint
    )

    deployed = EmptyOperator(task_id="deployed")

    @task(trigger_rule="one_failed")
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

    allowed >> gate >> backup >> [fork, next_batch] >> stage >> shadow >> caught_up >> compare >> approve
    (approve >> answered() >> stop_old() >> stopped >> gate_again >> keep >> still_stopped >> [restart, wait])
    wait >> continuity >> deployed
    [restart, wait, continuity] >> went_wrong()
