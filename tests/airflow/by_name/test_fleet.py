"""The DAGs that look after many queries by their names in the query file."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_provider_ckpt.backup.catalog import list_backups
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker
from airflow_provider_ckpt.sources.kafka.publish import ConsumerGroup, GroupOffset
from airflow_provider_ckpt.storage.store import Store
from tests.airflow.dag_runs import Run
from tests.kafka_query import QUERY_ID

pytestmark = [pytest.mark.airflow, pytest.mark.exhaustive]
QUERIES = ["orders", "shop.totals"]


def test_backups_of_the_roots_that_the_file_says_are_taken_and_rehearsed(stack, place, table):
    """On the day of the rehearsal; a midnight in between would be told as a skipped task."""
    run = Run(stack, "checkpoint_backup", queries=QUERIES, rehearsal_weekday=datetime.now(UTC).isoweekday())
    done = dict.fromkeys(("back_up", "prune", "rehearse", "nothing_was_left_out"), "success")
    assert run.states().items() >= done.items()
    roots = {
        name: [item.location for item in list_backups(Store.open(str(place / "backups" / name)))] for name in QUERIES
    }
    assert roots["shop.totals"] == [str(place / "totals")] and str(place / "orders") in roots["orders"]
    table.add(run, "a backup of each in its own root, opened by real Spark")


def test_a_fleet_is_checked_watched_and_indexed(stack, place, table):
    checked = Run(stack, "checkpoint_validation", queries=QUERIES)
    assert checked.states()["report"] == "success"
    told = stack.returned("checkpoint_validation", checked.run_id, "report")
    assert told["checkpoints"] == 2
    table.add(checked, f"{told['checkpoints']} checkpoints")
    watched = Run(stack, "checkpoint_continuity", queries=QUERIES)
    assert watched.states() == {"checkpoints": "success", "look_back": "success"}
    table.add(watched, "both go on")
    index = place.parent / "index"
    indexed = Run(stack, "checkpoint_index", roots=[str(place)], index=str(index))
    assert indexed.states() == {"write_index": "success"}
    [written] = [path for path in index.rglob("*") if path.is_file()]
    assert all(str(place / name) in written.read_text() for name in ("orders", "totals"))
    table.add(indexed, "a line of each query", "roots, names of the file")


def test_positions_of_no_kafka_are_refused(stack, table):
    run = Run(stack, "kafka_lag_publish", queries=["shop.totals"])
    assert run.states() == {"publish": "failed"}
    table.add(run, "nothing was published")


def test_positions_are_published(stack, kafka, topic, table):
    run = Run(stack, "kafka_lag_publish", queries=["published"], group=f"{topic}-{{name}}")
    assert run.states() == {"publish": "success"}
    found = ConsumerGroup(KafkaBroker(kafka.bootstrap, {}), f"{topic}-published").committed()
    told = f"ckpt batch 0 of query {QUERY_ID}"
    assert found == {(topic, 0): GroupOffset(4, told), (topic, 1): GroupOffset(7, told)}
    table.add(run, "offsets 4 and 7 of the consumer group")
