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
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.extent import offsets_of
from airflow_provider_ckpt.sources.kafka.publish import ConsumerGroup, GroupOffset
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.conftest import HERE, ROOT
from tests.airflow.dag_runs import ASKING, Run, airflow_on_postgres
from tests.airflow.jobs.counting_job import run_once
from tests.airflow.spark_jobs import CONFS
from tests.airflow_stack import AirflowStack
from tests.changes.reset.kafka_query import KafkaQuery as MovedQuery
from tests.deploys.run import LiveQueries
from tests.deploys.run import newest as committed
from tests.kafka_query import QUERY_ID, KafkaQuery

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]

FILE = """
format_version: 1
defaults: {{backups: "{place}/backups/{{query}}", undo: "{place}/undo/{{query}}", spark_version: "4.3"}}
kafka: {{main: {{bootstrap.servers: "{bootstrap}"}}}}
queries:
  orders: {{checkpoint: "{place}/orders", sources: [rate-micro-batch], sink: kafka}}
  shop.totals: {{checkpoint: "{place}/totals", sources: [rate-micro-batch], sink: noop}}
  counts: {{checkpoint: "{place}/counts", sources: [rate-micro-batch], sink: noop}}
  moved: {{checkpoint: "{place}/moved", sources: ["kafka:main/{topic}"], sink: kafka}}
  published: {{checkpoint: "{place}/published", sources: ["kafka:main/{topic}"], sink: noop}}
  sums: {{checkpoint: "{place}/sums", sources: [rate-micro-batch], sink: foreachBatch}}
  live: {{checkpoint: "{place}/live/checkpoint", sources: [rate-micro-batch], sink: "file:{place}/live/out"}}
  stream: {{checkpoint: "{place}/stream/checkpoint", sources: [file], sink: "file:{place}/stream/output"}}
"""


@pytest.fixture(scope="module")
def topic(kafka) -> str:
    """What the queries of Kafka read: 60 records in both of its partitions."""
    topic: str = kafka.create(2)
    for partition in (0, 1):
        kafka.produce(topic, 60, partition)
    return topic


@pytest.fixture(scope="module")
def place(goldens, kafka, topic, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the queries are; the file is there."""
    place = tmp_path_factory.mktemp("lake")
    for name in ("orders", "totals", "counts"):
        shutil.copytree(goldens["4.3.0/rate-micro-batch"] / "checkpoint", place / name)
    moved = type("Moved", (MovedQuery,), {"TOPICS": (topic,)})(Store.open(str(place / "moved")))
    for batch_id in range(4):
        moved.commit(batch_id)
    KafkaQuery(place / "published").commit({topic: {"0": 4, "1": 7}})
    (place / "ckpt.yaml").write_text(FILE.format(place=place, bootstrap=kafka.bootstrap, topic=topic))
    return place


@pytest.fixture(scope="module")
def stack(place: Path, kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowStack]:
    env = {
        "AIRFLOW__CKPT__FILE": str(place / "ckpt.yaml"),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[1]"}),
        "AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps(
            {"conn_type": "kafka", "extra": {"bootstrap.servers": kafka.bootstrap}}
        ),
        "CKPT_STREAM_HOME": str(place / "stream"),
        "CKPT_STREAM_QUERY": "stream",
        "CKPT_STREAM_FROM": "2026-01-01",
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
    assert Run(stack, "kafka_lag_publish", queries=["shop.totals"]).states() == {"publish": "failed"}


def test_positions_are_published(stack, kafka, topic):
    group = f"{topic}-{{name}}"
    assert Run(stack, "kafka_lag_publish", queries=["published"], group=group).states() == {"publish": "success"}
    found = ConsumerGroup(KafkaBroker(kafka.bootstrap, {}), f"{topic}-published").committed()
    told = f"ckpt batch 0 of query {QUERY_ID}"
    assert found == {(topic, 0): GroupOffset(4, told), (topic, 1): GroupOffset(7, told)}


def test_a_reset_of_the_source_that_the_file_says(stack, place, topic):
    job = {"application": str(HERE / "jobs" / "commit_next.py"), "application_args": [str(place / "moved")]}
    run = Run(stack, "checkpoint_reset", query="moved", shift_by=-5, topics=[f"{topic}:0"], confs=CONFS, **job)
    asked = run.answer("approve", "Approve")
    assert "Source 0 goes to the committed offsets -5" in asked and "Sink effect: **duplicated**" in asked
    assert {*run.states().values()} == {"success"}
    view = observe(Store.open(str(place / "moved")))
    assert [*offsets_of(view.offset_seq(3).offset("0")).values()] == [35, 40] and view.latest_committed == 4
    (change,) = history(Store.open(str(place / "moved")), Store.open(str(place / "undo" / "moved")))
    assert (change.approved_by, change.accepted_sink) == ("admin", ("duplicated",))


def test_a_repartition_goes_on_with_as_many_partitions_as_are_asked_for(stack, place, spark):
    arguments = [str(place / "sums"), str(place / "sums.json")]
    for _ in range(2):
        run_once(spark.newSession(), *arguments)
    job = {"application": str(HERE / "jobs" / "counting_job.py"), "application_args": arguments, "confs": CONFS}
    run = Run(stack, "checkpoint_repartition", query="sums", partitions=5, spark_confs=CONFS, **job)
    assert "to 5 partitions" in run.answer("approve", "Approve")
    assert {*run.states().values()} == {"success"}
    view = observe(Store.open(str(place / "sums")))
    assert (view.latest_committed, view.partitions_of(3)) == (3, 5), "a batch of the repartition, and one of the query"
    assert json.loads((place / "sums.json").read_text()) == {str(key): sum(range(key, 15, 5)) for key in range(5)}
    assert len(list_backups(Store.open(str(place / "backups" / "sums")))) == 1


def test_a_new_version_is_compared_with_the_live_one_and_takes_its_place(stack, place):
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
        ended = ("success", "failed", "upstream_failed", "skipped")
        stack.wait_for_task(run.dag_id, run.run_id, "approve", ASKING, *ended)
        (folder / "stop").touch()
        stack.wait_for("the end of the old version", (folder / "stopped").exists)
        asked = run.answer("approve", "Approve")
        assert "Comparison of batches" in asked and "`live`" in asked and f"Sink file:{out}: **exact**" in asked
        states = run.states()
        assert (states.pop("went_wrong"), {*states.values()}) == ("skipped", {"success"})
        live.ask("finish", str(folder))
        lacking, extra, rows = live.ask("differences", str(folder), [])
        assert (lacking, extra) == (0, 0) and rows > 0
    finally:
        live.end()


def test_an_audit_of_the_queries_that_are_named(stack, place):
    home = place.parent / "audit"
    assert Run(stack, "checkpoint_audit", queries=["shop.totals", "counts"], home=str(home)).states() == {
        "audit": "success"
    }
    assert "<b>2</b>queries" in (home / "audit.html").read_text()


def test_the_hours_of_a_stream_are_runs(stack, place):
    run = stack.trigger("stream_orders", hours=3)
    ended = ("success", "failed", "upstream_failed")
    assert stack.wait_for_task("stream_orders", run, "run_query", *ended)["state"] == "success"

    def finished() -> list[str]:
        return sorted(item["partition_key"] for item in stack.runs("stream_hourly") if item["state"] == "success")

    stack.wait_for("the hours", lambda: len(finished()) >= 2)
    assert finished() == ["2026-01-01T00", "2026-01-01T01"]
    [first] = [item for item in stack.runs("stream_hourly") if item["partition_key"] == "2026-01-01T00"]
    assert stack.returned("stream_hourly", first["dag_run_id"], "sum_up")["events"] == 120
    assert {item["state"] for item in stack.runs("stream_windows")} == {"success"}
