"""Positions of queries as consumer groups of Kafka, for tools that know groups."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.subject import dag_of
from airflow_provider_ckpt.operators.publish import CheckpointPublishOffsetsOperator


def publish_dag(
    dag_id: str = "kafka_lag_publish",
    *,
    checkpoints: Sequence[str] = (),
    group: str | None = None,
    kafka_conn_id: str | None = None,
    **dag: Any,
) -> DAG:
    """The DAG that publishes positions every five minutes. Its arguments are the params of a run that has none.

    Args:
        dag_id: Its id.
        checkpoints: The checkpointLocations.
        group: Consumer group, whose ``{name}`` becomes the last part of the location; ``spark-{name}`` by default.
        kafka_conn_id: Connection of type ``kafka`` for all queries; by default that of the cluster of each query in
            the query file, else ``kafka_default``.
        **dag: Arguments of the DAG.
    """
    declared = {
        "checkpoints": params.roots(checkpoints, "checkpointLocations"),
        "queries": params.QUERIES,
        "checkpoint_conn_id": params.CONN_ID,
        "kafka_conn_id": Param(
            kafka_conn_id,
            type=params.TEXT,
            description="Connection of type kafka; by default that of each query's cluster, else kafka_default",
        ),
        "group": Param(
            group or "spark-{name}",
            type="string",
            description="Consumer group; {name} becomes the last part of the location",
        ),
    }
    again = {"retries": 2, "retry_delay": timedelta(seconds=30)}
    with dag_of(dag_id, declared, **{"schedule": timedelta(minutes=5), "default_args": again, **dag}) as made:
        CheckpointPublishOffsetsOperator(
            task_id="publish",
            checkpoint="{{ params.checkpoints or None }}",
            query="{{ params.queries or None }}",
            **params.arguments_of("checkpoint_conn_id", "group", "kafka_conn_id"),
        )
    return made
