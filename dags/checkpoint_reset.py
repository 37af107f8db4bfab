"""Move the positions of a streaming query, when a person has seen the plan and its effect on the sink.

    plan ── ask ─┬─ approve ─┬─ reset ── restarts ─┬─ restart
                 └─ (no step) ┘                     └─ wait

* ``plan`` asks the broker where the source is to go: to the earliest or the latest offsets, to a time, by a duration or
  by a number of offsets, or to offsets that are given. It changes nothing; it shows every step and the effect on the
  sink. A plan other than the one that was previewed on the page of the checkpoint (Browse > Checkpoints) is refused.
* ``ask`` asks nobody when the plan has no steps: the query is there already.
* ``approve`` shows the plan and waits for a person (Browse > Required Actions). To approve is to say that the query is
  stopped, as files cannot tell an idle query from a stopped one, and to accept the effect on the sink that is shown.
* ``reset`` carries out the very plan that was approved: its offsets are those that were found then. When the checkpoint
  has changed since, or the approval is older than the plan (``plan`` was cleared), it is refused and nothing is done.
  What it replaces is kept for ``ckpt undo``; ``ckpt history`` shows who approved it, and the effect that was accepted.
* ``restart`` submits the application, ``wait`` sees that its first batch is committed; without an application both are
  skipped. They run side by side, as spark-submit may follow a query for as long as that runs (``spark://`` in cluster
  mode, for example). ``wait`` fails when ``restart`` does. A query that was moved to the end of its topics commits none
  until a record comes.

A rejected plan ends the run with its other tasks skipped.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param, task

from airflow_provider_ckpt.operators.checkpoint import CheckpointResetOffsetsOperator
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

#: How long the restarted query may take to its first commit, and a person to the answer.
PROGRESS_TIMEOUT = timedelta(minutes=30)
APPROVAL_TIMEOUT = timedelta(days=1)

PARAMS = {
    "checkpoint": Param(type="string", description="The checkpointLocation of the query"),
    "checkpoint_conn_id": Param(None, type=["null", "string"], description="Connection of type checkpoint"),
    "source": Param(type="string", description="The source by its id and its broker, such as 0=kafka:host:9092"),
    "to_earliest": Param(False, type="boolean", description="To the first offset that each partition still has"),
    "to_latest": Param(False, type="boolean", description="Or: to the end of each partition"),
    "to_current": Param(False, type="boolean", description="Or: only drop a batch in flight, and clamp"),
    "to_datetime": Param(None, type=["null", "string"], description="Or: to the first records from this time on"),
    "by_duration": Param(None, type=["null", "string"], description="Or: to the first records of the last 36h"),
    "shift_by": Param(
        None, type=["null", "integer"], description="Or: so many offsets on; a negative number goes back"
    ),
    "to_offsets": Param(None, type=["null", "object"], description="Or: to offsets, by topic and partition"),
    "to_version": Param(None, type=["null", "integer"], description="Or: to the end of this version of a Delta table"),
    # as texts: an id of a snapshot has more digits than a browser keeps of a number
    "to_snapshot": Param(None, type=["null", "string"], description="Or: to the end of this snapshot of Iceberg"),
    "skip_version": Param(None, type=["null", "integer"], description="Or: past this version alone of a Delta table"),
    "skip_snapshot": Param(None, type=["null", "string"], description="Or: past this snapshot alone, of Iceberg"),
    "from_csv": Param(None, type=["null", "string"], description="Or: to the offsets of lines topic,partition,offset"),
    "topics": Param([], type="array", description="Only these topics, or partitions as orders:0,1; none is all"),
    "kafka_conn_id": Param(None, type=["null", "string"], description="Connection of type kafka"),
    "sink": Param(None, type=["null", "string"], description="Such as file:s3://lake/orders"),
    "trigger": Param(None, type=["null", "string"], description="The trigger of the query, such as realTime"),
    "state_will_see_rows_again": Param(False, type="boolean", description="State may count again what is read again"),
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
    *("source", "to_earliest", "to_latest", "to_current", "to_datetime", "by_duration", "shift_by", "to_offsets"),
    *("to_version", "to_snapshot", "skip_version", "skip_snapshot", "from_csv", "topics", "kafka_conn_id"),
    *("sink", "trigger", "state_will_see_rows_again"),
)
#: Relative to Airflow's own URL, as it has to be below a sub-path.
PREVIEW = """plugin/checkpoints?kind=reset&at={{ params.checkpoint | urlencode }}
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

Plan `{{ plan['plan_id'] }}` moves `{{ params.checkpoint }}` to other offsets in {{ plan['actions'] }} steps. What it
replaces and removes is kept for `ckpt undo`; every step is in the log of the task `plan`.

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
    "checkpoint_reset",
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

    plan = CheckpointResetOffsetsOperator(
        task_id="plan",
        source="{{ params.source }}",
        to_earliest="{{ params.to_earliest }}",
        to_latest="{{ params.to_latest }}",
        to_current="{{ params.to_current }}",
        to_datetime="{{ params.to_datetime }}",
        by_duration="{{ params.by_duration }}",
        shift_by="{{ params.shift_by }}",
        to_offsets="{{ params.to_offsets }}",
        to_version="{{ params.to_version }}",
        to_snapshot="{{ params.to_snapshot }}",
        skip_version="{{ params.skip_version }}",
        skip_snapshot="{{ params.skip_snapshot }}",
        from_csv="{{ params.from_csv }}",
        topics="{{ params.topics }}",
        kafka_conn_id="{{ params.kafka_conn_id }}",
        sink="{{ params.sink }}",
        trigger="{{ params.trigger }}",
        state_will_see_rows_again="{{ params.state_will_see_rows_again }}",
        expected_plan="{{ params.expected_plan }}",
        plan_only=True,
        **checkpoint,
    )

    @task.branch
    def ask(planned: dict[str, Any]) -> str:
        """A plan of no steps needs nobody's approval."""
        return "approve" if planned["actions"] else "reset"

    approve = ApprovalOperator(
        task_id="approve",
        subject="Move {{ params.checkpoint }} to other offsets?",
        body=APPROVAL,
        response_timeout=APPROVAL_TIMEOUT,
    )

    reset = CheckpointResetOffsetsOperator(
        task_id="reset",
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
    asked >> [approve, reset]
    approve >> reset >> restarts("{{ params.application }}") >> [restart, wait]
