"""Pipelines that a real Spark runs: what is said of them before and after, and what then happens."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from airflow_provider_ckpt.cli import run
from tests.pipelines.lab import Pipeline
from tests.pipelines.shop import ckpt, severities

#: A closed flow is watched for so long after its run has ended.
WATCHED_S = 60.0


@pytest.fixture
def pipeline(tmp_path) -> Pipeline:
    return Pipeline(tmp_path / "shop")


def batches(log: Path) -> list[int]:
    return sorted(int(path.name) for path in log.iterdir() if path.name.isdecimal())


def until_there(path: Path, timeout_s: float = 240.0) -> None:
    """Wait for a file."""
    until = time.monotonic() + timeout_s
    while not path.exists():
        assert time.monotonic() < until, path
        time.sleep(0.1)


def test_two_flows_into_one_table_lose_rows_and_are_an_error(pipeline, capsys):
    pipeline.flows = {"early_files": "early", "late_files": "late"}
    pipeline.add("early", range(6))
    pipeline.add("late", range(10, 16))
    code, out = pipeline.run()
    assert code == 0 and "Run is COMPLETED" in out, out[-3_000:]
    assert len(pipeline.rows(pipeline.table("bronze"))) < 12
    for flow in pipeline.flows:
        for command in ("check", "gate"):
            code, said = ckpt(capsys, command, pipeline.flow("bronze", flow))
            assert (code, severities(said)["CKPT157"]) == (1, "error")


def test_a_full_refresh_replaces_a_version_and_a_renamed_flow_loses_rows(pipeline, capsys):
    pipeline.add("in", range(4))
    assert pipeline.run()[0] == 0
    assert pipeline.run("--full-refresh", "bronze")[0] == 0
    code, fleet = ckpt(capsys, "fleet", pipeline.storage)
    bronze = pipeline.flow("bronze", "bronze")
    replaced = {row["location"]: row["replaced_by"] for row in fleet["checkpoints"]}
    assert code == 0 and len(replaced) == 4 and replaced[f"{bronze}/0"] == f"{bronze}/1"
    sink = f"file:{pipeline.table('bronze')}"
    assert run(["rollback", f"{bronze}/0", "--to-batch", "1", "--sink", sink, "--trim-sink-log"]) == 4
    assert "which version 1 has replaced at a full refresh" in capsys.readouterr().err
    pipeline.flows = {"orders": "in"}
    pipeline.add("in", range(4, 8))
    for declared in ((), ("--sink", sink)):
        code, gated = ckpt(capsys, "gate", pipeline.flow("bronze", "orders"), *declared)
        assert (code, gated["decision"], severities(gated)["CKPT207"]) == (1, "block", "error")
    code, out = pipeline.run()
    assert code == 0 and "Run is COMPLETED" in out, out[-3_000:]
    rows = pipeline.rows(pipeline.table("bronze"))
    assert sorted(set(rows)) != list(range(8)) or len(rows) != 12, "all rows of the new flow were written"


def test_a_flow_that_is_closed_commits_nothing_more_in_spite_of_its_retries(pipeline, capsys):
    pipeline.add("in", range(60))
    running = pipeline.start()
    flow = pipeline.flow("bronze", "bronze")
    until_there(flow / "0" / "commits" / "3")
    code, closed = ckpt(capsys, "fence", flow, "--execute")
    assert code == 0, closed
    newest = closed["plan"]["batch_id"]
    out, _ = running.communicate(timeout=300)
    assert running.returncode != 0 and "will not be restarted" in out, out[-3_000:]
    until = time.monotonic() + WATCHED_S
    while time.monotonic() < until:
        assert batches(flow / "0" / "commits")[-1] <= newest
        time.sleep(1)
    assert (flow / "0" / "offsets" / str(newest + 1)).read_bytes().startswith(b"v2147483647")
    assert run(["undo", str(flow), "--execute", "--i-know-it-is-stopped"]) == 0
    assert pipeline.run()[0] == 0
    assert pipeline.rows(pipeline.table("bronze")) == list(range(60))
    lines = (pipeline.root / "out").glob("*.json")
    assert sorted(json.loads(line)["id"] for path in lines for line in path.read_text().splitlines()) == list(range(60))
