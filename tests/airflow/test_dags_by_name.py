"""The DAGs of ``dags/`` in a real Airflow on PostgreSQL, with the names of queries in its query file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.change.record.journal import history
from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.restart.bookmark import take_bookmark
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import ROOT
from tests.airflow.dag_runs import Run, airflow_on_postgres
from tests.airflow_stack import AirflowStack

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]

FILE = """
format_version: 1
defaults: {{backups: "{place}/backups/{{query}}", undo: "{place}/undo/{{query}}"}}
queries:
  orders: {{checkpoint: "{place}/orders", sources: [rate-micro-batch], sink: kafka}}
  shop.totals: {{checkpoint: "{place}/totals", sources: [rate-micro-batch], sink: noop}}
  counts: {{checkpoint: "{place}/counts", sources: [rate-micro-batch], sink: noop}}
"""


@pytest.fixture(scope="module")
def place(goldens, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the queries are; the file is there."""
    place = tmp_path_factory.mktemp("lake")
    for name in ("orders", "totals", "counts"):
        shutil.copytree(goldens["4.3.0/rate-micro-batch"] / "checkpoint", place / name)
    (place / "ckpt.yaml").write_text(FILE.format(place=place))
    return place


@pytest.fixture(scope="module")
def stack(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowStack]:
    env = {
        "AIRFLOW__CKPT__FILE": str(place / "ckpt.yaml"),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[1]"}),
    }
    with airflow_on_postgres(tmp_path_factory.mktemp("stack") / "home", ROOT / "dags", env) as stack:
        yield stack


def newest(place: Path, name: str) -> int | None:
    return observe(Store.open(str(place / name))).latest_committed


def test_backups_of_the_roots_that_the_file_says(stack, place):
    run = Run(stack, "checkpoint_backup", queries=["orders", "shop.totals"], rehearsal_weekday=None)
    assert run.states().items() >= {("back_up", "success"), ("prune", "success"), ("nothing_was_left_out", "success")}
    roots = {
        name: [item.location for item in list_backups(Store.open(str(place / "backups" / name)))]
        for name in ("orders", "shop.totals")
    }
    assert roots == {"orders": [str(place / "orders")], "shop.totals": [str(place / "totals")]}


def test_a_rollback_with_the_sink_that_the_file_says(stack, place):
    run = Run(stack, "checkpoint_rollback", query="orders", to_batch=2)
    asked = run.answer("approve", "Approve")
    assert (
        "Roll back orders?" in asked and "Sink kafka: **duplicated**" in asked and "&query=orders&to_batch=2" in asked
    )
    states = run.states()
    assert (states["rollback"], states["restarts"], states["wait"]) == ("success", "success", "skipped")
    (change,) = history(Store.open(str(place / "orders")), Store.open(str(place / "undo" / "orders")))
    assert (newest(place, "orders"), change.accepted_sink) == (2, ("duplicated",))


def test_a_name_that_is_none_is_refused(stack):
    states = Run(stack, "checkpoint_rollback", query="order", to_batch=2).states()
    assert states["plan"] == "failed" and states["rollback"] == "upstream_failed"


def test_a_reset_of_a_source_that_cannot_move_is_refused(stack, place):
    run = Run(stack, "checkpoint_reset", query="shop.totals", source="0=kafka:127.0.0.1:9", to_earliest=True)
    assert run.states()["plan"] == "failed" and newest(place, "totals") == 4


def test_a_repartition_of_a_query_without_state_is_refused(stack):
    run = Run(stack, "checkpoint_repartition", query="shop.totals", partitions=5, application="orders.py")
    states = run.states()
    assert states["plan"] == "failed" and states["repartition"] == "upstream_failed"


def test_a_deploy_that_does_not_start_has_nothing_to_take_back(stack, place):
    run = Run(stack, "pre_deploy_gate", query="counts", application=str(place / "none.py"))
    states = run.states()
    assert (states["gate"], states["backup"], states["restart"]) == ("success", "success", "failed")
    assert (states["went_wrong"], states["approve"], states["rollback"]) == ("success", "skipped", "success")
    assert newest(place, "counts") == 4


def test_a_switch_whose_effect_is_not_accepted_is_refused(stack, place):
    more = {"backup_root": str(place / "backups" / "orders"), "fork": str(place / "fork"), "shadow_sink": "noop"}
    states = Run(stack, "blue_green_deploy", query="orders", application="orders.py", **more).states()
    assert states["gate"] in ("upstream_failed", "success") and states["restart"] == "upstream_failed"


def test_a_fleet_is_checked_watched_and_indexed(stack, place):
    queries = ["orders", "shop.totals"]
    assert Run(stack, "checkpoint_validation", queries=queries).states()["report"] == "success"
    watched = Run(stack, "checkpoint_continuity", queries=queries)
    assert watched.states() == {"checkpoints": "success", "look_back": "success"}
    run = Run(stack, "checkpoint_index", roots=[str(place)], index=str(place.parent / "index"))
    assert run.states() == {"write_index": "success"}


def test_a_fleet_goes_back_by_names(stack, place):
    bookmarks = place.parent / "bookmarks"
    bookmarks.mkdir()
    store = Store.open(str(place / "counts"))
    (bookmarks / "counts.json").write_text(json.dumps(take_bookmark(observe(store)).to_dict()))
    for log in ("offsets", "commits"):
        (place / "counts" / log / "5").write_bytes((place / "counts" / log / "4").read_bytes())
    run = Run(stack, "checkpoint_fleet_rollback", bookmarks=str(bookmarks), queries=["counts"])
    assert "counts" in run.answer("approve", "Approve")
    assert run.states()["summary"] == "success" and newest(place, "counts") == 4


def test_positions_of_no_kafka_are_refused(stack):
    assert Run(stack, "kafka_lag_publish", queries=["shop.totals"]).states() in (
        {"publish": "failed"},
        {"publish": "success"},
    )
