"""What of the sensor survives which journey: through the serialisation of its DAG, and to the trigger that starts it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from airflow.providers.common.compat.sdk import DAG

from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger
from airflow_provider_ckpt.waiting import AnyOf, BatchCommitted, Idle, NextBatch, SourceEndReached
from tests.airflow.progress_sensor import deferred, sensor

pytestmark = pytest.mark.airflow


@pytest.fixture
def checkpoint(golden) -> str:
    """Eight committed batches."""
    return str(golden("agg-hdfs"))


def test_the_scheduler_is_told_what_the_trigger_needs(checkpoint):
    waiting = sensor(
        checkpoint,
        batch_id="{{ params.batch }}",
        sources={"0": "kafka"},
        trigger="{{ params.trigger }}",
        checkpoint_conn_id="lake",
        kafka_conn_id="broker",
        start_from_trigger=True,
        timeout=60,
    )
    given = waiting.start_trigger_args
    assert (given.next_method, given.timeout) == ("execute_complete", timedelta(seconds=60))
    trigger = CheckpointProgressTrigger(**given.trigger_kwargs)
    assert trigger.serialize()[0] == given.trigger_cls
    assert trigger.serialize()[1] == {
        "checkpoint": checkpoint,
        "condition": {"condition": "batch", "batch_id": "{{ params.batch }}"},
        "every": "batch",
        "timezone": "UTC",
        "start": None,
        "sources": {"0": "kafka"},
        "source_options": None,
        "trigger": "{{ params.trigger }}",
        "kafka_conn_id": "broker",
        "checkpoint_conn_id": "lake",
        "storage_options": None,
        "kafka_options": None,
        "kafka_clusters": None,
        "query": None,
        "query_file": None,
        "poke_interval": 0.1,
        "deadline_ms": None,
    }
    rendered = set(CheckpointProgressSensor.template_fields) & given.trigger_kwargs.keys()
    assert rendered >= {"checkpoint", "condition", "sources"}, "which the triggerer renders"


@pytest.mark.parametrize("arguments", [
    {}, {"batch_id": 5, "watermark": 5}, {"batch_id": 5, "deadline": 5}, {"condition": NextBatch()},
    {"condition": AnyOf((BatchCommitted(5), SourceEndReached()))}, {"condition": {"condition": "source_end"}},
])  # fmt: skip
def test_what_cannot_start_from_the_trigger_is_refused_when_the_dag_is_parsed(checkpoint, arguments):
    with pytest.raises(ValueError, match="start_from_trigger (supports|does not support)"):
        sensor(checkpoint, start_from_trigger=True, **arguments)


def test_a_worker_that_runs_it_all_the_same_looks_and_defers(checkpoint):
    """``dags test``, and Airflow before 3.3, do not start from the trigger."""
    waiting = sensor(checkpoint, batch_id=8, deferrable=True, start_from_trigger=True)
    assert deferred(waiting).trigger.start["batch_id"] == 7


def through_serialisation(waiting_in: DAG):
    """The task as the scheduler has it."""
    try:
        from airflow.serialization.serialized_objects import DagSerialization as Serialisation
    except ImportError:  # before Airflow 3.3
        from airflow.serialization.serialized_objects import SerializedDAG as Serialisation
    written = json.loads(json.dumps(Serialisation.to_dict(waiting_in)))
    return Serialisation.from_dict(written).get_task("wait")


def test_every_parameter_survives_the_serialisation_of_the_dag(checkpoint):
    with DAG("waits", schedule=None) as dag:
        waiting = sensor(
            checkpoint,
            batch_id="{{ params.batch }}",
            watermark=datetime(2026, 1, 1, tzinfo=UTC),
            offsets={"0": {"t": {"0": 5}}},
            condition=AnyOf((BatchCommitted(5), Idle(7))),
            sources={"0": "kafka:host:9092"},
            kafka_conn_id="broker",
            deadline="{{ data_interval_end }}",
            checkpoint_conn_id="lake",
            deferrable=True,
        )
    task = through_serialisation(dag)
    fields = {name: getattr(task, name) for name in CheckpointProgressSensor.template_fields}
    for name in set(fields) - {"watermark"}:
        assert fields[name] == getattr(waiting, name)
    again = CheckpointProgressSensor(task_id="again", **{**fields, "batch_id": 5})
    waiting.batch_id = 5
    assert again.wanted() == waiting.wanted()


def test_start_from_trigger_survives_the_serialisation_of_the_dag(checkpoint):
    from airflow.serialization.serialized_objects import BaseSerialization

    with DAG("waits", schedule=None) as dag:
        waiting = sensor(checkpoint, condition=AnyOf((BatchCommitted(5), Idle(7))), start_from_trigger=True)
    task = through_serialisation(dag)
    assert task.start_from_trigger is True
    given = task.start_trigger_args
    kwargs = given.trigger_kwargs
    if "__var" in kwargs:  # as the database keeps them
        kwargs = BaseSerialization.deserialize(kwargs)
    assert kwargs == waiting.start_trigger_args.trigger_kwargs
    assert (given.trigger_cls, given.next_method) == (waiting.start_trigger_args.trigger_cls, "execute_complete")


def test_templated_fields_are_attributes(checkpoint):
    for name in CheckpointProgressSensor.template_fields:
        assert hasattr(sensor(checkpoint, batch_id=1), name)
