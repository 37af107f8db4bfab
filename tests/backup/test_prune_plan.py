"""What a prune will do and what it has done, as values."""

from __future__ import annotations

import json

from airflow_provider_ckpt.backup.prune_plan import PrunePlan, PruneReceipt, Sweep
from airflow_provider_ckpt.backup.retention import Decision, RetentionPolicy

PLAN = PrunePlan(
    location="s3://lake/backups",
    planned_at_ms=1_000,
    policy=RetentionPolicy(keep_last=1),
    grace_ms=10,
    decisions=(Decision("first", keep=False), Decision("second", keep=True, reasons=("last 1",))),
    sweeps=(Sweep("first", 3, 300),),
    referred_bytes=40,
    verified=("second",),
)


def test_what_no_rule_keeps_is_dropped():
    assert PLAN.dropped == ("first",)


def test_a_plan_is_json():
    document = json.loads(json.dumps(PLAN.to_dict()))
    assert [item["keep"] for item in document["decisions"]] == [False, True]
    assert document["sweeps"] == [{"directory": "first", "objects": 3, "bytes": 300}]
    assert (document["referred_bytes"], document["verified"], document["grace_ms"]) == (40, ["second"], 10)


def test_a_receipt_is_json():
    receipt = PruneReceipt("s3://lake/backups", "applied", ("first",), 3, 300, started_at_ms=1, finished_at_ms=2)
    document = json.loads(json.dumps(receipt.to_dict()))
    assert (document["status"], document["dropped"], document["bytes"]) == ("applied", ["first"], 300)
