"""Documents as tasks return them, shortened to what others are told of them."""

from __future__ import annotations

from typing import Any

GATE: dict[str, Any] = {
    "format_version": 1,
    "headline": "BLOCK s3://lake/orders: Spark does not start",
    "decision": "block",
    "resumes_at_batch": 8,
    "spark_error": None,
    "start_offsets": {"0": '{"orders":{"0":5}}', "1": None},
    "watermark_ms": 1,
    "unknown": ["sink"],
    "findings": [
        {
            "code": "CKPT201",
            "severity": "error",
            "message": "a conf is ignored",
            "batch_id": 7,
            "name": "offsets/7",
            "hint": "h",
            "commands": [],
            "spark_error": None,
            "doc": "ckpt explain CKPT201",
        }
    ],
}
PLAN: dict[str, Any] = {
    "format_version": 1,
    "plan_id": "p1",
    "kind": "rollback",
    "batch_id": 4,
    "actions": 3,
    "sink_effect": "exact",
    "accept_sink": [],
    "notes": [],
    "warnings": [],
    "sink_effects": [{"sink": "delta:s3://lake/out", "effect": "exact", "remedy": ""}],
    "receipt": None,
}
RECEIPT: dict[str, Any] = {
    "plan_id": "p1",
    "kind": "rollback",
    "status": "applied",
    "location": "s3://lake/orders",
    "batch_id": 4,
    "actions": 3,
    "record": "s3://lake/_ckpt_undo/x",
    "started_at_ms": 1,
    "finished_at_ms": 2,
}
LAG: dict[str, Any] = {
    "format_version": 1,
    "others": 0,
    "checkpoints": [
        {
            "location": "s3://lake/orders",
            "is_within": True,
            "sources": [{"source_id": "0", "unit": "offsets", "total": 9, "lost": 0}],
        }
    ],
}
