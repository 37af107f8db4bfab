"""Receipts come back from their records the same."""

from __future__ import annotations

import json

from airflow_provider_ckpt.engines.run import Presence, Run
from airflow_provider_ckpt.running.receipt import (
    StartReceipt,
    StoppedQuery,
    StopReceipt,
    start_receipt_from,
    stop_receipt_from,
)

RUN = Run("app-1", Presence.ENDED, "KILLED", 3, None)


def test_receipts_come_back_from_json():
    between, within = StoppedQuery("a", "/c/a", 4, None, "f1"), StoppedQuery("b", "/c/b", 4, 5)
    stop = StopReceipt("orders", 7, (between, within), (RUN,), disarmed=True, by="ann", stopped_at_ms=5)
    assert stop_receipt_from(json.loads(json.dumps(stop.to_dict()))) == stop
    assert (stop.between_batches, stop.to_dict()["between_batches"]) == (False, False)
    start = StartReceipt("orders", 8, "orders-4", RUN, {"a": 4}, {"a": 6}, True, "ann", 9)
    assert start_receipt_from(json.loads(json.dumps(start.to_dict()))) == start
