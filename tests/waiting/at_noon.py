"""Polls at noon of one day, as values: what they bring of a query, and offsets of its source."""

from __future__ import annotations

import json

from airflow_provider_ckpt import codec
from airflow_provider_ckpt.checkpoint.progress import Progress
from airflow_provider_ckpt.waiting import OffsetsReached

KAFKA = {"0": "kafka"}
NOON_MS = 1_767_268_800_000
MINUTE_MS = 60_000


def entry(*offsets: object, watermark_ms: int = 0, began_ms: int = NOON_MS):
    metadata = {"batchWatermarkMs": watermark_ms, "batchTimestampMs": began_ms, "conf": {}}
    lines = ["v1", json.dumps(metadata), *("-" if offset is None else json.dumps(offset) for offset in offsets)]
    return codec.decode("offsets/0", "\n".join(lines).encode())


def stands(batch_id: int | None = 5, *offsets: object, quiet_ms: int = 0, planned: int | None = None, **metadata):
    """A poll at noon that brings a batch, how long ago it was committed, and its offsets."""
    read = entry(*offsets, **metadata) if batch_id is not None else None
    commits = {} if batch_id is None else {batch_id: NOON_MS - quiet_ms}
    return Progress(batch_id, read, planned, "query", commits, NOON_MS)


def kafka(**partitions: int) -> dict:
    return {"events": {partition.removeprefix("p"): offset for partition, offset in partitions.items()}}


def iceberg(snapshot_id: int, position: int) -> dict:
    return {"version": 1, "snapshot_id": snapshot_id, "position": position, "scan_all_files": False}


def at(**partitions: int) -> OffsetsReached:
    return OffsetsReached({"0": json.dumps(kafka(**partitions))}, KAFKA)
