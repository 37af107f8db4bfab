"""A run of the DAG ``all_operators``: what it is told, and what there is after it."""

from __future__ import annotations

import json

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.storage.store import Store

CONF = {
    "checkpoint": "cp",
    "batch": "5",
    "watermark": "2026-01-01T00:00:30+00:00",
    "offsets": '{"0": {"logOffset": 5}}',
    "to_batch": "4",
}


def connection(base: str, **storage_options: str) -> str:
    return json.dumps({"conn_type": "checkpoint", "host": base, "extra": {"storage_options": storage_options}})


def check_outcome(base: str, **options: str) -> None:
    rolled_back, restored = Store.open(f"{base}/cp", **options), Store.open(f"{base}/restored", **options)
    assert observe(rolled_back).latest_committed == 4
    assert observe(restored).latest_committed == 7
    assert [record.state for record in history(rolled_back)] == ["applied"]
