"""The DAGs that deploy a query by its name in the query file."""

from __future__ import annotations

import pytest

from tests.airflow.by_name.lake import changes_of, job, newest, right, sell, sold
from tests.airflow.conftest import HERE, ROOT
from tests.airflow.dag_runs import ASKING, Run
from tests.airflow.spark_jobs import CONFS
from tests.deploys.run import LiveQueries
from tests.deploys.run import newest as committed

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]
ENDED = ("success", "failed", "upstream_failed", "skipped")
NOT_GONE_WRONG = ("blocked", "went_wrong", "rollback_plan", "ask", "approve", "rollback")


def test_a_new_version_goes_on_where_the_old_one_has_stopped(stack, place, spark, table):
    run = Run(stack, "pre_deploy_gate", query="sold", **job(place, "rate:refactored"))
    assert run.states() == {
        **dict.fromkeys(("gate", "backup", "restart", "wait", "continuity", "deployed"), "success"),
        **dict.fromkeys(NOT_GONE_WRONG, "skipped"),
    }
    last = newest(place / "sold", "checkpoint")
    rows = sold(spark, place)
    assert last and rows == right(10 * (last + 1))
    table.add(run, f"batch {last}: {len(rows)} rows, none lost, none twice")


def test_a_version_that_dies_is_taken_back_with_the_rows_that_it_has_written(stack, place, spark, table):
    last, rows = newest(place / "sold", "checkpoint"), sold(spark, place)
    dying = {**job(place, ""), "application": str(HERE / "jobs" / "dying_job.py")}
    dying["application_args"].pop()
    run = Run(stack, "pre_deploy_gate", query="sold", **dying)
    stack.wait_for_task(run.dag_id, run.run_id, "approve", ASKING, *ENDED)
    assert sold(spark, place) != rows, "the wrong rows are in the sink"
    asked = run.answer("approve", "Approve")
    assert f"goes back to batch {last}, the last one before the deploy" in asked and "**exact**" in asked
    states = run.states()
    assert (states["restart"], states["rollback"], states["deployed"]) == ("failed", "success", "upstream_failed")
    assert newest(place / "sold", "checkpoint") == last and sold(spark, place) == rows == right(len(rows))
    assert changes_of(place, "sold", "sold/checkpoint")[-1].approved_by == "admin"
    sell(spark, place)
    again = sold(spark, place)
    assert again == right(len(rows) + 10)
    table.add(run, f"batch {last} and {len(rows)} rows as before, {len(again)} after the next start")


def test_a_deploy_that_does_not_start_has_nothing_to_take_back(stack, place, table):
    before = newest(place, "orders")
    run = Run(stack, "pre_deploy_gate", query="orders", application=str(place / "none.py"))
    states = run.states()
    assert (states["gate"], states["backup"], states["restart"]) == ("success", "success", "failed")
    assert (states["went_wrong"], states["approve"], states["rollback"]) == ("success", "skipped", "success")
    assert newest(place, "orders") == before
    table.add(run, f"batch {before} as before")


def test_a_deploy_that_the_gate_stops_starts_nothing(stack, place, table):
    before = newest(place, "closed")
    confs = {"spark.sql.shuffle.partitions": "8"}
    run = Run(stack, "pre_deploy_gate", query="closed", application=str(place / "none.py"), confs=confs)
    states = run.states()
    assert (states.pop("gate"), states.pop("blocked"), {*states.values()}) == ("success", "failed", {"skipped"})
    assert newest(place, "closed") == before
    table.add(run, f"batch {before} as before, no backup")


def test_a_switch_whose_effect_is_not_accepted_is_refused(stack, place, table):
    more = {"backup_root": str(place / "backups" / "orders"), "fork": str(place / "fork"), "shadow_sink": "noop"}
    run = Run(stack, "blue_green_deploy", query="orders", application="orders.py", **more)
    states = run.states()
    assert states["gate"] in ("upstream_failed", "success") and states["restart"] == "upstream_failed"
    table.add(run, "nothing was started")


def test_a_new_version_is_compared_with_the_live_one_and_takes_its_place(stack, place, table):
    folder = place / "live"
    folder.mkdir()
    live = LiveQueries(place.parent / "live.log")
    try:
        live.ask("start", str(folder), "rate")
        stack.wait_for("two batches", lambda: committed(folder / "checkpoint") >= 1)
        checkpoint, out, fork, shadow = (str(folder / name) for name in ("checkpoint", "out", "fork", "shadow"))
        run = Run(
            *(stack, "blue_green_deploy"),
            query="live",
            backup_root=str(place / "backups" / "live"),
            fork=fork,
            shadow_sink=f"file:{shadow}",
            application=str(ROOT / "tests" / "deploys" / "job.py"),
            application_args=[checkpoint, out, "rate:refactored"],
            shadow_args=[fork, shadow, "rate:refactored"],
            confs=CONFS,
            keys=["value"],
        )
        stack.wait_for_task(run.dag_id, run.run_id, "approve", ASKING, *ENDED)
        (folder / "stop").touch()
        stack.wait_for("the end of the old version", (folder / "stopped").exists)
        asked = run.answer("approve", "Approve")
        assert "Comparison of batches" in asked and "`live`" in asked and f"Sink file:{out}: **exact**" in asked
        states = run.states()
        assert (states.pop("went_wrong"), {*states.values()}) == ("skipped", {"success"})
        live.ask("finish", str(folder))
        lacking, extra, rows = live.ask("differences", str(folder), [])
        assert (lacking, extra) == (0, 0) and rows > 0
        table.add(run, f"{rows} rows of a clean run, {lacking} lost, {extra} twice")
    finally:
        live.end()
