"""What an XCom says of what grows with a checkpoint or its backups: a bounded part, and the number of the rest."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.retention import Decision, PrunePlan, PruneReceipt, RetentionPolicy, Sweep
from airflow_provider_ckpt.checks.findings import Finding
from airflow_provider_ckpt.operators.base import MOST_PLAN_BYTES
from airflow_provider_ckpt.operators.checkpoint import (
    CheckpointBackupOperator,
    CheckpointCheckOperator,
    CheckpointPruneOperator,
)
from airflow_provider_ckpt.operators.told import (
    MOST_REASONS,
    MOST_TOLD,
    findings_told,
    prune_receipt_told,
    prune_told,
    reasons_text,
)
from tests.operators.task import carry_out

pytestmark = pytest.mark.airflow

LIMITS = (Path(__file__).parents[2] / "docs" / "limits.md").read_text()


def plan_of(count: int) -> PrunePlan:
    """A prune that keeps the newest of so many backups, of which the last directories lose most."""
    decisions = [Decision(f"b{number:06}", keep=number == count - 1, reasons=()) for number in range(count)]
    sweeps = tuple(Sweep(item.backup_id, 2, number) for number, item in enumerate(decisions[:-1]))
    return PrunePlan("/backups", 0, RetentionPolicy(1), 0, tuple(decisions), sweeps, 0, ("b1",) * count)


def test_the_worst_findings_are_told_and_the_others_counted():
    findings = [Finding("CKPT102", "error", "no JSON", name=f"offsets/{number}") for number in range(MOST_TOLD + 5)]
    told = findings_told(findings)
    assert [item["name"] for item in told["findings"]] == [item.name for item in findings[:MOST_TOLD]]
    assert told["findings_left_out"] == 5
    assert findings_told(findings[:MOST_TOLD])["findings_left_out"] == 0


def test_a_failure_names_the_first_reasons():
    reasons = [f"reason {number}" for number in range(MOST_REASONS)]
    assert reasons_text(reasons) == "; ".join(reasons)
    assert reasons_text([*reasons, "x", "y"]).endswith("reason 4; and 2 more, which the log of the task has")


def test_a_prune_of_any_number_of_backups_is_told_in_a_few_kilobytes():
    small, large = prune_told(plan_of(5)), prune_told(plan_of(50_000))
    assert len(json.dumps(large)) < 8_000
    assert [item["backup_id"] for item in small["decisions"]] == [f"b{number:06}" for number in range(5)]
    assert large["decisions"][-1] == {"backup_id": "b049999", "keep": True, "reasons": []}
    assert (large["backups"], large["backups_dropped"], large["backups_verified"]) == (50_000, 49_999, 50_000)
    assert (large["directories_swept"], large["objects_swept"]) == (49_999, 99_998)
    assert large["bytes_swept"] == sum(range(49_999)) and large["sweeps"][0]["directory"] == "b049998"
    receipt = prune_receipt_told(PruneReceipt("/backups", "applied", plan_of(50_000).dropped, 99_998, 1, 0, 1))
    assert (len(receipt["dropped"]), receipt["dropped"][-1]) == (MOST_TOLD, "b049998")
    assert receipt["backups_dropped"] == 49_999


def test_tasks_tell_a_bounded_part(golden, tmp_path):
    checkpoint, root = golden("agg-hdfs"), str(tmp_path / "backups")
    for number in range(MOST_TOLD + 3):
        (checkpoint / f"notes-{number}.txt").write_text("of somebody else")
    taken = carry_out(CheckpointBackupOperator, checkpoint=str(checkpoint), backup_root=root)
    assert (len(taken["unknown"]), taken["unknown_left_out"]) == (MOST_TOLD, 3)
    pruned = carry_out(CheckpointPruneOperator, backup_root=root, keep_last=1)
    assert (pruned["plan"]["backups"], pruned["receipt"]["backups_dropped"]) == (1, 0)
    for entry in (checkpoint / "state").rglob("*.delta"):
        entry.write_bytes(b"")
    for number in range(100, 100 + MOST_TOLD):
        (checkpoint / "sources" / "0").mkdir(parents=True, exist_ok=True)
        (checkpoint / "sources" / "0" / f"{number}").write_bytes(b"")
    checked = carry_out(CheckpointCheckOperator, checkpoint=str(checkpoint), deep=True, fail_on="never")
    assert len(checked["findings"]) == MOST_TOLD and checked["findings_left_out"] > 0


def test_the_page_of_limits_has_these_bounds():
    said = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", LIMITS, re.MULTILINE))
    assert said["a plan in an XCom (`plan_only`)"].startswith(f"{MOST_PLAN_BYTES >> 20} MiB,")
    assert said["other lists in an XCom: findings, backups, unknown files"].startswith(f"{MOST_TOLD},")
