"""What tasks have found, in few words: bounded, without secrets, and the same names as in the documents."""

from __future__ import annotations

import json
from typing import Any

from airflow_provider_ckpt.lineage.facts import LONGEST, MOST, asset_extra, task_facts
from tests.lineage.shown import GATE, LAG, PLAN, RECEIPT

HERE = ["s3://lake/orders"]


def test_a_gate():
    facts = task_facts("gate", HERE, {**GATE, "batch_id": 7, "watermark_ms": None})
    assert (facts["decision"], facts["resumes_at_batch"], facts["batch_id"]) == ("block", 8, 7)
    assert facts["positions"] == {"0": '{"orders":{"0":5}}'}
    assert facts["findings"][0]["code"] == "CKPT201" and facts["unknown"] == ["sink"]
    assert "watermark" not in facts, "that of the forecast is of another batch"


def test_a_change_with_its_plan_and_receipt():
    facts = task_facts("rollback", HERE, {**PLAN, "receipt": RECEIPT})
    assert facts["plan"]["sink_effects"] == [{"sink": "delta:s3://lake/out", "effect": "exact"}]
    assert facts["receipt"] == {"status": "applied", "actions": 3, "record": "s3://lake/_ckpt_undo/x"}
    assert "receipt" not in task_facts("rollback", HERE, PLAN)


def test_a_lag():
    facts = task_facts("lag", HERE, LAG)
    assert facts["sources"] == [
        {"location": "s3://lake/orders", "source_id": "0", "unit": "offsets", "unread": 9, "lost": 0}
    ]


def test_a_task_that_has_found_nothing_says_what_it_is():
    assert task_facts("check", HERE, {}) == {"task": "check", "checkpoints": HERE}


def test_everything_has_a_bound_and_what_was_left_out_is_named():
    many: dict[str, Any] = {
        **GATE,
        "findings": GATE["findings"] * 1000,
        "start_offsets": {"0": "9" * 1_000_000, **{str(number): "{}" for number in range(1, 100)}},
        "headline": "x" * 1_000_000,
    }
    facts = task_facts("gate", HERE * 1000, many)
    assert len(json.dumps(facts)) < 30_000
    assert (len(facts["findings"]), len(facts["checkpoints"]), len(facts["headline"])) == (MOST, MOST, LONGEST)
    assert facts["omitted"] == ["checkpoints", "positions", "findings"]


def test_nothing_secret_and_nothing_hidden_is_said():
    finding = {**GATE["findings"][0], "message": "at https://host/x?sig=topsecret \u202e\x1b[31m"}
    facts = task_facts("gate", ["s3://key:topsecret@lake/orders"], {**GATE, "findings": [finding]})
    extra = asset_extra("A backup was taken of", "s3://key:topsecret@lake/or\u202eders", {})
    text = json.dumps([facts, extra], ensure_ascii=False)
    assert "topsecret" not in text and "\u202e" not in text and "\x1b" not in text


def test_the_event_of_an_asset_is_a_sentence():
    found = {"batch_id": 41, "watermark_ms": 1_767_225_600_000, "backup_id": "b1"}
    assert asset_extra("A backup was taken of", "s3://lake/orders", found) == {
        "text": "A backup was taken of s3://lake/orders at batch 41, with the watermark 2026-01-01T00:00:00.000Z.",
        "location": "s3://lake/orders",
        "link": "plugin/checkpoints?at=s3%3A%2F%2Flake%2Forders",
        "batch_id": 41,
        "watermark": "2026-01-01T00:00:00.000Z",
        "backup_id": "b1",
    }
    assert asset_extra("A wait is over for", "/orders", {"watermark_ms": 0})["text"] == "A wait is over for /orders."
