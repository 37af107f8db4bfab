"""A query that is moved to other offsets: the DAG that the pages of a checkpoint start."""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, Param

from airflow_provider_ckpt.dags import params
from airflow_provider_ckpt.dags.rollback import change_dag
from airflow_provider_ckpt.operators.changes.reset import CheckpointResetOffsetsOperator

#: What of the params says which plan it is: the preview of the pages takes the same.
GOAL = {
    "source": params.optional(
        params.TEXT, "The source by its id and its broker, such as 0=kafka:host:9092; or the only one of the query file"
    ),
    "to_earliest": params.flag("To the first offset that each partition still has"),
    "to_latest": params.flag("Or: to the end of each partition"),
    "to_current": params.flag("Or: only drop a batch in flight, and clamp"),
    "to_datetime": params.optional(params.TEXT, "Or: to the first records from this time on"),
    "by_duration": params.optional(params.TEXT, "Or: to the first records of the last 36h"),
    "shift_by": params.optional(params.NUMBER, "Or: so many offsets on; a negative number goes back"),
    "to_offsets": params.optional(params.MAPPING, "Or: to offsets, by topic and partition"),
    "to_version": params.optional(params.NUMBER, "Or: to the end of this version of a Delta table"),
    # as texts: an id of a snapshot has more digits than a browser keeps of a number
    "to_snapshot": params.optional(params.TEXT, "Or: to the end of this snapshot of Iceberg"),
    "skip_version": params.optional(params.NUMBER, "Or: past this version alone of a Delta table"),
    "skip_snapshot": params.optional(params.TEXT, "Or: past this snapshot alone, of Iceberg"),
    "from_csv": params.optional(params.TEXT, "Or: to the offsets of lines topic,partition,offset"),
    "topics": Param([], type="array", description="Only these topics, or partitions as orders:0,1; none is all"),
    "kafka_conn_id": params.optional(params.TEXT, "Connection of type kafka"),
    "sink": params.SINK,
    "trigger": params.TRIGGER,
    "state_will_see_rows_again": params.flag("State may count again what is read again"),
}

_ABOUT = """Plan `{{ plan['plan_id'] }}` moves `QUERY` to other offsets in {{ plan['actions'] }} steps. What it
replaces and removes is kept for `ckpt undo`; every step is in the log of the task `plan`."""


def reset_dag(dag_id: str = "checkpoint_reset", **dag: Any) -> DAG:
    """The DAG that moves the query of its params to other offsets; the pages of a checkpoint start it."""
    question = "Move QUERY to other offsets"
    return change_dag(dag_id, CheckpointResetOffsetsOperator, "reset", GOAL, question, _ABOUT, **dag)
