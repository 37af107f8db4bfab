"""Give the state of a streaming query another number of partitions, when a person has seen the plan.

    plan ── approve ── backup ── repartition ─┬─ restart
                                              └─ wait

* ``plan`` reads the whole checkpoint, and fails where Spark would refuse the repartition or do it wrong. It changes
  nothing, and needs no Spark.
* ``approve`` shows the plan and waits for a person (Browse > Required Actions). To approve is to say that the query is
  stopped, as files cannot tell an idle query from a stopped one, and to accept the effect on the sink that is shown.
  When the scheduler was away for long, Airflow may ask again after the answer (3.3.2): answer again, nothing ran twice.
* ``backup`` takes a backup of the checkpoint as it was before.
* ``repartition`` carries out the very plan that was approved, in a Spark (4.2 or later) on the worker, which reads all
  of the state before and after. When the checkpoint has changed since, or the approval is older than the plan (``plan``
  was cleared), it is refused and nothing is done. A try that was killed leaves a query that does not start; the next
  try goes on where it was, and ``ckpt undo`` takes the repartition back, half done or whole.
* ``restart`` submits the application, ``wait`` sees that its first batch is committed. They run side by side, as
  spark-submit may follow a query for as long as that runs (``spark://`` in cluster mode, for example). ``wait`` fails
  when ``restart`` does; without input there is no batch, and it fails after half an hour.

A rejected plan ends the run with its other tasks skipped. Stop the query before this DAG runs.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param

from airflow_provider_ckpt.operators.checkpoint import CheckpointBackupOperator, CheckpointRepartitionOperator
from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor

#: How long the restarted query may take to its first commit, and a person to the answer.
PROGRESS_TIMEOUT = timedelta(minutes=30)
APPROVAL_TIMEOUT = timedelta(days=1)

PARAMS = {
    "checkpoint": Param(type="string", description="The checkpointLocation of the query"),
    "checkpoint_conn_id": Param(None, type=["null", "string"], description="Connection of type checkpoint"),
    "partitions": Param(type="integer", minimum=1, description="How many partitions the state is to have"),
    "sink": Param(None, type=["null", "string"], description="Such as file:s3://lake/orders"),
    "backup_root": Param(type="string", description="Where backups of the query live"),
    "spark_confs": Param(
        {},
        type="object",
        description="Of the Spark that repartitions: its memory, and what it needs to reach the state",
    ),
    "application": Param(type="string", description="What spark-submit runs: a .py file or a jar"),
    "application_args": Param([], type="array", description="Its arguments"),
    "confs": Param({}, type="object", description="What spark-submit gets as --conf"),
}

APPROVAL = """
{% set plan = ti.xcom_pull(task_ids='plan') %}
{% if not plan['accept_sink'] %}
Sink effect: **exact**. Nothing is lost, and nothing comes twice.
{% else %}
Sink effect: **{{ plan['accept_sink'] | join(', ') }}**. To approve is to accept that.
{% endif %}

Plan `{{ plan['plan_id'] }}` gives the state of `{{ params.checkpoint }}` to {{ params.partitions }} partitions. Before
that, a backup is taken; `ckpt undo` takes the repartition back.

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
"""

with DAG(
    "checkpoint_repartition",
    schedule=None,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    render_template_as_native_obj=True,
    params=PARAMS,
    tags=["ckpt"],
    doc_md=__doc__,
) as dag:
    checkpoint = {"checkpoint": "{{ params.checkpoint }}", "checkpoint_conn_id": "{{ params.checkpoint_conn_id }}"}

    plan = CheckpointRepartitionOperator(
        task_id="plan",
        partitions="{{ params.partitions }}",
        sink="{{ params.sink }}",
        plan_only=True,
        **checkpoint,
    )

    approve = ApprovalOperator(
        task_id="approve",
        subject="Repartition the state of {{ params.checkpoint }}?",
        body=APPROVAL,
        response_timeout=APPROVAL_TIMEOUT,
    )

    backup = CheckpointBackupOperator(task_id="backup", backup_root="{{ params.backup_root }}", **checkpoint)

    repartition = CheckpointRepartitionOperator(
        task_id="repartition",
        plan=plan.output["plan"],
        confs="{{ params.spark_confs }}",
        accept_sink="{{ ti.xcom_pull(task_ids='plan')['accept_sink'] }}",
        approved_by="{{ ((ti.xcom_pull(task_ids='approve') or {}).get('responded_by_user') or {}).get('name') }}",
        approved_at="{{ (ti.xcom_pull(task_ids='approve') or {}).get('responded_at') }}",
        query_is_stopped=True,
        retries=3,
        retry_delay=timedelta(minutes=1),
        **checkpoint,
    )

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

    plan >> approve >> backup >> repartition >> [restart, wait]
