"""Publish the positions of queries to consumer groups of Kafka, so that tools for groups show how far they are behind.

    publish (all checkpoints of the list, each on its own)

* ``publish`` reads each checkpoint, and commits its position to a group: ``spark-`` and the last part of its location,
  or as ``CKPT_PUBLISH_GROUP`` says. What is wrong with one checkpoint keeps no other back; the task fails afterwards.
* A broker forgets the offsets of a group without members after ``offsets.retention.minutes``, seven days by default.
  This DAG writes them again in every run.

Set the checkpoints in ``CKPT_PUBLISH_CHECKPOINTS``, separated by spaces, or for one run in its params. The connection
of type ``kafka`` is ``kafka_default``, or what ``CKPT_PUBLISH_KAFKA_CONN_ID`` says.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, Param

from airflow_provider_ckpt.operators.checkpoint import CheckpointPublishOffsetsOperator

PARAMS = {
    "checkpoints": Param(
        os.environ.get("CKPT_PUBLISH_CHECKPOINTS", "").split(),
        type="array",
        items={"type": "string"},
        description="checkpointLocations, relative to the connection's base or any fsspec URL",
    ),
    "checkpoint_conn_id": Param(None, type=["null", "string"], description="Connection of type checkpoint"),
    "kafka_conn_id": Param(
        os.environ.get("CKPT_PUBLISH_KAFKA_CONN_ID", "kafka_default"),
        type="string",
        description="Connection of type kafka",
    ),
    "group": Param(
        os.environ.get("CKPT_PUBLISH_GROUP", "spark-{name}"),
        type="string",
        description="Consumer group; {name} becomes the last part of the location",
    ),
}

with DAG(
    "kafka_lag_publish",
    schedule=timedelta(minutes=5),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    params=PARAMS,
    render_template_as_native_obj=True,
    default_args={"retries": 2, "retry_delay": timedelta(seconds=30)},
    tags=["ckpt"],
    doc_md=__doc__,
):
    CheckpointPublishOffsetsOperator(
        task_id="publish",
        checkpoint="{{ params.checkpoints }}",
        checkpoint_conn_id="{{ params.checkpoint_conn_id }}",
        group="{{ params.group }}",
        kafka_conn_id="{{ params.kafka_conn_id }}",
    )
