"""Small entries of the two logs for the tests of rules, and what a rule finds in a view of them."""

from __future__ import annotations

import json

from airflow_provider_ckpt.checkpoint.view import CheckpointView

COMMIT = b"v1\n{}"
EMPTY_LINE = b"v1\n\n1"
Found = list[tuple[str, str, str | None, str | None]]


def entry(watermark_ms: int = 0, at_ms: int = 1, offset: int = 1, **conf: str | None) -> bytes:
    metadata = {"batchWatermarkMs": watermark_ms, "batchTimestampMs": at_ms, "conf": conf}
    return f"v1\n{json.dumps(metadata)}\n{offset}".encode()


def commit(next_watermark_ms: int) -> bytes:
    return f'v1\n{{"nextBatchWatermarkMs":{next_watermark_ms}}}'.encode()


def found(rule, view: CheckpointView) -> Found:
    """Code, severity, file and Spark's error of each finding."""
    return [(item.code, item.severity, item.name, item.spark_error) for item in rule(view)]
