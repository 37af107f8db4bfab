"""DAGs of the harness: one whose task waits for a batch that never comes, one that an asset starts, which never happens.

The arguments of a watcher's trigger are encrypted by the DAG processor and decrypted by the triggerer. Those of a task that
is deferred are not encrypted by Airflow 3.3.
"""

from __future__ import annotations

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, AssetWatcher

from airflow_provider_ckpt.sensors.checkpoint import CheckpointProgressSensor
from airflow_provider_ckpt.triggers.checkpoint import CheckpointProgressTrigger

PLACE = {"checkpoint": "orders", "checkpoint_conn_id": "lake"}
hours = CheckpointProgressTrigger(**PLACE, every="PT1H")  # the query has no watermark

with DAG("waits", schedule=None):
    CheckpointProgressSensor(task_id="wait", batch_id=1_000_000_000, deferrable=True, **PLACE)

with DAG("watches", schedule=[Asset("hours", watchers=[AssetWatcher(name="hours", trigger=hours)])]):
    EmptyOperator(task_id="nothing")
