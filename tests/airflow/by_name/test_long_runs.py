"""The DAGs that run real Spark for minutes by themselves; and that each file of ``dags/`` had a run."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import ROOT

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]


def test_the_hours_of_a_stream_are_runs(stack, begun, table):
    run = begun["stream_orders"]
    assert {*run.states().values()} == {"success"}

    def finished() -> list[str]:
        return sorted(item["partition_key"] for item in stack.runs("stream_hourly") if item["state"] == "success")

    stack.wait_for("the hours", lambda: len(finished()) >= 2)
    assert finished() == ["2026-01-01T00", "2026-01-01T01"]
    [first] = [item for item in stack.runs("stream_hourly") if item["partition_key"] == "2026-01-01T00"]
    assert stack.returned("stream_hourly", first["dag_run_id"], "sum_up")["events"] == 120
    assert {item["state"] for item in stack.runs("stream_windows")} == {"success"}
    table.add(run, "a run for each of 2 full hours, 120 events in the first", "query stream, by its watermark")


def test_the_life_of_a_checkpoint(place, begun, table):
    run = begun["checkpoint_lifecycle"]
    states = run.states()
    assert (states.pop("gate_was_open"), {*states.values()}) == ("skipped", {"success"})
    home = place / "trial"
    summary = json.loads((home / "summary.json").read_text())
    assert summary["rows that differ"] == 0 and summary["gate with 8 shuffle partitions"] == "blocked"
    (change,) = history(Store.open(str(home / "checkpoint")), Store.open(str(home / "undo")))
    assert (change.plan.kind, change.state) == ("rollback", "applied")
    rows = summary["rows after the restart"]
    table.add(run, f"{rows} rows after a rollback, as in a clean run", "query trial of the DAG's own file")


def test_an_audit_of_the_queries_that_are_named(place, begun, table):
    run = begun["checkpoint_audit"]
    assert run.states() == {"audit": "success"}
    assert "<b>2</b>queries" in (place.parent / "audit" / "audit.html").read_text()
    table.add(run, "a page of 2 queries")


def test_each_file_of_dags_had_a_run_that_succeeded(table):
    """Of all tests of this folder together: this one is the last."""
    assert table.without_success(path.name for path in (ROOT / "dags").glob("*.py")) == set()
