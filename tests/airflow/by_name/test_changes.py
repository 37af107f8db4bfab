"""The DAGs that change a checkpoint, of queries by their names in the query file."""

from __future__ import annotations

import json

import pytest

from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.restart.bookmark import take_bookmark
from airflow_provider_ckpt.sources.kafka.extent import offsets_of
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.by_name.lake import changes_of, job, newest, right, sell, sold
from tests.airflow.conftest import HERE
from tests.airflow.dag_runs import Run
from tests.airflow.jobs.counting_job import run_once
from tests.airflow.spark_jobs import CONFS

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]


def test_a_rollback_with_the_sink_that_the_file_says(stack, place, table):
    run = Run(stack, "checkpoint_rollback", query="orders", to_batch=2)
    asked = run.answer("approve", "Approve")
    assert (
        "Roll back orders?" in asked and "Sink kafka: **duplicated**" in asked and "&query=orders&to_batch=2" in asked
    )
    states = run.states()
    assert (states["rollback"], states["restarts"], states["wait"]) == ("success", "success", "skipped")
    (change,) = changes_of(place, "orders")
    assert (newest(place, "orders"), change.accepted_sink) == (2, ("duplicated",))
    table.add(run, "batch 2 of 4, the effect on Kafka was accepted")


def test_a_rollback_over_rows_in_files_and_the_start_after_it(stack, place, spark, table):
    while (last := newest(place / "sold", "checkpoint")) is None or last < 3:
        sell(spark, place)
    assert sold(spark, place) == right(10 * (last + 1))
    params = {"query": "sold", "to_batch": last - 2, "trim_sink_log": True, **job(place, "rate")}
    rejected = Run(stack, "checkpoint_rollback", **params)
    rejected.answer("approve", "Reject")
    assert rejected.states()["rollback"] == "skipped" and newest(place / "sold", "checkpoint") == last
    table.add(rejected, f"rejected: batch {last} and {10 * (last + 1)} rows as before")

    run = Run(stack, "checkpoint_rollback", **params)
    assert "Sink effect: **exact**" in run.answer("approve", "Approve")
    assert {*run.states().values()} == {"success"}
    assert newest(place / "sold", "checkpoint") == last - 1, "two batches are gone, and the next one has come"
    rows = sold(spark, place)
    assert rows == right(10 * last)
    table.add(run, f"batch {last - 2} of {last}, then one more: {len(rows)} rows, none lost, none twice")


def test_a_name_that_is_none_is_refused(stack, table):
    run = Run(stack, "checkpoint_rollback", query="order", to_batch=2)
    states = run.states()
    assert states["plan"] == "failed" and states["rollback"] == "upstream_failed"
    table.add(run, "nothing was planned")


def test_a_reset_of_a_source_that_cannot_move_is_refused(stack, place, table):
    run = Run(stack, "checkpoint_reset", query="shop.totals", source="0=kafka:127.0.0.1:9", to_earliest=True)
    assert run.states()["plan"] == "failed" and newest(place, "totals") == 4
    table.add(run, "batch 4 as before")


def test_a_reset_of_the_source_that_the_file_says(stack, place, topic, table):
    restarted = {"application": str(HERE / "jobs" / "commit_next.py"), "application_args": [str(place / "moved")]}
    run = Run(stack, "checkpoint_reset", query="moved", shift_by=-5, topics=[f"{topic}:0"], confs=CONFS, **restarted)
    asked = run.answer("approve", "Approve")
    assert "Source 0 goes to the committed offsets -5" in asked and "Sink effect: **duplicated**" in asked
    assert {*run.states().values()} == {"success"}
    view = observe(Store.open(str(place / "moved")))
    assert [*offsets_of(view.offset_seq(3).offset("0")).values()] == [35, 40] and view.latest_committed == 4
    (change,) = changes_of(place, "moved")
    assert (change.approved_by, change.accepted_sink) == ("admin", ("duplicated",))
    table.add(run, "offsets 35 and 40 of 40 and 40, batch 4 after it")


def test_a_repartition_of_a_query_without_state_is_refused(stack, table):
    run = Run(stack, "checkpoint_repartition", query="shop.totals", partitions=5, application="orders.py")
    states = run.states()
    assert states["plan"] == "failed" and states["repartition"] == "upstream_failed"
    table.add(run, "nothing was planned")


def test_a_repartition_goes_on_with_as_many_partitions_as_are_asked_for(stack, place, spark, table):
    arguments = [str(place / "sums"), str(place / "sums.json")]
    for _ in range(2):
        run_once(spark.newSession(), *arguments)
    counting = {"application": str(HERE / "jobs" / "counting_job.py"), "application_args": arguments, "confs": CONFS}
    run = Run(stack, "checkpoint_repartition", query="sums", partitions=5, spark_confs=CONFS, **counting)
    assert "to 5 partitions" in run.answer("approve", "Approve")
    assert {*run.states().values()} == {"success"}
    view = observe(Store.open(str(place / "sums")))
    assert (view.latest_committed, view.partitions_of(3)) == (3, 5), "a batch of the repartition, and one of the query"
    assert json.loads((place / "sums.json").read_text()) == {str(key): sum(range(key, 15, 5)) for key in range(5)}
    assert len(list_backups(Store.open(str(place / "backups" / "sums")))) == 1
    table.add(run, "5 partitions of 2, 5 sums of 15 numbers after the restart, one backup")


def test_a_fleet_goes_back_by_names_and_that_is_taken_back(stack, place, table):
    bookmarks = place.parent / "bookmarks"
    bookmarks.mkdir()
    store = Store.open(str(place / "counts"))
    (bookmarks / "counts.json").write_text(json.dumps(take_bookmark(observe(store)).to_dict()))
    for log in ("offsets", "commits"):
        (place / "counts" / log / "5").write_bytes((place / "counts" / log / "4").read_bytes())
    watched = Run(stack, "checkpoint_continuity", queries=["counts"])
    assert watched.states()["look_back"] == "success"

    refused = Run(stack, "checkpoint_fleet_rollback", bookmarks=str(bookmarks), queries=["counts", "count"])
    states = refused.states()
    assert "success" not in (states["approve"], states["summary"])
    assert newest(place, "counts") == 5
    table.add(refused, "a name that is none: batch 5 as before")

    run = Run(stack, "checkpoint_fleet_rollback", bookmarks=str(bookmarks), queries=["counts"])
    assert "counts" in run.answer("approve", "Approve")
    assert run.states()["summary"] == "success" and newest(place, "counts") == 4
    table.add(run, "batch 4 of 5")

    told = Run(stack, "checkpoint_continuity", queries=["counts"])
    assert told.states()["look_back"] == "failed"
    table.add(told, "the rollback was told")

    undo = Run(stack, "checkpoint_fleet_undo", run_id=run.run_id)
    undo.answer("approve", "Approve")
    assert undo.states()["summary"] == "success" and newest(place, "counts") == 5
    table.add(undo, "batch 5 again")
