"""Deploy a streaming query without losing its place: gate, backup, restart, proof, and a rollback when it goes wrong.

    gate ─┬─ backup ─┬─ restart
          │          └─ wait ── continuity ── deployed
          └─ blocked     (any of the three fails) ── went_wrong ── rollback_plan ── ask ── approve ── rollback

* ``gate`` forecasts the restart with the confs of ``restart`` itself. A closed gate leads to ``blocked``, which fails
  and says why; nothing has been touched then.
* ``restart`` submits the application. It ends when the application does (a trigger ``availableNow``), or when the
  application has been accepted (``spark.yarn.submit.waitAppCompletion=false``). In cluster mode of Spark's own master
  (``spark://``) it follows the driver, so for a query without end it runs as long as the query: no task waits for its
  end. While it runs, the next run of the DAG is queued.
* ``wait`` begins when ``restart`` has started, and ``continuity`` follows. They look at the checkpoint: a batch is
  committed after the deploy, and it began where the last one before it had ended.
* ``went_wrong`` leads to the rollback. When the application fails later, after ``continuity`` has passed, it fails and
  plans none: the batches since then are those of a good deploy.
* ``rollback_plan`` goes back to the very batch that the gate's bookmark has; what Spark has purged of it since
  comes from the backup. The log of a file sink (``sink`` is ``file:URI``) goes back as well, so that the sink neither
  lacks rows nor has them twice, unless ``trim_sink_log`` is false.
* ``approve`` shows the plan of a rollback to where the query was and waits for a person (Browse > Required Actions).
  To approve is to say that the query is stopped, as files cannot tell an idle query from a stopped one, and to accept
  the effect on the sink that is shown. A plan of no steps asks nobody. When the scheduler was away long, Airflow may
  ask again after the answer (3.3.2): answer again, nothing ran twice.
* ``rollback`` carries out the very plan that was approved. When the checkpoint has changed since, it is refused and
  nothing is done; clear ``rollback_plan`` with what is downstream to be asked again.

Stop the old run of the query before this DAG runs, or put a task that stops it before ``restart``.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param, task
from airflow.sdk.exceptions import AirflowRescheduleException

from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointContinuityOperator,
    CheckpointGateOperator,
    CheckpointRollbackOperator,
)
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

#: How long the restarted query may take to its first commit, and a person to the answer.
PROGRESS_TIMEOUT = timedelta(minutes=30)
#: How often ``wait`` looks at the checkpoint, and before that whether ``restart`` has started.
POLL = timedelta(seconds=15)
APPROVAL_TIMEOUT = timedelta(days=1)

PARAMS = {
    "checkpoint": Param(type="string", description="The checkpointLocation of the query"),
    "checkpoint_conn_id": Param(None, type=["null", "string"], description="Connection of type checkpoint"),
    "backup_root": Param(type="string", description="Where backups of the query live"),
    "application": Param(type="string", description="What spark-submit runs: a .py file or a jar"),
    "application_args": Param([], type="array", description="Its arguments"),
    "confs": Param({}, type="object", description="What spark-submit gets as --conf"),
    "sources": Param(
        None,
        type=["null", "integer", "array", "object"],
        description="The sources: their number, a list of types in order, or types by name",
    ),
    "sink": Param(None, type=["null", "string"], description="Such as file:s3://lake/orders"),
    "spark_version": Param(None, type=["null", "string"], description="Such as 4.3"),
    "trim_sink_log": Param(
        None,
        type=["null", "boolean"],
        description="A rollback removes the dropped batches from a file sink's log, too; by default for a file sink",
    ),
}

#: A file sink by its format, too.
FILES = ("file", "parquet", "json", "csv", "orc", "text")

log = logging.getLogger("airflow.task")

APPROVAL = """
{% set plan = ti.xcom_pull(task_ids='rollback_plan') %}
{% if not plan['accept_sink'] %}
Sink effect: **exact**. Nothing is lost, and nothing comes twice.
{% else %}
Sink effect: **{{ plan['accept_sink'] | join(', ') }}**. To approve is to accept that.
{% endif %}

The restart of `{{ params.checkpoint }}` failed, made no progress, or did not go on where the query had stopped;
the log of the red task says which.

Plan `{{ plan['plan_id'] }}` goes back to batch {{ plan['batch_id'] }}, the last one before the deploy,
in {{ plan['actions'] }} steps. What it removes is kept for `ckpt undo`.

{% for sink in plan['sink_effects'] %}
* Sink {{ sink['sink'] }}: **{{ sink['effect'] }}**. {{ sink['remedy'] or '' }}
{% endfor %}
{% for warning in plan['warnings'] %}
* {{ warning }}
{% endfor %}

**Approve only when the query is stopped.**
"""


def state_of(task_id: str, ti: Any) -> str | None:
    """The state of another task of this run; None before it is scheduled."""
    states = ti.get_task_states(dag_id=ti.dag_id, task_ids=[task_id], run_ids=[ti.run_id])
    return states.get(ti.run_id, {}).get(task_id)


def require_restart(context: Any) -> None:
    """Let a task run while ``restart`` runs or after it has succeeded; before that it comes again, afterwards it fails.

    It stands for the edge from ``restart``, whose end may be that of the query.
    """
    state = state_of("restart", context["ti"])
    if state in ("failed", "upstream_failed", "skipped", "removed"):
        raise AirflowFailException(f"The task restart is {state}: its log says why.")
    if state not in ("running", "deferred", "success"):
        raise AirflowRescheduleException(datetime.now(UTC) + POLL)


with DAG(
    "pre_deploy_gate",
    schedule=None,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    render_template_as_native_obj=True,
    params=PARAMS,
    user_defined_macros={"FILES": FILES},
    tags=["ckpt"],
    doc_md=__doc__,
) as dag:
    checkpoint = {"checkpoint": "{{ params.checkpoint }}", "checkpoint_conn_id": "{{ params.checkpoint_conn_id }}"}

    restart = SparkSubmitOperator(
        task_id="restart",
        application="{{ params.application }}",
        application_args="{{ params.application_args }}",
        conf="{{ params.confs }}",
    )

    gate = CheckpointGateOperator(
        task_id="gate",
        spark_task=restart,
        sources="{{ params.sources }}",
        sink="{{ params.sink }}",
        spark_version="{{ (params.spark_version or '') | tojson }}",
        on_block="branch",
        branch_pass="backup",
        branch_block="blocked",
        **checkpoint,
    )

    @task
    def blocked(forecast: dict[str, Any]) -> None:
        """Fail with what closed the gate: in full in the log, because the headline of an error is cut off."""
        errors = [item for item in forecast["findings"] if item["severity"] == "error"]
        for item in errors:
            log.error("%s: %s %s", item["code"], item["message"], item["hint"] or "")
        codes = ", ".join(dict.fromkeys(item["code"] for item in errors))
        raise AirflowFailException(f"The gate blocks the deploy: {codes or forecast['spark_error']}. The log says why.")

    backup = CheckpointBackupOperator(task_id="backup", backup_root="{{ params.backup_root }}", **checkpoint)

    wait = CheckpointProgressSensor(
        task_id="wait",
        batch_id="{{ ti.xcom_pull(task_ids='gate')['resumes_at_batch'] }}",
        deferrable=True,
        mode="reschedule",
        poke_interval=POLL,
        timeout=PROGRESS_TIMEOUT,
        pre_execute=require_restart,
        **checkpoint,
    )

    continuity = CheckpointContinuityOperator(
        task_id="continuity",
        bookmark=gate.output["bookmark"],
        sources="{{ params.sources }}",
        pre_execute=require_restart,
        **checkpoint,
    )

    deployed = EmptyOperator(task_id="deployed")

    @task(trigger_rule="one_failed")
    def went_wrong(ti: Any = None) -> None:
        """Fail when the deploy was right and the application has failed since."""
        if state_of("continuity", ti) == "success":
            raise AirflowFailException(
                "The application failed after the deploy had gone on where the query had stopped, so no rollback is "
                "planned. The log of restart says why. To go back nevertheless, run checkpoint_rollback."
            )

    wrong = went_wrong()

    rollback_plan = CheckpointRollbackOperator(
        task_id="rollback_plan",
        to_before_deploy=gate.output["bookmark"],
        backup_root="{{ params.backup_root }}",
        sink="{{ params.sink }}",
        trim_sink_log="""{{ params.trim_sink_log if params.trim_sink_log is boolean
            else (params.sink or '').split(':')[0] | lower in FILES }}""",
        plan_only=True,
        **checkpoint,
    )

    @task.branch
    def ask(planned: dict[str, Any]) -> str:
        """A plan of no steps needs nobody's approval."""
        return "approve" if planned["actions"] else "rollback"

    approve = ApprovalOperator(
        task_id="approve",
        subject="Roll back {{ params.checkpoint }}?",
        body=APPROVAL,
        response_timeout=APPROVAL_TIMEOUT,
    )

    roll_back = CheckpointRollbackOperator(
        task_id="rollback",
        plan=rollback_plan.output["plan"],
        accept_sink="{{ ti.xcom_pull(task_ids='rollback_plan')['accept_sink'] }}",
        approved_by="{{ ((ti.xcom_pull(task_ids='approve') or {}).get('responded_by_user') or {}).get('name') }}",
        approved_at="{{ (ti.xcom_pull(task_ids='approve') or {}).get('responded_at') }}",
        query_is_stopped=True,
        trigger_rule="none_failed_min_one_success",
        **checkpoint,
    )

    gate >> blocked(gate.output)
    gate >> backup >> [restart, wait]
    wait >> continuity >> deployed
    [restart, wait, continuity] >> wrong
    # a backup that fails is no deploy that went wrong: without a backup there is nothing to go back from
    asked = ask(rollback_plan.output)
    [wrong, backup] >> rollback_plan
    asked >> [approve, roll_back]
    approve >> roll_back
