"""Roll a streaming query back, when a person has seen the plan and its effect on the sink.

    plan ── ask ─┬─ approve ─┬─ rollback ── restarts ─┬─ restart
                 └─ (no step) ┘                        └─ wait

* ``plan`` finds the batch: by its id, by the time at which it began, by watermark, by source offsets or by a backup. It
  changes nothing; it shows every step and the effect on the sink. A plan other than the one that was previewed on the
  page of the checkpoint (Browse > Checkpoints) is refused.
* ``ask`` asks nobody when the plan has no steps: that batch is already the newest of the query.
* ``approve`` shows the plan and waits for a person (Browse > Required Actions). To approve is to say that the query is
  stopped, as files cannot tell an idle query from a stopped one, and to accept the effect on the sink that is shown.
  When the scheduler was away for long, Airflow may ask again after the answer (3.3.2): answer again, nothing ran twice.
* ``rollback`` carries out the very plan that was approved. When the checkpoint has changed since, or the approval is
  older than the plan (``plan`` was cleared), it is refused and nothing is done. What it removes is kept for
  ``ckpt undo``; ``ckpt history`` shows who approved it, and the effect that was accepted.
* ``restart`` submits the application, ``wait`` sees that its first batch is committed; without an application both are
  skipped. They run side by side, as spark-submit may follow a query for as long as that runs (``spark://`` in cluster
  mode, for example). ``wait`` fails when ``restart`` does.

A rejected plan ends the run with its other tasks skipped.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param, task

from airflow_provider_ckpt.operators.checkpoint import CheckpointRollbackOperator
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

#: How long the restarted query may take to its first commit, and a person to the answer.
PROGRESS_TIMEOUT = timedelta(minutes=30)
APPROVAL_TIMEOUT = timedelta(days=1)

PARAMS = {
    "checkpoint": Param(type="string", description="The checkpointLocation of the query"),
    "checkpoint_conn_id": Param(None, type=["null", "string"], description="Connection of type checkpoint"),
    "to_batch": Param(None, type=["null", "integer"], description="The last batch to keep"),
    "to_timestamp": Param(None, type=["null", "string"], description="Or: batches that began after this time go"),
    "to_watermark": Param(None, type=["null", "string"], description="Or: batches with a later watermark go"),
    "to_offsets": Param(None, type=["null", "object"], description="Or: batches past these offsets go, by source id"),
    "to_backup": Param(
        None, type=["null", "string"], description="Or: the batch of a backup, ROOT/ID; also a purged one"
    ),
    "to_before_deploy": Param(
        None, type=["null", "object"], description="Or: the batch before a deploy, by the bookmark of its gate"
    ),
    "sources": Param(None, type=["null", "object"], description="Types of the sources by id, such as kafka"),
    "sink": Param(None, type=["null", "string"], description="Such as file:s3://lake/orders"),
    "trigger": Param(None, type=["null", "string"], description="The trigger of the query, such as realTime"),
    "trim_sink_log": Param(False, type="boolean", description="Remove the dropped batches from a file sink's log, too"),
    "backup_root": Param(None, type=["null", "string"], description="Where to look for a batch that was purged"),
    "expected_plan": Param(
        None, type=["null", "object"], description="The plan that a person has previewed; another one is refused"
    ),
    "application": Param(
        None, type=["null", "string"], description="What spark-submit runs then: a .py file or a jar; or nothing"
    ),
    "application_args": Param([], type="array", description="Its arguments"),
    "confs": Param({}, type="object", description="What spark-submit gets as --conf"),
}

#: What of the params says which plan it is: the preview of the pages takes the same.
GOAL = (
    *("to_batch", "to_timestamp", "to_watermark", "to_offsets", "to_backup", "to_before_deploy", "backup_root"),
    *("sources", "sink", "trigger", "trim_sink_log"),
)
#: Relative to Airflow's own URL, as it has to be below a sub-path.
PREVIEW = """plugin/checkpoints?kind=rollback&at={{ params.checkpoint | urlencode }}
{%- for name in GOAL if params[name] is integer or params[name] -%}
&{{ name }}={{ (params[name] if params[name] is string else params[name] | tojson) | urlencode }}
{%- endfor %}"""

APPROVAL = """
{% set plan = ti.xcom_pull(task_ids='plan') %}
{% if not plan['accept_sink'] %}
Sink effect: **exact**. Nothing is lost, and nothing comes twice.
{% else %}
Sink effect: **{{ plan['accept_sink'] | join(', ') }}**. To approve is to accept that.
{% endif %}

Plan `{{ plan['plan_id'] }}` takes `{{ params.checkpoint }}` back to batch {{ plan['batch_id'] }} in
{{ plan['actions'] }} steps. What it removes is kept for `ckpt undo`; every step is in the log of the task `plan`.

{% for note in plan['notes'] %}
* {{ note }}
{% endfor %}
{% for sink in plan['sink_effects'] %}
* Sink {{ sink['sink'] }}: **{{ sink['effect'] }}**. {{ sink['remedy'] or '' }}
{% endfor %}
{% for warning in plan['warnings'] %}
* {{ warning }}
{% endfor %}

**Approve only when the query is stopped.**

[Show every step](PREVIEW)
""".replace("PREVIEW", PREVIEW)

with DAG(
    "checkpoint_rollback",
    schedule=None,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    render_template_as_native_obj=True,
    params=PARAMS,
    user_defined_macros={"GOAL": GOAL},
    tags=["ckpt"],
    doc_md=__doc__,
) as dag:
    checkpoint = {"checkpoint": "{{ params.checkpoint }}", "checkpoint_conn_id": "{{ params.checkpoint_conn_id }}"}

    plan = CheckpointRollbackOperator(
        task_id="plan",
        to_batch="{{ params.to_batch }}",
        to_timestamp="{{ params.to_timestamp }}",
        to_watermark="{{ params.to_watermark }}",
        to_offsets="{{ params.to_offsets }}",
        to_backup="{{ params.to_backup }}",
        to_before_deploy="{{ params.to_before_deploy }}",
        sources="{{ params.sources }}",
        sink="{{ params.sink }}",
        trigger="{{ params.trigger }}",
        trim_sink_log="{{ params.trim_sink_log }}",
        backup_root="{{ params.backup_root }}",
        expected_plan="{{ params.expected_plan }}",
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

    rollback = CheckpointRollbackOperator(
        task_id="rollback",
        plan=plan.output["plan"],
        accept_sink="{{ ti.xcom_pull(task_ids='plan')['accept_sink'] }}",
        approved_by="{{ ((ti.xcom_pull(task_ids='approve') or {}).get('responded_by_user') or {}).get('name') }}",
        approved_at="{{ (ti.xcom_pull(task_ids='approve') or {}).get('responded_at') }}",
        query_is_stopped=True,
        trigger_rule="none_failed_min_one_success",
        **checkpoint,
    )

    @task.short_circuit
    def restarts(application: str | None) -> bool:
        """Nothing to submit: the person who has stopped the query starts it again."""
        return bool(application)

    restart = SparkSubmitOperator(
        task_id="restart",
        application="{{ params.application }}",
        application_args="{{ params.application_args }}",
        conf="{{ params.confs }}",
    )

    wait = CheckpointProgressSensor(
        task_id="wait",
        batch_id="{{ ti.xcom_pull(task_ids='plan')['batch_id'] + 1 }}",
        fails_with="restart",
        deferrable=False,
        mode="reschedule",
        poke_interval=15,
        timeout=PROGRESS_TIMEOUT,
        **checkpoint,
    )

    asked = ask(plan.output)
    asked >> [approve, rollback]
    approve >> rollback >> restarts("{{ params.application }}") >> [restart, wait]
