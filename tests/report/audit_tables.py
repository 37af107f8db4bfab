"""The tables of a small fleet as the audit makes them: one query slow and silent, one rolled back, one quiet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
ORDERS, CLICKS, HOSTILE = "s3://lake/checkpoints/orders", "s3://lake/checkpoints/clicks", "s3://lake/<b>/x\u202e"


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def query(location: str, **known: Any) -> dict[str, Any]:
    row = {"location": location, "query_id": "q", "first_time": ago(60), "last_commit": ago(1), "batches": 60}
    row |= {"timelines": 1, "usual_ms": 60_000, "p95_ms": 4_200, "advanced": 12_345, "empty_share": 0.1}
    row |= {"tiny_share": 0.0, "watermark_lag_ms": None, "requests_a_day": 23_040.0, "usd_a_day": 0.0634}
    return row | {"conf": None, "saves_usd_a_day": None, "silent_ms": 60_000} | known


def tables(**more: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """By name; ``more`` replaces some."""
    found: dict[str, list[dict[str, Any]]] = {
        "queries": [
            query(CLICKS, conf='trigger(processingTime="1 minute")', saves_usd_a_day=1.5, watermark_lag_ms=600_000),
            query(ORDERS, last_commit=ago(30), silent_ms=1_800_000, timelines=2),
            query(HOSTILE, usual_ms=None, p95_ms=None, usd_a_day=None, requests_a_day=None, empty_share=None),
        ],
        "events": [
            {"location": ORDERS, "at": ago(30), "kind": "stall", "what": "Nothing was committed since batch 41."},
            {"location": ORDERS, "at": ago(45), "kind": "rolled back", "what": "The log went back from batch 44."},
            {"location": CLICKS, "at": ago(20), "kind": "conf", "what": "a.b changed from 1 to <script>."},
            {"location": CLICKS, "at": None, "kind": "gap", "what": "Batches 0 to 3 are missing."},
        ],
        "stalls": [{"location": ORDERS, "since": ago(30), "until": None}],
        "throughput": [
            {
                "location": place,
                "source_id": "0",
                "source_type": "kafka",
                "unit": "records",
                "window_start": ago(minute),
            }
            | {"per_second": None if minute == 7 else 100 + 40 * (minute % 5)}
            for place in (ORDERS, CLICKS)
            for minute in range(59, 0 if place == CLICKS else 29, -1)
        ],
        "delay": [
            {"location": place, "window_start": ago(minute), "p50_ms": 2_000 + 100 * (minute % 7), "p95_ms": 4_000}
            for place in (ORDERS, CLICKS)
            for minute in range(59, 0 if place == CLICKS else 29, -1)
        ],
        "watermark_lag": [
            {"location": CLICKS, "window_start": ago(minute), "max_ms": 600_000 - 5_000 * minute, "last_ms": 1}
            for minute in range(59, 0, -1)
        ],
    }
    return found | more
